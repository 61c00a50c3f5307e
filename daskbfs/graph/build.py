"""Kernel 1: from a stream of edges to a graph.

The first pass over the edges counts degrees; vertices are then numbered, by decreasing degree
where degrees are skewed; the second pass fills the rows, which are sorted and rid of duplicates in
place. Degrees for the numbering count duplicates (they are not known yet), self-loops never. At the
most, the rows and a few blocks of edges stand in memory. Other orders: ``graph/ordering.py``.

Self-loops and duplicates are dropped, and isolated vertices have no row. A self-loop counts twice
in the input degree of its vertex: the input edges of a component, by which Graph500 counts TEPS,
are half the sum of these. Since the numbering does not see which edges are duplicates, rows are
only nearly sorted by their final length.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from daskbfs import config
from daskbfs.graph.csr import Rows, pad_to_words
from daskbfs.graph.degrees import (
    Counts,
    change_error,
    choose_ids,
    largest_id,
    name_errors,
    require_construction_memory,
    tally,
)
from daskbfs.graph.edge_stream import Block, EdgeStream, Origin, Remembered
from daskbfs.graph.graph import Graph, Outline, RemoteGraph
from daskbfs.graph.ordering import Locality, Places
from daskbfs.graph.prebuilt import StoredStream, stored_graph
from daskbfs.graph.vertex_ids import collect_ids
from daskbfs.kernels import construction as build
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.machine import hardware
from daskbfs.progress import Progress, silent


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
        The edges; read twice (three times when the vertex ids are sparse), or once where that is
        slow and there is memory to remember them.
    directed
        Keep the edges' directions; the graph then holds its inverse too, for bottom-up steps.
    name
        What to call the graph in records.
    progress
        Told how far the work has come.
    """
    start = time.perf_counter()
    if stream.slow:
        share = config.get("construction.remember-share")
        stream = Remembered(stream, int(share * hardware.available_bytes()))
    outline = build_outline(Origin(stream, directed, name), progress)
    ((out, into),) = fill_rows(outline, [Selection.whole(outline)], progress)
    common = {f.name: getattr(outline, f.name) for f in fields(Outline)}
    graph = Graph(**common, out=out, into=into)
    graph.construction_seconds = time.perf_counter() - start
    return graph


def build_outline(origin: Origin, progress: Progress = silent) -> RemoteGraph:
    """All of a graph but its rows: the first pass over its edges."""
    stream, directed = origin.stream, origin.directed
    locality = Locality.from_config()
    with name_errors(origin.name):
        if stream.n_vertices is not None:
            require_construction_memory(stream.n_vertices, stream.n_edges)
        counts = tally(stream, directed, progress)
        if counts is None or counts.too_sparse:
            ids = choose_ids(*collect_ids(stream, progress))
            counts = tally(stream, directed, progress, ids)
        assert counts is not None
        require_construction_memory(counts.ids.n_vertices, counts.n_edges)
    return outline_of(counts, origin, locality)


def build_graph(origin: Origin, progress: Progress = silent) -> Graph:
    """Build a graph from where it comes; the time to make random edges is none of its own."""
    stored = stored_graph(origin)
    if stored is not None:
        return stored
    stream = origin.stream
    before = stream.seconds
    graph = construct(stream, directed=origin.directed, name=origin.name, progress=progress)
    if before is not None:
        graph.generation_seconds = (stream.seconds or 0.0) - before
        graph.construction_seconds -= graph.generation_seconds
    return graph


def outline_of(counts: Counts, origin: Origin, locality: Locality) -> RemoteGraph:
    """Vertices numbered: all of a graph but its rows."""
    degree = counts.degree
    locality = locality.for_degrees(degree)
    n_rows = int(np.count_nonzero(degree))
    order = np.empty(counts.ids.n_vertices, np.uint32)
    original_index = np.full(pad_to_words(n_rows), NONE, np.uint32)
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
        filled=False,
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """Some rows of a graph, and what their neighbours are to be called."""

    rows: np.ndarray | None
    """Ascending; None: all."""
    global_id: np.ndarray | None
    """By row; None: rows are called by their number."""
    no_hub: int
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
        raise change_error(outline.name)
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
        yield scratch.relabel(heads, tails, outline.order)


def indexed_blocks(outline: Outline, stream: EdgeStream) -> Iterator[Block]:
    """The edges that a graph was made of, by indices of vertices, once more."""
    ids, n_edges = outline.ids, outline.n_input_edges
    if isinstance(stream, StoredStream):
        n_edges = stream.n_edges  # duplicates are gone
    done = 0
    for heads, tails in stream.blocks():
        if largest_id(heads, tails, done) > ids.top or done + heads.size > n_edges:
            raise change_error(outline.name)
        done += heads.size
        yield ids.indices(heads), ids.indices(tails)
    if done != n_edges:
        raise change_error(outline.name)


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
        self.out.add(*scratch.select(rows, neighbours, self.place), scratch)
        self.into.add(*scratch.select(neighbours, rows, self.place), scratch)

    @property
    def full(self) -> bool:
        """Whether no row lacks a neighbour."""
        return self.out.full and self.into.full

    def finish(self, places: Places | None) -> tuple[Rows, Rows]:
        """Sort, drop duplicates, close the gaps."""
        how = self.n_keys, self.selection, places
        out = self.out.finish(*how)
        return out, out if self.into is self.out else self.into.finish(*how)


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

    def relabel(self, heads: np.ndarray, tails: np.ndarray, order: np.ndarray) -> Block:
        """The block's vertices as rows."""
        if heads.size > self.rows.size:
            self._grow(heads.size)
        rows, neighbours = self.rows[: heads.size], self.neighbours[: heads.size]
        build.relabel(heads, tails, order, rows, neighbours, n_threads())
        return rows, neighbours

    def select(self, rows: np.ndarray, neighbours: np.ndarray, place: np.ndarray | None) -> Block:
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
        names = selection.global_id if places is None else places.names(selection.global_id)
        if names is not None:
            build.rename(indices, names, n_threads())
        return Rows.of(indptr, indices, selection.no_hub)
