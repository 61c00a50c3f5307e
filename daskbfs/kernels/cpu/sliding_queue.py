"""Many top-down levels in one call, over a queue that slides through the visited rows.

A road network has hundreds of levels of a few microseconds each: a call for each of them would cost
more than its work. ``top_down_levels`` runs level after level until many arcs leave the frontier,
and returns what each one found and took.

The queue holds the rows visited since the last bottom-up level, in their order: the frontier is its
tail, and what a frontier finds is appended. A row is unvisited while its ``parent`` is NONE, so
nothing else is read to find that out, and the loop over arcs has no branch that depends on it: each
neighbour is written behind the queue, and stays there if it is new. Rows that come soon are
prefetched.

Levels with few arcs run in the calling thread; others in parts, where each row is won by a
compare-and-swap. Method: GAP's sliding queue (Beamer, Asanovic, Patterson, 2015).
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import (
    ONE,
    atomic_add,
    atomic_or,
    compare_and_swap,
    prefetch,
    shared_counter,
)
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.cpu.clock import seconds_now
from daskbfs.kernels.cpu.lookups import name_of
from daskbfs.kernels.cpu.outbox import OUTBOX_ROWS, append
from daskbfs.kernels.thread_pool import in_parallel, part_of
from daskbfs.kernels.vertex_numbers import NONE

_AHEAD = np.uint64(16)  # rows of the queue between a prefetch and its use
_PIECE_ROWS = 64
_CLEARED_ROWS = 2**15  # of parents, by one thread
_MARKED_ROWS = 2**11
_1, _2 = np.uint32(1), np.uint64(2)


@inlined
def _search_rows(first, last, indptr, indices, vertex, parent, queue, tail):
    """One level in the calling thread; returns the new tail and the arcs examined."""
    examined = np.uint64(0)
    for i in range(first, last):
        prefetch(indptr, queue[min(i + _2 * _AHEAD, last - ONE)])
        prefetch(indices, indptr[queue[min(i + _AHEAD, last - ONE)]])
        row = queue[i]
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + _1])
        examined += end - begin
        parent_vertex = name_of(vertex, row)
        for e in range(begin, end):
            u = indices[e]
            before = parent[u]
            is_new = before == NONE
            parent[u] = parent_vertex if is_new else before
            queue[tail] = u
            tail += np.uint64(is_new)
    return tail, np.int64(examined)


@inlined
def _search_pieces(
    part, n_parts, indptr, indices, vertex, parent, queue, first, last, claimed, tail, examined
):
    """One thread's share of a level: pieces of the frontier until none is left."""
    outbox = np.empty(OUTBOX_ROWS, np.uint32)
    kept = np.uint64(0)
    looked_at = np.uint64(0)
    size = last - first
    piece = atomic_add(claimed, 0, 1)
    while piece * _PIECE_ROWS < size:
        begin_piece = np.uint64(first + piece * _PIECE_ROWS)
        end_piece = np.uint64(min(last, first + (piece + 1) * _PIECE_ROWS))
        for i in range(begin_piece, end_piece):
            prefetch(indices, indptr[queue[min(i + _AHEAD, end_piece - ONE)]])
            row = queue[i]
            parent_vertex = name_of(vertex, row)
            begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + _1])
            looked_at += end - begin
            for e in range(begin, end):
                u = indices[e]
                if parent[u] == NONE and compare_and_swap(parent, u, NONE, parent_vertex):
                    outbox[kept] = u
                    kept += ONE
                    if kept == OUTBOX_ROWS:
                        append(queue, tail, outbox, kept)
                        kept = np.uint64(0)
        piece = atomic_add(claimed, 0, 1)
    append(queue, tail, outbox, kept)
    examined[part] = looked_at


