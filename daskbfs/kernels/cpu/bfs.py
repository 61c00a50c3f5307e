"""Breadth-first steps over the rows of one partition, on the CPU.

A row is visited when its bit in ``visited`` is set; ``parent`` is valid only then, and need not be
cleared (:mod:`daskbfs.kernels.cpu.sliding_queue` has searches that clear it instead). Parents are
stored as ``vertex[row]``, the user's numbering, when they are found: hubs are most of them, and
their entries are in the cache. An empty ``vertex`` says that rows are numbered as the user's
vertices are. ``hub`` holds the first neighbour of each row, which in graphs numbered by degree is
its neighbour of highest degree, and ``hub_vertex`` that neighbour's vertex: most rows of a
bottom-up step end there. Arrays over rows are padded to whole words; padding counts as visited.
Method: Beamer, Asanovic, Patterson (SC 2012), with a hub column in front of the rows.

Threads claim pieces of the work from a shared counter until none is left. A bottom-up piece is
whole words, so no other thread writes there; a top-down step wins each vertex by an atomic
test-and-set, so every vertex is found, counted and queued once. The GPU's kernels have the same
names and arguments: :mod:`daskbfs.kernels.gpu.bfs`.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import (
    EMPTY,
    ONE,
    atomic_add,
    atomic_or,
    popcount,
    shared_counter,
    trailing_zeros,
)
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.cpu.even_rows import bottom_up_even_words
from daskbfs.kernels.cpu.lookups import bit_of, enter_word, name_of
from daskbfs.kernels.cpu.outbox import OUTBOX_ROWS, append
from daskbfs.kernels.thread_pool import in_parallel, part_of
from daskbfs.kernels.vertex_numbers import NONE

PIECE_WORDS = 128  # of a bottom-up step
PIECE_ROWS = 64  # of a top-down step's queue
_CLEARED_WORDS = 2**14  # of a bitmap, by one thread
_MARKED_ROWS = 2**11  # of a queue, in a bitmap, by one thread
_FULL = ~EMPTY
_2, _3, _4, _64 = (np.uint64(n) for n in (2, 3, 4, 64))
_DENSE = 24  # unvisited rows of a word from which testing all 64 hubs is cheaper than a choice


@inlined
def _hubs_in(frontier, hub, first_row):
    """Which of 64 rows have their hub in the frontier: a word, without a branch."""
    word = EMPTY
    for b in range(_64):
        word |= bit_of(frontier, hub[first_row + b]) << b
    return word


@inlined
def _first_of_three(frontier, indices, begin, end):
    """The first of a row's second to fourth neighbours in the frontier, without a branch."""
    last = end - ONE
    u1 = indices[min(begin + ONE, last)]
    u2 = indices[min(begin + _2, last)]
    u3 = indices[min(begin + _3, last)]
    hit1, hit2, hit3 = bit_of(frontier, u1), bit_of(frontier, u2), bit_of(frontier, u3)
    u = u1 if hit1 != EMPTY else (u2 if hit2 != EMPTY else u3)
    return u, hit1 | hit2 | hit3


