"""Graphs on their way to files: rows by the user's vertices in ascending order, in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from daskbfs.graph.csr import Rows
from daskbfs.graph.edge_stream import Block
from daskbfs.graph.graph import Graph
from daskbfs.kernels.export import export_rows
from daskbfs.kernels.threads import n_threads
from daskbfs.progress import Progress

_EXPORT_VERTICES = 2**20


def exported_rows(
    graph: Graph, rows: Rows, dtype: type[np.integer], progress: Progress
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Blocks of vertices: the first of them, their degrees, their neighbours as ``dtype``."""
    for first in range(0, graph.n_vertices, _EXPORT_VERTICES):
        last = min(graph.n_vertices, first + _EXPORT_VERTICES)
        degree = degrees(graph, rows, first, last)
        neighbours = np.empty(int(degree.sum()), dtype)
        export_rows(
            first,
            last,
            graph.order,
            graph.n_rows,
            rows.indptr,
            rows.indices,
            graph.original_index,
            offsets_of(degree),
            neighbours,
            n_threads(),
        )
        yield first, degree, neighbours
        progress("writing", last, graph.n_vertices)


def exported_arcs(graph: Graph, rows: Rows, progress: Progress) -> Iterator[Block]:
    """All arcs by vertex index, in ascending order of head and tail, in blocks."""
    for first, degree, neighbours in exported_rows(graph, rows, np.uint32, progress):
        yield np.repeat(np.arange(first, first + degree.size), degree), neighbours


def exported_pairs(graph: Graph, progress: Progress) -> Iterator[Block]:
    """All edges by vertex index, in blocks; undirected ones once, the smaller index first."""
    for heads, tails in exported_arcs(graph, graph.out, progress):
        if graph.directed:
            yield heads, tails
        else:
            once = heads < tails
            yield heads[once], tails[once]


def exported_edges(graph: Graph, progress: Progress) -> Iterator[Block]:
    """All edges in the user's ids, in blocks; undirected ones once, the smaller id first."""
    ids = graph.ids.values
    for heads, tails in exported_pairs(graph, progress):
        yield (heads, tails) if ids is None else (ids[heads], ids[tails])


def csr_columns(graph: Graph, progress: Progress) -> Block:
    """All rows by vertex index: where each begins, and all neighbours; int32 where that fits."""
    index: type[np.integer] = np.int32 if max(graph.n_vertices, graph.n_arcs) < 2**31 else np.int64
    offsets = offsets_of(degrees(graph, graph.out, 0, graph.n_vertices))
    rows = exported_rows(graph, graph.out, index, progress)
    indices = np.concatenate([np.empty(0, index), *(neighbours for _, _, neighbours in rows)])
    return offsets.astype(index), indices


def offsets_of(degree: np.ndarray) -> np.ndarray:
    """Where the neighbours of each vertex begin, and the end of all."""
    offsets = np.zeros(degree.size + 1, np.int64)
    np.cumsum(degree, out=offsets[1:])
    return offsets


def degrees(graph: Graph, rows: Rows, first: int, last: int) -> np.ndarray:
    """Degrees of some vertices."""
    order = graph.order[first:last].astype(np.int64)
    row = np.minimum(order, max(0, graph.n_rows - 1))
    if graph.n_rows == 0:
        return np.zeros(last - first, np.int64)
    degree = rows.indptr[row + 1].astype(np.int64) - rows.indptr[row].astype(np.int64)
    return np.where(order < graph.n_rows, degree, 0)


def require_numbered(graph: Graph, format: str, limit: int = 2**63) -> None:
    """Refuse a graph for a format that numbers vertices one by one, and only so many."""
    if not graph.ids.sequential:
        raise ValueError(
            f"{graph.name} has sparse vertex ids, up to {graph.ids.largest}: the {format} format "
            "numbers vertices one by one; write an edge list (.el) instead"
        )
    if graph.n_vertices >= limit:
        raise ValueError(
            f"{graph.n_vertices} vertices are too many for the {format} format's int32: "
            "write an edge list (.el) instead"
        )
