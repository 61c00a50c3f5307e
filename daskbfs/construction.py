"""Kernel 1: from a stream of edges to a graph.

The first pass over the edges counts degrees; vertices are then numbered by decreasing degree; the
second pass fills the rows, which are sorted and rid of duplicates in place. Degrees for the
numbering count duplicates (they are not known yet), self-loops never. At the most, the rows and a
few blocks of edges stand in memory. Other orders, of vertices and within rows: ``locality``.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from daskbfs import machine
from daskbfs.edges import Block, EdgeStream, Origin, making_seconds
from daskbfs.graph import Graph, Outline, RemoteGraph, Rows, word_padded
from daskbfs.kernels import build
from daskbfs.kernels.compiling import n_threads
from daskbfs.locality import Locality, Places
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
    outline = sketch(Origin(stream, directed, name), progress)
    ((out, into),) = fill_rows(outline, [Selection.whole(outline)], progress)
    common = {f.name: getattr(outline, f.name) for f in fields(Outline)}
    graph = Graph(**common, out=out, into=into)
    graph.construction_seconds = time.perf_counter() - start
    return graph


def sketch(origin: Origin, progress: Progress = silent) -> RemoteGraph:
    """All of a graph but its rows: the first pass over its edges."""
    stream, directed = origin.stream, origin.directed
    locality = Locality.configured()
    if stream.n_vertices is not None:
        _require_room(stream.n_vertices, stream.n_edges)
    counts = tally(stream, directed, progress)
    if counts is None or counts.too_sparse:
        ids = found_ids(*collect_ids(stream, progress))
        counts = tally(stream, directed, progress, ids)
    assert counts is not None
    _require_room(counts.ids.n_vertices, counts.n_edges)
    return outline_of(counts, origin, locality)


def build_graph(origin: Origin, progress: Progress = silent) -> Graph:
    """Build a graph from where it comes; the time to make random edges is none of its own."""
    stream = origin.stream
    before = making_seconds(stream)
    graph = construct(stream, directed=origin.directed, name=origin.name, progress=progress)
    if before is not None:
        graph.generation_seconds = (making_seconds(stream) or 0.0) - before
        graph.construction_seconds -= graph.generation_seconds
    return graph


@dataclass(slots=True)
class Counts:
    """What the first pass learned."""

    ids: Ids
    out_degree: np.ndarray
    in_degree: np.ndarray
    loops: np.ndarray
    known: bool
    """Whether the ids were told, and not found."""
    n_edges: int = 0
    making_seconds: float | None = None
    """Of the pass, those in which edges were made."""

    @classmethod
    def of(cls, ids: Ids, directed: bool, *, known: bool) -> Counts:
        n = ids.n_vertices
        out_degree = np.zeros(n, np.uint32)
        in_degree = np.zeros(n, np.uint32) if directed else out_degree
        return cls(ids, out_degree, in_degree, np.zeros(n, np.uint32), known)

    @property
    def directed(self) -> bool:
        return self.in_degree is not self.out_degree

    @property
    def too_sparse(self) -> bool:
        """Whether ids that were found are too few for their range."""
        return not self.known and self.ids.n_vertices > DenseIds.limit(self.n_edges)

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


def tally(
    stream: EdgeStream, directed: bool, progress: Progress, ids: Ids | None = None
) -> Counts | None:
    """The first pass. Without ``ids``, they are found; None as soon as they cannot be dense."""
    declared = stream.n_vertices
    if ids is None and declared is not None:
        ids = DenseIds(declared, stream.first_id)
    counts = Counts.of(ids or DenseIds(0), directed, known=ids is not None)
    limit = DenseIds.limit(stream.n_edges)
    before = making_seconds(stream)
    for heads, tails in stream.blocks():
        top = _largest(heads, tails, counts.n_edges)
        if declared is not None:
            if top >= declared:
                first = stream.first_id
                raise ValueError(
                    f"vertex {first + top} is out of range: vertices were declared to be "
                    f"{first} to {first + declared - 1}"
                )
        elif counts.known:
            if top > counts.ids.top:
                raise _changed("the stream")
        elif top >= limit:
            return None
        elif top >= counts.ids.n_vertices:
            counts.grow(top + 1)
        counts.add((heads, tails))
        progress("counting degrees", counts.n_edges, stream.n_edges)
    if before is not None:
        counts.making_seconds = (making_seconds(stream) or 0.0) - before
    return counts


def merged(tallies: Sequence[Counts]) -> Counts:
    """What several workers counted in portions of one stream."""
    widest = max(tallies, key=lambda counts: counts.ids.n_vertices)
    total = Counts.of(widest.ids, widest.directed, known=widest.known)
    for counts in tallies:
        n = counts.ids.n_vertices
        total.out_degree[:n] += counts.out_degree
        total.loops[:n] += counts.loops
        if total.directed:
            total.in_degree[:n] += counts.in_degree
        total.n_edges += counts.n_edges
    return total


def found_ids(values: np.ndarray, n_edges: int) -> Ids:
    """Ids that were collected: sparse ones, or dense after all."""
    largest = int(values[-1]) if values.size else -1
    return DenseIds(largest + 1) if largest < DenseIds.limit(n_edges) else SparseIds(values)


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
    check_vertices(n_vertices)
    machine.require_memory(
        construction_bytes(n_vertices, n_edges),
        f"a graph of {n_vertices} vertices and {n_edges} edges",
        "take a smaller graph, or a machine with more memory",
    )


def check_vertices(n_vertices: int) -> None:
    """Refuse more vertices than can be numbered."""
    if n_vertices > MAX_VERTICES:
        raise ValueError(
            f"a graph of {n_vertices} vertices is too large: "
            f"at most {MAX_VERTICES} (2**32 less a few) vertices can be numbered"
        )


def construction_bytes(n_vertices: int, n_edges: int) -> int:
    """About how much memory the construction of a graph takes at its peak."""
    return _BYTES_PER_VERTEX * n_vertices + 2 * _BYTES_PER_ARC * n_edges + _BLOCK_BYTES


def outline_of(counts: Counts, origin: Origin, locality: Locality) -> RemoteGraph:
    """Vertices numbered: all of a graph but its rows."""
    degree = counts.degree
    n_rows = int(np.count_nonzero(degree))
    order = np.empty(counts.ids.n_vertices, np.uint32)
    original_index = np.full(word_padded(n_rows), NONE, np.uint32)
    locality.number(degree, original_index, order)
    ends = original_index[:n_rows]
    out_lengths = counts.out_degree[ends]
    lengths = (out_lengths, counts.in_degree[ends] if origin.directed else out_lengths)
    return RemoteGraph(
        name=origin.name,
        directed=origin.directed,
        ids=counts.ids,
        order=order,
        original_index=original_index,
        input_degree=out_lengths + counts.loops[ends] * np.uint32(1 if origin.directed else 2),
        n_input_edges=counts.n_edges,
        locality=locality,
        stream=origin.stream,
        input_lengths=lengths,
        lengths=lengths,
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """Some rows of a graph, and what their neighbours are to be called."""

    rows: np.ndarray | None
    """Ascending; None: all."""
    global_id: np.ndarray | None
    """By row; None: rows are called by their number."""
    nobody: int
    """The hub of rows without neighbours."""

    @classmethod
    def whole(cls, outline: Outline) -> Selection:
        """All rows, by their numbers."""
        return cls(None, None, outline.n_rows)


def fill_rows(
    outline: RemoteGraph, selections: Sequence[Selection], progress: Progress
) -> list[tuple[Rows, Rows]]:
    """The second pass: rows out of, and into, each selection; all other arcs are passed over."""
    filling = [_Filling(outline, selection) for selection in selections]
    scratch = _Scratch()
    done = 0
    for rows, neighbours in relabelled_blocks(outline, scratch):
        for rows_of_one in filling:
            rows_of_one.add(rows, neighbours, scratch)
        done += rows.size
        progress("filling rows", done, outline.n_input_edges)
    if not all(rows_of_one.full for rows_of_one in filling):
        raise _changed(outline.name)
    del scratch
    places = outline.locality.places(outline.order, outline.input_lengths)
    finished = []
    progress("sorting rows", 0, len(filling))
    while filling:
        finished.append(filling.pop(0).finish(places))
        progress("sorting rows", len(finished), len(finished) + len(filling))
    return finished


def relabelled_blocks(outline: RemoteGraph, scratch: _Scratch) -> Iterator[Block]:
    """The edges as rows, self-loops as NONE; a block is valid until the next one is asked for."""
    for heads, tails in indexed_blocks(outline, outline.stream):
        yield scratch.relabelled(heads, tails, outline.order)


def indexed_blocks(outline: Outline, stream: EdgeStream) -> Iterator[Block]:
    """The edges that a graph was made of, by indices of vertices, once more."""
    ids, n_edges = outline.ids, outline.n_input_edges
    done = 0
    for heads, tails in stream.blocks():
        if _largest(heads, tails, done) > ids.top or done + heads.size > n_edges:
            raise _changed(outline.name)
        done += heads.size
        yield ids.indices(heads), ids.indices(tails)
    if done != n_edges:
        raise _changed(outline.name)


class _Filling:
    """The rows of one selection, out of it and into it, while they are filled."""

    def __init__(self, outline: RemoteGraph, selection: Selection) -> None:
        self.selection = selection
        self.n_keys = outline.n_rows
        mine = slice(None) if selection.rows is None else selection.rows
        out, into = outline.input_lengths
        self.out = _UnsortedRows(out[mine])
        self.into = _UnsortedRows(into[mine]) if outline.directed else self.out
        self.place: np.ndarray | None = None
        """Of each row of the graph, its place here; NONE elsewhere."""
        if selection.rows is not None:
            # a stream that changed may name vertices that had no row: they have no place
            self.place = np.full(outline.n_rows + 1, NONE, np.uint32)
            self.place[selection.rows] = np.arange(selection.rows.size, dtype=np.uint32)

    def add(self, rows: np.ndarray, neighbours: np.ndarray, scratch: _Scratch) -> None:
        """Take what a block has for these rows."""
        self.out.add(*scratch.selected(rows, neighbours, self.place), scratch)
        self.into.add(*scratch.selected(neighbours, rows, self.place), scratch)

    @property
    def full(self) -> bool:
        """Whether no row lacks a neighbour."""
        return self.out.full and self.into.full

    def finish(self, places: Places | None) -> tuple[Rows, Rows]:
        """Sort, drop duplicates, close the gaps."""
        how = self.n_keys, self.selection, places
        out = self.out.finish(*how)
        return out, out if self.into is self.out else self.into.finish(*how)


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
        self.some_places = np.empty(size, np.uint32)
        self.some_neighbours = np.empty(size, np.uint32)
        self.arcs = np.empty(size, np.uint64)
        self.begin = np.empty((n_threads(), build.N_BUCKETS), np.int64)

    def relabelled(self, heads: np.ndarray, tails: np.ndarray, order: np.ndarray) -> Block:
        """The block's vertices as rows."""
        if heads.size > self.rows.size:
            self._grow(heads.size)
        rows, neighbours = self.rows[: heads.size], self.neighbours[: heads.size]
        build.relabel(heads, tails, order, rows, neighbours, n_threads())
        return rows, neighbours

    def selected(self, rows: np.ndarray, neighbours: np.ndarray, place: np.ndarray | None) -> Block:
        """The arcs of a selection, by the places of their rows; valid until the next call."""
        if place is None:
            return rows, neighbours
        end = np.empty(n_threads(), np.int64)
        kept = (self.some_places, self.some_neighbours)
        build.select(rows, neighbours, place, *kept, end, end.size)
        n = int(end[0])
        for t in range(1, end.size):  # close the gaps between threads
            begin = rows.size * t // end.size
            for column in kept:
                column[n : n + int(end[t]) - begin] = column[begin : int(end[t])]
            n += int(end[t]) - begin
        return kept[0][:n], kept[1][:n]


class _UnsortedRows:
    """Rows that are being filled."""

    def __init__(self, lengths: np.ndarray) -> None:
        self.lengths = lengths
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

    def finish(self, n_keys: int, selection: Selection, places: Places | None) -> Rows:
        """Sort, drop duplicates, close the gaps, and call neighbours what they shall be called."""
        n_rows, indices = self.n_rows, self.indices
        if places is not None:
            build.rename(indices, places.place, n_threads())
        row_end = self.cursor[:-1]  # each cursor has moved to where the next row begins
        length = np.empty(n_rows, np.uint32)
        bucket_end = np.empty(build.N_BUCKETS, np.int64)
        key_bits = max(1, (n_keys - 1).bit_length()) if n_keys else 1
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
        names = selection.global_id if places is None else places.named(selection.global_id)
        if names is not None:
            build.rename(indices, names, n_threads())
        return Rows.of(indptr, indices, selection.nobody)
