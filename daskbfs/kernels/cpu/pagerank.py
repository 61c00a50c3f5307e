"""PageRank over the rows of one partition, on the CPU: every row pulls from its neighbours.

``contribution`` holds, by global id, a vertex's rank over its out-degree: as float32, which is half
the memory traffic for an error of 1e-7 of a rank, since sums are kept in float64; or as float64,
where more is asked for. Rows are sorted by degree, hubs first, so most of what is pulled lies in
the cache. Threads claim pieces of equally many arcs. Sums have four accumulators: one would wait
for each addition before the next. The GPU's kernels have the same names and arguments:
:mod:`daskbfs.kernels.gpu.pagerank`.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import atomic_add, shared_counter
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel

_PIECE_ARCS = 2**16
_ONE, _TWO, _THREE, _FOUR = (np.uint64(n) for n in (1, 2, 3, 4))


@inlined
def _first_row(indptr, arc):
    """The first row that begins at an arc or behind it."""
    low, high = 0, indptr.size - 1
    while low < high:
        middle = (low + high) >> 1
        if np.int64(indptr[middle]) < arc:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _pull_row(indices, contribution, begin, end):
    """What a row gets from its neighbours."""
    a = b = c = d = 0.0
    e = begin
    while e + _FOUR <= end:
        a += np.float64(contribution[indices[e]])
        b += np.float64(contribution[indices[e + _ONE]])
        c += np.float64(contribution[indices[e + _TWO]])
        d += np.float64(contribution[indices[e + _THREE]])
        e += _FOUR
    while e < end:
        a += np.float64(contribution[indices[e]])
        e += _ONE
    return (a + b) + (c + d)


def begin_ranks(out_degree, share, rank, passed_on):
    """Make every rank its share; returns the rank of rows without arcs out of them."""
    n_rows = out_degree.size
    rank[:n_rows] = share[:n_rows]
    dangling = out_degree == 0
    passed_on[:n_rows] = np.where(dangling, 0, rank[:n_rows] / np.maximum(out_degree, 1))
    return float(rank[:n_rows][dangling].sum())


@inlined
def _pull_pieces(
    part,
    n_parts,
    indptr,
    indices,
    out_degree,
    contribution,
    damping,
    inflow,
    share,
    rank,
    passed_on,
    claimed,
    sums,
):
    n_rows = indptr.size - 1
    n_arcs = np.int64(indptr[n_rows])
    n_pieces = _n_pieces(n_arcs)
    equal = share.size == 1
    changed = 0.0
    dangling = 0.0
    piece = atomic_add(claimed, 0, 1)
    while piece < n_pieces:
        first = 0 if piece == 0 else _first_row(indptr, n_arcs * piece // n_pieces)
        last = n_rows
        if piece + 1 < n_pieces:
            last = _first_row(indptr, n_arcs * (piece + 1) // n_pieces)
        for row in range(first, last):
            got = _pull_row(
                indices, contribution, np.uint64(indptr[row]), np.uint64(indptr[row + 1])
            )
            new = damping * got + inflow * share[0 if equal else row]
            changed += abs(new - rank[row])
            rank[row] = new
            degree = out_degree[row]
            if degree == 0:
                dangling += new
                passed_on[row] = 0
            else:
                passed_on[row] = new / degree
        piece = atomic_add(claimed, 0, 1)
    sums[part, 0] = changed
    sums[part, 1] = dangling


@inlined
def _n_pieces(n_arcs):
    return max(1, n_arcs // _PIECE_ARCS)


@kernel
def pull_ranks(
    indptr, indices, out_degree, contribution, damping, inflow, share, rank, passed_on, n_threads
):
    """One iteration: new ``rank`` of each row, and what it passes on to each neighbour.

    ``inflow`` is what all vertices get together from nowhere and from vertices without arcs out of
    them, and ``share`` a row's part of it: one entry for each row, or one for all. Returns how much
    ranks have changed together, and the rank of rows without arcs out of them.
    """
    n_parts = min(n_threads, _n_pieces(np.int64(indptr[indptr.size - 1])))
    claimed = shared_counter()
    sums = np.zeros((n_parts, 2))
    arguments = (
        indptr, indices, out_degree, contribution, damping, inflow, share, rank, passed_on, claimed,
        sums,
    )  # fmt: skip
    in_parallel(_pull_pieces, n_parts, arguments)
    return sums[:, 0].sum(), sums[:, 1].sum()
