"""Kernel 1: from a stream of edges to a graph.

The first pass over the edges counts degrees; vertices are then numbered by decreasing degree; the
second pass fills the rows, which are sorted and rid of duplicates in place. Degrees for the
numbering count duplicates (they are not known yet), self-loops never. At the most, the rows and a
few blocks of edges stand in memory.
"""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass

import numpy as np

from daskbfs import machine
from daskbfs.edges import Block, EdgeStream
from daskbfs.graph import Graph, Rows, word_padded
from daskbfs.kernels import build
from daskbfs.kernels.compiling import n_threads
from daskbfs.progress import Progress, silent
from daskbfs.types import MAX_VERTICES, NONE
from daskbfs.vertices import DenseIds, Ids, SparseIds, collect_ids

_BYTES_PER_VERTEX = 32  # counts, order, and the columns over rows
_BYTES_PER_ARC = 4
_BLOCK_BYTES = 2**28  # blocks in flight


def construct(
    stream: EdgeStream,
    *,
    directed: bool = False,
    name: str = "edges",
    progress: Progress = silent,
) -> Graph:
    """Build a graph from a stream of edges.

    Parameters
    ----------
    stream
        The edges; read twice (three times when the vertex ids are sparse).
    directed
        Keep the edges' directions; the graph then holds its inverse too, for bottom-up steps.
    name
        What to call the graph in records.
    progress
        Told how far the work has come.
    """
    start = time.perf_counter()
    graph = _fill(stream, _count(stream, directed, progress), directed, name, progress)
    graph.construction_seconds = time.perf_counter() - start
    return graph


@dataclass(slots=True)
class _Counts:
    """What the first pass learned."""

    ids: Ids
    out_degree: np.ndarray
    in_degree: np.ndarray
    loops: np.ndarray
    n_edges: int = 0

    @classmethod
    def of(cls, ids: Ids, directed: bool) -> _Counts:
        n = ids.n_vertices
        out_degree = np.zeros(n, np.uint32)
        in_degree = np.zeros(n, np.uint32) if directed else out_degree
        return cls(ids, out_degree, in_degree, np.zeros(n, np.uint32))

    @property
    def directed(self) -> bool:
        return self.in_degree is not self.out_degree

    @property
    def degree(self) -> np.ndarray:
        return self.out_degree + self.in_degree if self.directed else self.out_degree

    def grow(self, n_vertices: int) -> None:
        """Make room for more vertices."""
        directed = self.directed
        self.ids = DenseIds(n_vertices)
        self.out_degree = np.concatenate(
            [self.out_degree, np.zeros(n_vertices - self.out_degree.size, np.uint32)]
        )
        self.in_degree = (
            np.concatenate([self.in_degree, np.zeros(n_vertices - self.in_degree.size, np.uint32)])
            if directed
            else self.out_degree
        )
        self.loops = np.concatenate([self.loops, np.zeros(n_vertices - self.loops.size, np.uint32)])

    def add(self, block: Block) -> None:
        """Count a block of edges."""
        heads, tails = (self.ids.indices(ends) for ends in block)
        build.count_degrees(heads, tails, self.out_degree, self.in_degree, self.loops, n_threads())
        self.n_edges += heads.size


def _count(stream: EdgeStream, directed: bool, progress: Progress) -> _Counts:
    """The first pass; finds out whether ids are dense where the stream does not say."""
    known = stream.n_vertices
    if known is not None:
        _require_room(known, stream.n_edges)
        counts = _Counts.of(DenseIds(known, stream.first_id), directed)
    else:
        counts = _Counts.of(DenseIds(0), directed)
    limit = DenseIds.limit(stream.n_edges)
    for heads, tails in stream.blocks():
        top = _largest(heads, tails, counts.n_edges)
        if known is not None:
            if top >= known:
                first = stream.first_id
                raise ValueError(
                    f"vertex {first + top} is out of range: vertices were declared to be "
                    f"{first} to {first + known - 1}"
                )
        elif top >= limit:
            return _count_collected(stream, directed, progress)
        elif top >= counts.ids.n_vertices:
            counts.grow(top + 1)
        counts.add((heads, tails))
        progress("counting degrees", counts.n_edges, stream.n_edges)
    if known is None:
        if counts.ids.n_vertices > DenseIds.limit(counts.n_edges):
            return _count_collected(stream, directed, progress)
        _require_room(counts.ids.n_vertices, counts.n_edges)
    return counts