@inlined
def _bottom_up_words(
    first, last, indptr, indices, hub, hub_vertex, vertex, mean_degree, n_long_rows, parent,
    visited, wide, next_frontier,
):  # fmt: skip
    """The bottom-up step for a piece of whole words."""
    awake_count = 0
    scout_count = 0.0
    examined = 0
    frontier = wide.view(np.uint32)
    for w in range(first, last):
        unvisited = ~visited[w]
        if unvisited == EMPTY:
            next_frontier[w] = EMPTY
            continue
        first_row = w * _64
        n_unvisited = popcount(unvisited)
        if n_unvisited >= _DENSE:
            found = _hubs_in(frontier, hub, first_row) & unvisited
        else:
            found = EMPTY
            rest = unvisited
            while rest != EMPTY:
                bit = trailing_zeros(rest)
                rest &= rest - ONE
                found |= bit_of(frontier, hub[first_row + bit]) << bit
        if unvisited == _FULL:
            for b in range(_64):
                parent[first_row + b] = hub_vertex[first_row + b]
        else:
            rest = found
            while rest != EMPTY:
                row = first_row + trailing_zeros(rest)
                rest &= rest - ONE
                parent[row] = hub_vertex[row]
        examined += n_unvisited
        if first_row < n_long_rows:
            rest = unvisited & ~found
            while rest != EMPTY:
                bit = trailing_zeros(rest)
                rest &= rest - ONE
                row = first_row + bit
                begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + ONE])
                if end - begin < _2:
                    continue
                u, hit = _first_of_three(frontier, indices, begin, end)
                examined += np.int64(min(_3, end - begin - ONE))
                if hit == EMPTY and end - begin > _4:
                    for e in range(begin + _4, end):
                        u = indices[e]
                        examined += 1
                        if bit_of(frontier, u) != EMPTY:
                            hit = ONE
                            break
                if hit != EMPTY:
                    parent[row] = name_of(vertex, u)
                found |= hit << bit
        n_found = enter_word(w, found, visited, next_frontier)
        awake_count += n_found
        scout_count += n_found * mean_degree[w]
    return awake_count, scout_count, examined


@inlined
def _bottom_up_pieces(
    part, n_parts, indptr, indices, hub, hub_vertex, vertex, mean_degree, n_long_rows, parent,
    visited, frontier, next_frontier, claimed, counts, scout_counts,
):  # fmt: skip
    """One thread's share of a bottom-up step: pieces of words until none is left."""
    n_words = visited.size
    awake_count = 0
    scout_count = 0.0
    examined = 0
    piece = atomic_add(claimed, 0, 1)
    while piece * PIECE_WORDS < n_words:
        first = np.uint64(piece * PIECE_WORDS)
        last = np.uint64(min(n_words, (piece + 1) * PIECE_WORDS))
        if hub.size == 0:
            awake, scouted, looked_at = bottom_up_even_words(
                first, last, indptr, indices, vertex, mean_degree, parent, visited, frontier,
                next_frontier,
            )  # fmt: skip
        else:
            awake, scouted, looked_at = _bottom_up_words(
                first, last, indptr, indices, hub, hub_vertex, vertex, mean_degree,
                np.uint64(n_long_rows), parent, visited, frontier, next_frontier,
            )  # fmt: skip
        awake_count += awake
        scout_count += scouted
        examined += looked_at
        piece = atomic_add(claimed, 0, 1)
    counts[part, 0] = awake_count
    counts[part, 1] = examined
    scout_counts[part] = scout_count


@kernel
def bottom_up(
    indptr, indices, hub, hub_vertex, vertex, mean_degree, n_long_rows, parent, visited, frontier,
    next_frontier, n_threads,
):  # fmt: skip
    """Let every unvisited row look for a parent in the frontier.

    Rows from ``n_long_rows`` on have no neighbour but their hub. An empty ``hub`` leaves it to the
    rows: where degrees are even, no neighbour is likelier than another. Returns the rows found
    (awake_count), about how many arcs leave them (scout_count), and the arcs examined.
    """
    n_parts = _n_parts(visited.size, PIECE_WORDS, n_threads)
    claimed = shared_counter()
    counts = np.zeros((n_parts, 2), np.int64)
    scout_counts = np.zeros(n_parts)
    arguments = (
        indptr, indices, hub, hub_vertex, vertex, mean_degree, n_long_rows, parent, visited,
        frontier, next_frontier, claimed, counts, scout_counts,
    )  # fmt: skip
    in_parallel(_bottom_up_pieces, n_parts, arguments)
    return counts[:, 0].sum(), scout_counts.sum(), counts[:, 1].sum()


bottom_up_cached = bottom_up
"""A CPU has caches of its own."""


