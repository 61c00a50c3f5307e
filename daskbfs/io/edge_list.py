"""Whitespace edge lists: SNAP, GAP's .el and .wel, and their like.

Two vertex ids on a line, then anything (a weight, a time); ``#`` and ``%`` begin comments; lines
may end in LF, CRLF or CR; ids are the user's own, from 0 on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from daskbfs.graph.edge_stream import Block, EdgeStream
from daskbfs.io.location import Location
from daskbfs.io.text import TextEdges, edge_lines


def open_edges(location: Location) -> tuple[EdgeStream, bool | None]:
    """The file's edges; an edge list does not say whether it is directed."""
    return TextEdges(location, comments=b"#%"), None


def write(blocks: Iterable[Block], file: IO[bytes]) -> None:
    """Write edges, one to a line."""
    file.writelines(edge_lines(blocks))
