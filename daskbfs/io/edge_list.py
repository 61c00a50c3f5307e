"""Whitespace edge lists: SNAP, GAP's .el and .wel, and their like.

Two vertex ids on a line, then anything (a weight, a time); ``#`` and ``%`` begin comments; lines
may end in LF, CRLF or CR; ids are the user's own, from 0 on.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from daskbfs.edges import EdgeStream
from daskbfs.graph import Graph
from daskbfs.io.gap import exported_arcs
from daskbfs.io.text import TextEdges
from daskbfs.kernels.text import format_edges
from daskbfs.progress import Progress

_LONGEST_LINE = 42  # two ids of 19 digits, and more than what joins them


def open_edges(path: Path) -> tuple[EdgeStream, bool | None]:
    """The file's edges; an edge list does not say whether it is directed."""
    return TextEdges(path, comments=b"#%"), None


def write(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write each edge once, the smaller id first where the graph is undirected."""
    ids = graph.ids.values
    for heads, tails in exported_arcs(graph, graph.out, progress):
        if not graph.directed:
            once = heads < tails
            heads, tails = heads[once], tails[once]
        if ids is not None:
            heads, tails = ids[heads], ids[tails]
        text = np.empty(_LONGEST_LINE * heads.size, np.uint8)
        size = format_edges(heads.astype(np.int64), tails.astype(np.int64), text)
        file.write(text[:size].tobytes())