@inlined
def _flush(own_first, parent, elsewhere, next_queue, tail, outbox, found_by, size):
    """Write the parents of what a thread found, and append it to the queue.

    Not one by one as they are found: an atomic waits for all writes before it, and most of these
    miss the cache.
    """
    for i in range(size):
        u = outbox[i]
        own = u - own_first  # wraps around for ids below: far too large
        if own < parent.size:
            parent[own] = found_by[i]
        else:
            elsewhere[u] = found_by[i]
    append(next_queue, tail, outbox, size)


@inlined
def _top_down_rows(
    first, last, indptr, indices, vertex, mean_degree, own_first, parent, elsewhere, visited,
    queue, next_queue, tail, outbox, found_by, kept,
):  # fmt: skip
    """The top-down step for a piece of the queue; returns kept, scout_count, arcs examined."""
    scout_count = 0.0
    examined = EMPTY
    for i in range(first, last):
        row = queue[i]
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint32(1)])
        examined += end - begin
        parent_vertex = name_of(vertex, row)
        for e in range(begin, end):
            u = indices[e]
            w = u >> np.uint32(6)
            bit = ONE << np.uint64(u & np.uint32(63))
            if visited[w] & bit == EMPTY and atomic_or(visited, w, bit) & bit == EMPTY:
                scout_count += mean_degree[w]
                outbox[kept] = u
                found_by[kept] = parent_vertex
                kept += ONE
                if kept == OUTBOX_ROWS:
                    _flush(own_first, parent, elsewhere, next_queue, tail, outbox, found_by, kept)
                    kept = EMPTY
    return kept, scout_count, np.int64(examined)


@inlined
def _top_down_pieces(
    part, n_parts, indptr, indices, vertex, mean_degree, own_first, parent, elsewhere, visited,
    queue, size, next_queue, claimed, tail, scout_counts, examined_counts,
):  # fmt: skip
    """One thread's share of a top-down step: pieces of the queue until none is left."""
    scout_count = 0.0
    examined = 0
    outbox, found_by = np.empty(OUTBOX_ROWS, np.uint32), np.empty(OUTBOX_ROWS, np.uint32)
    kept = EMPTY
    own_first = np.uint32(own_first)
    piece = atomic_add(claimed, 0, 1)
    while piece * PIECE_ROWS < size:
        kept, scouted, looked_at = _top_down_rows(
            np.uint64(piece * PIECE_ROWS),
            np.uint64(min(size, (piece + 1) * PIECE_ROWS)),
            indptr, indices, vertex, mean_degree, own_first, parent, elsewhere, visited, queue,
            next_queue, tail, outbox, found_by, kept,
        )  # fmt: skip
        scout_count += scouted
        examined += looked_at
        piece = atomic_add(claimed, 0, 1)
    _flush(own_first, parent, elsewhere, next_queue, tail, outbox, found_by, kept)
    scout_counts[part] = scout_count
    examined_counts[part] = examined


@kernel
def top_down(
    indptr, indices, vertex, mean_degree, own_first, parent, elsewhere, visited, queue, size,
    next_queue, n_threads,
):  # fmt: skip
    """Let every row of the queue look for unvisited neighbours.

    Those from vertex ``own_first`` on, as many as ``parent`` has, are rows of this partition; the
    parents of others are kept ``elsewhere``, by global id. Returns the vertices found
    (awake_count), about how many arcs leave them (scout_count), and the arcs examined.
    """
    n_parts = _n_parts(size, PIECE_ROWS, n_threads)
    claimed = shared_counter()
    tail = shared_counter()
    scout_counts = np.zeros(n_parts)
    examined_counts = np.zeros(n_parts, np.int64)
    arguments = (
        indptr, indices, vertex, mean_degree, own_first, parent, elsewhere, visited, queue, size,
        next_queue, claimed, tail, scout_counts, examined_counts,
    )  # fmt: skip
    in_parallel(_top_down_pieces, n_parts, arguments)
    return tail[0], scout_counts.sum(), examined_counts.sum()


