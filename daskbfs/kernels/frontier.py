"""Frontiers between partitions: bitmaps and lists of global ids, merged, weighed and cut."""

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
from daskbfs.kernels.thread_pool import in_parallel
from daskbfs.kernels.vertex_numbers import NONE

_PIECE = 1024  # rows that a thread claims at once


@kernel
def mark(words, ids):
    """Set the bits of some vertices."""
    for i in range(ids.size):
        words[ids[i] >> np.uint32(6)] |= ONE << np.uint64(ids[i] & np.uint32(63))


@kernel
def unite(ids, seen, mean_degree, union, n):
    """Append the vertices not seen before to the first ``n`` of a union.

    Returns its new size, and about how many arcs leave what was appended.
    """
    arcs = 0.0
    for i in range(ids.size):
        w = ids[i] >> np.uint32(6)
        bit = ONE << np.uint64(ids[i] & np.uint32(63))
        if seen[w] & bit == EMPTY:
            seen[w] |= bit
            arcs += mean_degree[w]
            union[n] = ids[i]
            n += 1
    return n, arcs


@kernel
def weigh(words, mean_degree):
    """How many vertices a bitmap holds, and about how many arcs leave them."""
    count = 0
    arcs = 0.0
    for w in range(words.size):
        n = popcount(words[w])
        count += n
        arcs += n * mean_degree[w]
    return count, arcs


@kernel
def list_bits(words, first, ids):
    """Write the vertices of a bitmap, whose first bit is vertex ``first``, in ascending order."""
    n = 0
    for w in range(words.size):
        rest = words[w]
        while rest != EMPTY:
            ids[n] = first + w * 64 + np.int64(trailing_zeros(rest))
            rest &= rest - ONE
            n += 1
    return n


@kernel
def outsiders(ids, first, n_rows, found):
    """Write those of some vertices that are no rows from ``first`` on; returns how many."""
    n = 0
    for i in range(ids.size):
        found[n] = ids[i]
        n += ids[i] - first >= n_rows  # wraps around for ids below: far too large
    return n


@kernel
def first_orphan(visited, parent, n_rows):
    """The first visited row without a parent, or -1."""
    for row in range(n_rows):
        if parent[row] == NONE and (visited[row >> 6] >> np.uint64(row & 63)) & ONE:
            return row
    return -1


@inlined
def _boundary(part, n_parts, rows, indptr, indices, owner, mine, seen, crossing, claimed):
    here = 0
    begin = atomic_add(claimed, 0, _PIECE)
    while begin < rows.size:
        for r in range(begin, min(begin + _PIECE, rows.size)):
            row = np.int64(rows[r])
            for e in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
                other = indices[e]
                if owner[other] != mine:
                    here += 1
                    w = np.int64(other >> np.uint32(6))
                    bit = ONE << np.uint64(other & np.uint32(63))
                    if seen[w] & bit == EMPTY:
                        atomic_or(seen, w, bit)
        begin = atomic_add(claimed, 0, _PIECE)
    crossing[part] = here


@kernel
def boundary(rows, indptr, indices, owner, mine, seen, n_threads):
    """How many arcs of some rows leave partition ``mine``; the vertices that they reach are seen.

    ``seen`` is a bitmap over all rows of the graph.
    """
    crossing = np.zeros(n_threads, np.int64)
    claimed = shared_counter()
    arguments = (rows, indptr, indices, owner, mine, seen, crossing, claimed)
    in_parallel(_boundary, n_threads, arguments)
    return crossing.sum()


@kernel
def count_bits(words):
    """How many bits are set."""
    n = 0
    for w in range(words.size):
        n += popcount(words[w])
    return n


@inlined
def _cut_rows(part, n_parts, rows, indptr, indices, global_id, new_indptr, new_indices, claimed):
    begin = atomic_add(claimed, 0, _PIECE)
    while begin < rows.size:
        for r in range(begin, min(begin + _PIECE, rows.size)):
            k = np.uint64(new_indptr[r])
            row = np.int64(rows[r])
            for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
                new_indices[k] = global_id[indices[e]]
                k += ONE
        begin = atomic_add(claimed, 0, _PIECE)


@kernel
def cut_rows(rows, indptr, indices, global_id, new_indptr, new_indices, n_threads):
    """Copy some rows, in order, with neighbours as global ids."""
    claimed = shared_counter()
    arguments = (rows, indptr, indices, global_id, new_indptr, new_indices, claimed)
    in_parallel(_cut_rows, n_threads, arguments)
