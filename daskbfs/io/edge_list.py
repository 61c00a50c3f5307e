"""Whitespace edge lists: SNAP, GAP's .el and .wel, and their like.

Two vertex ids on a line, then anything (a weight, a time); ``#`` and ``%`` begin comments; lines
may end in LF, CRLF or CR; ids are the user's own, from 0 on.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np

from daskbfs.edges import Block, EdgeStream
from daskbfs.io.text import TextEdges
from daskbfs.kernels.text import format_edges

_LONGEST_LINE = 42  # two ids of 19 digits, and more than what joins them


def open_edges(path: Path) -> tuple[EdgeStream, bool | None]:
    """The file's edges; an edge list does not say whether it is directed."""
    return TextEdges(path, comments=b"#%"), None


def write(blocks: Iterable[Block], file: IO[bytes]) -> None:
    """Write edges, one to a line."""
    for heads, tails in blocks:
        text = np.empty(_LONGEST_LINE * heads.size, np.uint8)
        size = format_edges(heads.astype(np.int64), tails.astype(np.int64), text)
        file.write(text[:size].tobytes())
