"""METIS files (.graph): a header ``n m [fmt [ncon]]``, then one line of neighbours per vertex.

Vertices count from 1 on. Weights of vertices and edges, if ``fmt`` announces them, are left out.
Each edge stands in both its vertices' lines, and is taken once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from daskbfs.graph.edge_stream import Block, EdgeStream, PlainStream
from daskbfs.graph.graph import Graph
from daskbfs.io.export import exported_rows, require_numbered
from daskbfs.io.location import Location
from daskbfs.io.symmetry import Symmetry
from daskbfs.io.text import are_counts, open_lines, whole_lines
from daskbfs.kernels import parse as kernels
from daskbfs.progress import Progress

_COMMENTS = np.frombuffer(b"%", np.uint8).copy()
_SHORTEST_NUMBER = 2  # a digit and what ends it
_LONGEST_NUMBER = 11  # an id of 32 bits and what ends it
_WHAT = "a list of neighbours, from 1 on"


def open_edges(location: Location) -> tuple[EdgeStream, bool | None]:
    """The file's edges: METIS graphs are undirected."""
    with open_lines(location) as lines:
        words = lines.next_words(b"%")
    if not words:
        raise ValueError(f"{location.name} is empty: a METIS file begins with 'VERTICES EDGES'")
    if not 2 <= len(words) <= 4 or not are_counts(words):
        raise lines.error("a METIS file begins with 'VERTICES EDGES [FORMAT [N]]'")
    layout = words[2].decode().zfill(3) if len(words) > 2 else "000"
    if set(layout) - set("01") or len(layout) > 3:
        raise ValueError(
            f"{location.name}, line {lines.number}: format {layout!r} is not made of 0s and 1s"
        )
    n_weights = (int(words[3]) if len(words) > 3 else 1) if layout[1] == "1" else 0
    header = _Header(
        n_vertices=int(words[0]),
        n_edges=int(words[1]),
        n_before=n_weights + (layout[0] == "1"),
        stride=2 if layout[2] == "1" else 1,
        skip_bytes=lines.n_bytes,
    )
    return MetisEdges(location, header), False


@dataclass(frozen=True, slots=True)
class _Header:
    n_vertices: int
    n_edges: int
    n_before: int
    """Numbers that stand in a line before its neighbours."""
    stride: int
    """Numbers per neighbour."""
    skip_bytes: int


class MetisEdges(PlainStream):
    """A stream of the edges of a METIS file."""

    first_id = 1
    slow = True

    def __init__(self, location: Location, header: _Header) -> None:
        self.location = location
        self.n_vertices = header.n_vertices
        self.n_edges = header.n_edges
        self._header = header

    def blocks(self) -> Iterator[Block]:
        header = self._header
        symmetry = Symmetry(self.location.name, header.n_vertices, self.first_id)
        row = 0
        for lines in whole_lines(self.location, header.skip_bytes, _WHAT, longest=None):
            room = lines.size // _SHORTEST_NUMBER + 1
            numbers, rows = np.empty(room, np.int64), np.empty(room, np.int64)
            n, row, error, place = kernels.parse_integers(
                lines.array, lines.size, _COMMENTS, numbers, rows, row
            )
            if error != kernels.FINE:
                raise lines.error_at(place, error, _WHAT, 1)
            yield symmetry.take(*self._neighbours(numbers[:n], rows[:n]))
        self._check(row, symmetry)

    def _neighbours(self, numbers: np.ndarray, rows: np.ndarray) -> Block:
        """Heads and tails, from 0 on, of the numbers of some lines."""
        header = self._header
        if rows.size and rows[-1] >= header.n_vertices:
            raise ValueError(
                f"{self.location.name} has more than {header.n_vertices} lines, one for each vertex"
            )
        column = np.arange(rows.size) - np.searchsorted(rows, rows)
        wanted = (column >= header.n_before) & ((column - header.n_before) % header.stride == 0)
        return rows[wanted], numbers[wanted] - 1

    def _check(self, n_lines: int, symmetry: Symmetry) -> None:
        """Refuse a file that lacks lines, or does not hold the edges that it promised."""
        header = self._header
        if n_lines < header.n_vertices - 1:  # the last line may be empty, without an end
            raise ValueError(
                f"{self.location.name} has {n_lines} lines for {header.n_vertices} vertices: "
                "it is damaged or cut short"
            )
        symmetry.check()
        if not symmetry.n_down <= header.n_edges <= symmetry.n_kept:  # self-loops count or not
            raise ValueError(
                f"{self.location.name} lists {symmetry.n_down} edges, but its header says "
                f"{header.n_edges}: it is damaged"
            )


def write(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write an undirected graph; ids become 1 to n."""
    require_numbered(graph, "METIS")
    if graph.directed:
        raise ValueError(
            f"{graph.name} is directed: METIS graphs are not; read it without directed, or write "
            "another format, such as .mtx"
        )
    file.write(f"{graph.n_vertices} {graph.n_edges}\n".encode())
    for _, degree, neighbours in exported_rows(graph, graph.out, np.int64, progress):
        text = np.empty(_LONGEST_NUMBER * neighbours.size + degree.size, np.uint8)
        file.write(text[: kernels.format_rows(degree, neighbours, 1, text)].tobytes())