def _count_collected(stream: EdgeStream, directed: bool, progress: Progress) -> _Counts:
    """Collect the ids that occur, decide by what was found whether they are sparse, and count."""
    values, n_edges = collect_ids(stream, progress)
    largest = int(values[-1]) if values.size else -1
    dense = largest < DenseIds.limit(n_edges)
    ids: Ids = DenseIds(largest + 1) if dense else SparseIds(values)
    _require_room(ids.n_vertices, n_edges)
    counts = _Counts.of(ids, directed)
    for heads, tails in stream.blocks():
        counts.add((heads, tails))
        progress("counting degrees", counts.n_edges, stream.n_edges)
    return counts


def _largest(heads: np.ndarray, tails: np.ndarray, n_before: int) -> int:
    """The largest id of a block; negative ones are refused."""
    if heads.size == 0:
        return -1
    for ends in (heads, tails):
        if ends.dtype.kind == "i" and ends.min() < 0:
            place = int(np.flatnonzero(ends < 0)[0])
            raise ValueError(
                f"edge {n_before + place} has the vertex id {ends[place]}: vertex ids are 0 or more"
            )
    return int(max(heads.max(), tails.max()))


def _require_room(n_vertices: int, n_edges: int) -> None:
    """Refuse what can't fit, before anything large is allocated."""
    if n_vertices > MAX_VERTICES:
        raise ValueError(
            f"a graph of {n_vertices} vertices is too large: "
            f"at most {MAX_VERTICES} (2**32 less a few) vertices can be numbered"
        )
    machine.require_memory(
        construction_bytes(n_vertices, n_edges),
        f"a graph of {n_vertices} vertices and {n_edges} edges",
        "take a smaller graph, or a machine with more memory",
    )


def construction_bytes(n_vertices: int, n_edges: int) -> int:
    """About how much memory the construction of a graph takes at its peak."""
    return _BYTES_PER_VERTEX * n_vertices + 2 * _BYTES_PER_ARC * n_edges + _BLOCK_BYTES


def _fill(
    stream: EdgeStream, counts: _Counts, directed: bool, name: str, progress: Progress
) -> Graph:
    """The second pass, and what follows it."""
    n_vertices = counts.ids.n_vertices
    degree = counts.degree
    n_rows = int(np.count_nonzero(degree))
    order = np.empty(n_vertices, np.uint32)
    original_index = np.full(word_padded(n_rows), NONE, np.uint32)
    build.number_by_degree(degree, original_index, order, np.uint32(n_rows))
    ends = original_index[:n_rows]
    input_degree = counts.out_degree[ends]
    input_degree += counts.loops[ends] * np.uint32(1 if directed else 2)
    out_rows = _UnsortedRows(counts.out_degree, ends)
    in_rows = _UnsortedRows(counts.in_degree, ends) if directed else out_rows
    n_edges, ids = counts.n_edges, counts.ids
    del degree, counts

    done = 0
    scratch = _Scratch()
    for heads, tails in stream.blocks():
        done += heads.size
        if done > n_edges or _largest(heads, tails, done) > ids.largest - ids.first_id:
            raise _changed(name)
        heads, tails = ids.indices(heads), ids.indices(tails)
        rows, neighbours = scratch.relabelled(heads, tails, order)
        out_rows.add(rows, neighbours, scratch)
        in_rows.add(neighbours, rows, scratch)
        progress("filling rows", done, n_edges)
    if not (done == n_edges and out_rows.full and in_rows.full):
        raise _changed(name)
    del scratch
    progress("sorting rows", 0, 2 if directed else 1)
    out = out_rows.finish()
    progress("sorting rows", 1, 2 if directed else 1)
    into = in_rows.finish() if directed else out
    progress("sorting rows", 2 if directed else 1, 2 if directed else 1)
    return Graph(
        name=name,
        directed=directed,
        ids=ids,
        out=out,
        into=into,
        order=order,
        original_index=original_index,
        input_degree=input_degree,
        n_input_edges=n_edges,
    )