@inlined
def _n_parts(size, piece, n_threads):
    """How many threads some work is worth: never more than it has pieces."""
    return max(1, min(n_threads, (size + piece - 1) // piece))


@inlined
def _clear(part, n_parts, bitmap):
    first, last = part_of(bitmap.size, part, n_parts)
    bitmap[first:last] = 0


@inlined
def _mark(part, n_parts, queue, size, bitmap):
    first, last = part_of(size, part, n_parts)
    for i in range(np.uint64(first), np.uint64(last)):
        u = queue[i]
        atomic_or(bitmap, u >> np.uint32(6), ONE << np.uint64(u & np.uint32(63)))


@kernel
def queue_to_bitmap(queue, size, bitmap, n_threads):
    """Make the bitmap hold just the vertices of the queue."""
    in_parallel(_clear, _n_parts(bitmap.size, _CLEARED_WORDS, n_threads), (bitmap,))
    in_parallel(_mark, _n_parts(size, _MARKED_ROWS, n_threads), (queue, size, bitmap))


@inlined
def _list_pieces(part, n_parts, bitmap, queue, claimed, tail):
    n_words = bitmap.size
    piece = atomic_add(claimed, 0, 1)
    while piece * PIECE_WORDS < n_words:
        first = np.uint64(piece * PIECE_WORDS)
        last = np.uint64(min(n_words, (piece + 1) * PIECE_WORDS))
        size = 0
        for w in range(first, last):
            size += popcount(bitmap[w])
        place = np.uint64(atomic_add(tail, 0, size))
        for w in range(first, last):
            rest = bitmap[w]
            while rest != EMPTY:
                queue[place] = w * _64 + trailing_zeros(rest)
                rest &= rest - ONE
                place += ONE
        piece = atomic_add(claimed, 0, 1)


@kernel
def bitmap_to_queue(bitmap, queue, n_threads):
    """Write the vertices of a bitmap to the queue, each piece in order; returns how many."""
    claimed = shared_counter()
    tail = shared_counter()
    n_parts = _n_parts(bitmap.size, 8 * PIECE_WORDS, n_threads)
    in_parallel(_list_pieces, n_parts, (bitmap, queue, claimed, tail))
    return tail[0]


@kernel
def enter(words, visited, parent):
    """Visit the rows of a bitmap; those not visited here before get no parent yet.

    Returns how many these are.
    """
    missing = 0
    for w in range(words.size):
        rest = words[w] & ~visited[w]
        visited[w] |= words[w]
        missing += popcount(rest)
        while rest != EMPTY:
            parent[np.uint64(w) * _64 + trailing_zeros(rest)] = NONE
            rest &= rest - ONE
    return missing


@kernel
def enter_ids(ids, first, visited, parent):
    """Visit some vertices; own rows (from ``first`` on) not visited here get no parent yet.

    Returns how many these are.
    """
    missing = 0
    for i in range(ids.size):
        w = ids[i] >> np.uint32(6)
        bit = ONE << np.uint64(ids[i] & np.uint32(63))
        if visited[w] & bit == EMPTY:
            visited[w] |= bit
            row = ids[i] - first  # wraps around for ids below: far too large
            if row < parent.size:
                parent[row] = NONE
                missing += 1
    return missing


@inlined
def _forget_unvisited(part, n_parts, parent, visited):
    first, last = part_of(visited.size, part, n_parts)
    for w in range(np.uint64(first), np.uint64(last)):
        rest = ~visited[w]
        while rest != EMPTY:
            parent[w * _64 + trailing_zeros(rest)] = NONE
            rest &= rest - ONE


@kernel
def forget_unvisited(parent, visited, n_threads):
    """Set the parents of rows that were not visited to NONE."""
    in_parallel(_forget_unvisited, n_threads, (parent, visited))


@kernel
def adopt(ids, vertices, first, parent):
    """Take parents that others found, for own rows that have none; returns how many."""
    n = 0
    for i in range(ids.size):
        row = ids[i] - first  # wraps around for ids below: far too large
        if row < parent.size and parent[row] == NONE:
            parent[row] = vertices[i]
            n += 1
    return n
