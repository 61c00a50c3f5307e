"""GAP's serialized graphs (.sg, .wsg): offsets and neighbours, as the GAP benchmark writes them.

One byte: directed or not; int64 arcs; int64 vertices; int64 offsets[vertices + 1]; int32
neighbours[arcs], in .wsg each with an int32 weight behind it, which is left out; for a directed
graph offsets and neighbours of the inverse follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np

from daskbfs.graph.edge_stream import BLOCK_EDGES, Block, EdgeStream, PlainStream
from daskbfs.graph.graph import Graph
from daskbfs.io.export import degrees, exported_rows, offsets_of, require_numbered
from daskbfs.io.location import Location, read_array, require_rising
from daskbfs.io.symmetry import Symmetry
from daskbfs.progress import Progress

_HEADER_BYTES = 17
_ARC = np.dtype("<i4")
_WEIGHTED_ARC = np.dtype([("tail", "<i4"), ("weight", "<i4")])


def open_edges(location: Location) -> tuple[EdgeStream, bool | None]:
    """The edges of a .sg file, and whether they are directed."""
    return _open(location, _ARC)


def open_weighted(location: Location) -> tuple[EdgeStream, bool | None]:
    """The edges of a .wsg file without their weights, and whether they are directed."""
    return _open(location, _WEIGHTED_ARC)


def _open(location: Location, arc: np.dtype) -> tuple[EdgeStream, bool | None]:
    name, size = location.name, location.size
    with location.open() as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or header[0] > 1:
        raise ValueError(f"{name} is no GAP graph: the first {_HEADER_BYTES} bytes are wrong")
    directed = bool(header[0])
    n_arcs, n_vertices = (int(n) for n in np.frombuffer(header, "<i8", 2, 1))
    if n_arcs < 0 or not 0 <= n_vertices < 2**31:
        raise ValueError(f"{name} is no GAP graph: {n_vertices} vertices, {n_arcs} arcs")
    one_way = 8 * (n_vertices + 1) + arc.itemsize * n_arcs
    expected = _HEADER_BYTES + one_way * (2 if directed else 1)
    if size != expected:
        raise ValueError(
            f"{name} has {size} bytes, but {n_vertices} vertices and {n_arcs} arcs take "
            f"{expected}: it is damaged or cut short, or "
            + ("has weights (.wsg)" if arc is _ARC else "has no weights (.sg)")
        )
    return GapEdges(location, arc, directed, n_vertices, n_arcs), directed


class GapEdges(PlainStream):
    """A stream of the edges of a serialized graph; undirected ones once."""

    def __init__(
        self, location: Location, arc: np.dtype, directed: bool, n_vertices: int, n_arcs: int
    ) -> None:
        self.location = location
        self.n_vertices = n_vertices
        self.n_edges = n_arcs if directed else n_arcs // 2
        self._arc = arc
        self._directed = directed
        self._n_arcs = n_arcs

    def blocks(self) -> Iterator[Block]:
        n, m, name = self.n_vertices, self._n_arcs, self.location.name
        symmetry = Symmetry(name, n, self.first_id)
        with self.location.open() as file:
            offsets = read_array(file, name, "<i8", n + 1, _HEADER_BYTES)
            require_rising(offsets, m, f"{name}: offsets")
            begin_of_arcs = _HEADER_BYTES + offsets.nbytes
            for first in range(0, m, BLOCK_EDGES):
                last = min(m, first + BLOCK_EDGES)
                place = begin_of_arcs + self._arc.itemsize * first
                arcs = read_array(file, name, self._arc, last - first, place)
                tails = np.ascontiguousarray(arcs["tail"]) if arcs.dtype.names else arcs
                begin = int(np.searchsorted(offsets, first, "right")) - 1
                end = int(np.searchsorted(offsets, last, "left"))
                lengths = np.diff(np.clip(offsets[begin : end + 1], first, last)).astype(np.int64)
                heads = np.repeat(np.arange(begin, end, dtype=np.int32), lengths)
                yield (heads, tails) if self._directed else symmetry.take(heads, tails)
        symmetry.check()


def write(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write a graph; ids that count from 1 on become ids from 0 on, as in GAP's own converter."""
    require_numbered(graph, "GAP", 2**31)
    file.write(bytes([graph.directed]))
    file.write(np.array([graph.n_arcs, graph.n_vertices], "<i8").tobytes())
    for rows in (graph.out, graph.into) if graph.directed else (graph.out,):
        file.write(offsets_of(degrees(graph, rows, 0, graph.n_vertices)).tobytes())
        for _, _, neighbours in exported_rows(graph, rows, np.int32, progress):
            file.write(neighbours.tobytes())