def _changed(name: str) -> ValueError:
    """The error for a stream that differs from one pass to the next."""
    return ValueError(
        f"{name} gave other edges when it was read the second time: it must not change meanwhile"
    )


class _Scratch:
    """Buffers for one block, as large as the largest block so far."""

    def __init__(self) -> None:
        self._grow(0)

    def _grow(self, size: int) -> None:
        self.rows = np.empty(size, np.uint32)
        self.neighbours = np.empty(size, np.uint32)
        self.arcs = np.empty(size, np.uint64)
        self.begin = np.empty((n_threads(), build.N_BUCKETS), np.int64)

    def relabelled(self, heads: np.ndarray, tails: np.ndarray, order: np.ndarray) -> Block:
        """The block's vertices as rows."""
        if heads.size > self.rows.size:
            self._grow(heads.size)
        rows, neighbours = self.rows[: heads.size], self.neighbours[: heads.size]
        build.relabel(heads, tails, order, rows, neighbours, n_threads())
        return rows, neighbours


class _UnsortedRows:
    """Rows that are being filled."""

    def __init__(self, degree: np.ndarray, original_index: np.ndarray) -> None:
        self.lengths = degree[original_index]
        self.n_rows = self.lengths.size
        self.longest = int(self.lengths.max(initial=0))
        self.cursor = np.zeros(self.n_rows + 1, np.int64)
        np.cumsum(self.lengths, out=self.cursor[1:])
        self.indices = np.empty(int(self.cursor[-1]), np.uint32)

    def add(self, rows: np.ndarray, neighbours: np.ndarray, scratch: _Scratch) -> None:
        """Append each neighbour to its row."""
        build.scatter(
            rows, neighbours, scratch.arcs, scratch.begin, self.cursor, self.indices, n_threads()
        )

    @property
    def full(self) -> bool:
        """Whether each cursor stands where the next row begins: no row lacks a neighbour."""
        return bool(np.array_equal(np.cumsum(self.lengths, dtype=np.int64), self.cursor[:-1]))

    def finish(self) -> Rows:
        """Sort, drop duplicates, close the gaps."""
        n_rows, indices = self.n_rows, self.indices
        row_end = self.cursor[:-1]  # each cursor has moved to where the next row begins
        length = np.empty(n_rows, np.uint32)
        bucket_end = np.empty(build.N_BUCKETS, np.int64)
        key_bits = max(1, (n_rows - 1).bit_length()) if n_rows else 1
        build.sort_rows(row_end, indices, length, bucket_end, self.longest, key_bits, n_threads())
        indptr = np.zeros(n_rows + 1, np.int64)
        np.cumsum(length, out=indptr[1:])
        n_arcs = int(indptr[-1])
        first_row = np.empty(build.N_BUCKETS + 1, np.int64)
        build.bucket_rows(n_rows, first_row)
        address = indices.ctypes.data
        for b in range(build.N_BUCKETS):
            row = int(first_row[b])
            if row == first_row[b + 1]:
                continue
            begin = int(row_end[row - 1]) if row else 0
            size = int(bucket_end[b]) - begin
            ctypes.memmove(address + 4 * int(indptr[row]), address + 4 * begin, 4 * size)
        self.indices = self.cursor = row_end = np.empty(0, np.uint32)
        indices.resize(n_arcs, refcheck=False)  # gives the memory behind the last row back
        if n_arcs < 2**32:
            indptr = indptr.astype(np.uint32)
        return Rows.of(indptr, indices)