@inlined
def _search_in_parts(
    first, last, indptr, indices, vertex, parent, queue, claimed, tail, examined, n_threads
):
    """One level by several threads; returns the new tail and the arcs examined."""
    claimed[0], tail[0] = 0, last
    n_parts = max(1, min(n_threads, (last - first + _PIECE_ROWS - 1) // _PIECE_ROWS))
    examined[:] = 0
    arguments = (
        indptr, indices, vertex, parent, queue, first, last, claimed, tail, examined,
    )  # fmt: skip
    in_parallel(_search_pieces, n_parts, arguments)
    return np.uint64(tail[0]), examined.sum()


@inlined
def _count_arcs(indptr, queue, first, last):
    """How many arcs leave some rows of the queue; the first to ask brings them to the cache."""
    arcs = 0
    for i in range(first, last):
        row = queue[i]
        arcs += np.int64(indptr[row + _1]) - np.int64(indptr[row])
    return arcs


@kernel
def top_down_levels(
    indptr, indices, vertex, parent, queue, head, tail, most_arcs, serial_arcs, arcs_per_row,
    targets, sizes, examined, seconds, n_threads,
):  # fmt: skip
    """Search top-down from the rows of ``queue[head:tail]``, level by level.

    Runs one level at least, and stops where the next frontier is empty or has ``most_arcs`` arcs or
    more, where all ``targets`` are visited, or where ``sizes``, ``examined`` and ``seconds``
    are full: they get each level's rows, arcs and time. ``arcs_per_row`` is how many arcs a row is
    taken to have; 0 counts them. Levels of ``serial_arcs`` arcs or more take several threads.

    Returns how many levels ran, head and tail of the queue, and the arcs that leave the frontier.
    """
    claimed, end = shared_counter(), shared_counter()
    counts = np.zeros(n_threads, np.int64)
    begin, tail = np.uint64(head), np.uint64(tail)
    arcs = np.float64(serial_arcs if arcs_per_row == 0 else arcs_per_row * (tail - begin))
    if arcs_per_row == 0:
        arcs = np.float64(_count_arcs(indptr, queue, begin, tail))
    n_reached = 0
    level = 0
    now = seconds_now()
    while level < sizes.size:
        last = tail
        if arcs < serial_arcs or n_threads == 1:
            tail, looked_at = _search_rows(
                begin, last, indptr, indices, vertex, parent, queue, tail
            )
        else:
            tail, looked_at = _search_in_parts(
                np.int64(begin), np.int64(last), indptr, indices, vertex, parent, queue, claimed,
                end, counts, n_threads,
            )  # fmt: skip
        sizes[level] = last - begin
        examined[level] = looked_at
        begin = last
        if arcs_per_row == 0:
            arcs = np.float64(_count_arcs(indptr, queue, begin, tail))
        else:
            arcs = arcs_per_row * np.float64(tail - begin)
        before, now = now, seconds_now()
        seconds[level] = now - before
        level += 1
        while n_reached < targets.size and parent[targets[n_reached]] != NONE:
            n_reached += 1
        if begin == tail or arcs >= most_arcs or (targets.size > 0 and n_reached == targets.size):
            break
    return level, np.int64(begin), np.int64(tail), arcs


@inlined
def _forget(part, n_parts, parent):
    first, last = part_of(parent.size, part, n_parts)
    parent[first:last] = NONE


@kernel
def forget_all(parent, n_threads):
    """Make all rows unvisited."""
    n_parts = max(1, min(n_threads, parent.size // _CLEARED_ROWS))
    in_parallel(_forget, n_parts, (parent,))


@inlined
def _mark(part, n_parts, queue, first, last, visited):
    begin, end = part_of(last - first, part, n_parts)
    for i in range(np.uint64(first + begin), np.uint64(first + end)):
        u = queue[i]
        atomic_or(visited, u >> np.uint32(6), ONE << np.uint64(u & np.uint32(63)))


@kernel
def mark_visited(queue, first, last, visited, n_threads):
    """Set the bits of some rows of the queue."""
    n_parts = max(1, min(n_threads, (last - first) // _MARKED_ROWS))
    in_parallel(_mark, n_parts, (queue, first, last, visited))
