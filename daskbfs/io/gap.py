"""GAP's serialized graphs (.sg): offsets and neighbours, as the GAP benchmark writes them.

One byte: directed or not; int64 arcs; int64 vertices; int64 offsets[vertices + 1]; int32
neighbours[arcs]; for a directed graph offsets and neighbours of the inverse follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from daskbfs.edges import BLOCK_EDGES, Block, EdgeStream
from daskbfs.graph import Graph, Rows
from daskbfs.io.symmetry import Symmetry
from daskbfs.kernels.export import export_rows
from daskbfs.progress import Progress

_HEADER_BYTES = 17
_EXPORT_VERTICES = 2**20


def open_edges(path: Path) -> tuple[EdgeStream, bool | None]:
    """The file's edges, and whether they are directed."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or header[0] > 1:
        raise ValueError(f"{path.name} is no GAP graph: the first {_HEADER_BYTES} bytes are wrong")
    directed = bool(header[0])
    n_arcs, n_vertices = (int(n) for n in np.frombuffer(header, np.int64, 2, 1))
    if n_arcs < 0 or not 0 <= n_vertices < 2**31:
        raise ValueError(f"{path.name} is no GAP graph: {n_vertices} vertices, {n_arcs} arcs")
    expected = _HEADER_BYTES + (8 * (n_vertices + 1) + 4 * n_arcs) * (2 if directed else 1)
    if size != expected:
        raise ValueError(
            f"{path.name} has {size} bytes, but {n_vertices} vertices and {n_arcs} arcs take "
            f"{expected}: it is damaged or cut short"
        )
    return GapEdges(path, directed, n_vertices, n_arcs), directed


class GapEdges:
    """A stream of the edges of a serialized graph; undirected ones once."""

    first_id = 0

    def __init__(self, path: Path, directed: bool, n_vertices: int, n_arcs: int) -> None:
        self.path = path
        self.n_vertices = n_vertices
        self.n_edges = n_arcs if directed else n_arcs // 2
        self._directed = directed
        self._n_arcs = n_arcs

    def blocks(self) -> Iterator[Block]:
        n, m = self.n_vertices, self._n_arcs
        raw = np.memmap(self.path, np.uint8, mode="r")
        cut = _HEADER_BYTES + 8 * (n + 1)
        offsets = np.frombuffer(raw[_HEADER_BYTES:cut].tobytes(), np.int64)
        if offsets[0] != 0 or offsets[-1] != m or np.any(np.diff(offsets) < 0):
            raise ValueError(f"{self.path.name}: offsets must rise from 0 to {m}")
        symmetry = Symmetry(self.path.name, n, self.first_id)
        for first in range(0, m, BLOCK_EDGES):
            last = min(m, first + BLOCK_EDGES)
            tails = np.frombuffer(raw[cut + 4 * first : cut + 4 * last].tobytes(), np.int32)
            begin = int(np.searchsorted(offsets, first, "right")) - 1
            end = int(np.searchsorted(offsets, last, "left"))
            lengths = np.diff(np.clip(offsets[begin : end + 1], first, last)).astype(np.int64)
            heads = np.repeat(np.arange(begin, end, dtype=np.int32), lengths)
            yield (heads, tails) if self._directed else symmetry.once(heads, tails)
        symmetry.check()


def exported_arcs(graph: Graph, rows: Rows, progress: Progress) -> Iterator[Block]:
    """All arcs by vertex index, in ascending order of head and tail, in blocks."""
    for first, degree, neighbours in _exported(graph, rows, np.uint32, progress):
        yield np.repeat(np.arange(first, first + degree.size), degree), neighbours


def exported_edges(graph: Graph, progress: Progress) -> Iterator[Block]:
    """All edges in the user's ids, in blocks; undirected ones once, the smaller id first."""
    ids = graph.ids.values
    for heads, tails in exported_arcs(graph, graph.out, progress):
        if not graph.directed:
            once = heads < tails
            heads, tails = heads[once], tails[once]
        yield (heads, tails) if ids is None else (ids[heads], ids[tails])


def _exported(
    graph: Graph, rows: Rows, dtype: type[np.integer], progress: Progress
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Blocks of vertices: the first of them, their degrees, their neighbours as ``dtype``."""
    for first in range(0, graph.n_vertices, _EXPORT_VERTICES):
        last = min(graph.n_vertices, first + _EXPORT_VERTICES)
        degree = _degrees(graph, rows, first, last)
        offsets = np.zeros(last - first + 1, np.int64)
        np.cumsum(degree, out=offsets[1:])
        neighbours = np.empty(int(offsets[-1]), dtype)
        export_rows(
            first,
            last,
            graph.order,
            graph.n_rows,
            rows.indptr,
            rows.indices,
            graph.original_index,
            offsets,
            neighbours,
        )
        yield first, degree, neighbours
        progress("writing", last, graph.n_vertices)


def _degrees(graph: Graph, rows: Rows, first: int, last: int) -> np.ndarray:
    """Degrees of some vertices."""
    order = graph.order[first:last].astype(np.int64)
    row = np.minimum(order, max(0, graph.n_rows - 1))
    if graph.n_rows == 0:
        return np.zeros(last - first, np.int64)
    degree = rows.indptr[row + 1].astype(np.int64) - rows.indptr[row].astype(np.int64)
    return np.where(order < graph.n_rows, degree, 0)


def write(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write a graph; ids that count from 1 on become ids from 0 on, as in GAP's own converter."""
    if not graph.ids.sequential:
        raise ValueError(
            f"{graph.name} has sparse vertex ids, up to {graph.ids.largest}: the GAP format "
            "numbers vertices from 0 on; write an edge list (.el) instead"
        )
    if graph.n_vertices >= 2**31:
        raise ValueError(
            f"{graph.n_vertices} vertices are too many for the GAP format's int32: "
            "write an edge list (.el) instead"
        )
    file.write(bytes([graph.directed]))
    file.write(np.array([graph.n_arcs, graph.n_vertices], np.int64).tobytes())
    for rows in (graph.out, graph.into) if graph.directed else (graph.out,):
        offsets = np.zeros(graph.n_vertices + 1, np.int64)
        np.cumsum(_degrees(graph, rows, 0, graph.n_vertices), out=offsets[1:])
        file.write(offsets.tobytes())
        for _, _, neighbours in _exported(graph, rows, np.int32, progress):
            file.write(neighbours.tobytes())
