"""Adjacency on its way to files, by the user's vertices in ascending order, and back from them."""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import atomic_add, shared_counter
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.generators import mix
from daskbfs.kernels.thread_pool import in_parallel, part_of

_PIECE_ROWS = 256
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_TWO = np.uint64(2)


@inlined
def _export_rows(
    part, n_parts, first, last, order, n_rows, indptr, indices, original_index, offsets,
    neighbours, claimed,
):  # fmt: skip
    begin_piece = first + atomic_add(claimed, 0, _PIECE_ROWS)
    while begin_piece < last:
        for v in range(begin_piece, min(last, begin_piece + _PIECE_ROWS)):
            row = order[v]
            if row < n_rows:
                begin = offsets[v - first]
                size = offsets[v - first + 1] - begin
                for k in range(size):
                    neighbours[begin + k] = original_index[indices[indptr[row] + k]]
                neighbours[begin : begin + size].sort()
        begin_piece = first + atomic_add(claimed, 0, _PIECE_ROWS)


@kernel
def export_rows(
    first, last, order, n_rows, indptr, indices, original_index, offsets, neighbours, n_threads
):
    """Neighbours of the vertices ``first`` to ``last - 1``, each vertex's in ascending order.

    ``offsets`` tells where each of these vertices' neighbours begin in ``neighbours``.
    """
    claimed = shared_counter()
    arguments = (
        first, last, order, n_rows, indptr, indices, original_index, offsets, neighbours, claimed,
    )  # fmt: skip
    in_parallel(_export_rows, n_threads, arguments)


@kernel
def take_once(heads, tails, n_vertices, kept_heads, kept_tails):
    """Keep the arcs that lead down or nowhere; count and hash those that lead up and down.

    Heads are in range and vertices have 32 bits, so that an edge is one word to hash. Returns the
    place of the first tail that is out of range, or -1; how many arcs are kept; how many lead up
    and down; the sums of their hashes.
    """
    n_kept = n_up = n_down = 0
    up_hash = down_hash = np.uint64(0)
    for i in range(heads.size):
        head, tail = heads[i], tails[i]
        if tail < 0 or tail >= n_vertices:
            return i, n_kept, n_up, n_down, up_hash, down_hash
        kept_heads[n_kept] = head
        kept_tails[n_kept] = tail
        if tail > head:
            n_up += 1
            up_hash += mix(np.uint64(tail) << _HALF | np.uint64(head))
        else:
            n_kept += 1
            if tail < head:
                n_down += 1
                down_hash += mix(np.uint64(head) << _HALF | np.uint64(tail))
    return -1, n_kept, n_up, n_down, up_hash, down_hash


@inlined
def _largest_but(part, n_parts, values, exempt, tops):
    first, last = part_of(values.size, part, n_parts)
    top = np.int64(-1)
    for i in range(np.uint64(first), np.uint64(last)):
        value = np.int64(values[i])
        if value > top and value != exempt:
            top = value
    tops[part] = top


@kernel
def largest_but(values, exempt, n_threads):
    """The largest of some numbers, but for one that does not count; -1 where there are none."""
    tops = np.full(n_threads, np.int64(-1))
    in_parallel(_largest_but, n_threads, (values, exempt, tops))
    return tops.max()


@inlined
def _checksum(part, n_parts, words, first_place, sums):
    first, last = part_of(words.size, part, n_parts)
    total = np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        total += words[i] * (_TWO * (i + np.uint64(first_place)) + _ONE)
    sums[part] = total


@kernel
def checksum(words, first, n_threads):
    """A sum of 64-bit words in which each place, from ``first`` on, has a weight of its own."""
    sums = np.zeros(n_threads, np.uint64)
    in_parallel(_checksum, n_threads, (words, first, sums))
    return sums.sum()
