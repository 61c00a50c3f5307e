"""PageRank over the rows of one partition, on a GPU: the lanes of a virtual warp share a row.

The functions have the names and arguments of those in :mod:`daskbfs.kernels.cpu.pagerank`; arrays,
``indices`` and lanes are as in :mod:`daskbfs.kernels.gpu.bfs`. Every lane leaves its sum, in
float64, for a second kernel, which adds up the lanes of a row. Totals over rows are added as
integers. So nothing depends on the order in which threads come: the same ranks come out every time.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numba import cuda

from daskbfs.kernels.gpu.launch import array_module, launch

MOST_LANES = 2**20  # that leave a sum at once: 8 MiB
_UNITS = 2.0**61  # that totals count a rank of 1 in; ranks change by 2 together at most


@cuda.jit
def pull_rows(indptr, indices, first_arc, contribution, first_row, last_row, width, sums):
    """Each lane of a row adds up what some of its neighbours pass on."""
    lane = cuda.grid(1) & (width - 1)
    for row in range(first_row + cuda.grid(1) // width, last_row, cuda.gridsize(1) // width):
        first, last = np.int64(indptr[row]), np.int64(indptr[row + 1])
        got = 0.0
        for e in range(first + lane, last, width):
            got += np.float64(contribution[np.int64(indices[e - first_arc])])
        sums[(row - first_row) * width + lane] = got


@cuda.jit
def settle_ranks(
    sums,
    first_row,
    last_row,
    width,
    out_degree,
    damping,
    inflow,
    share,
    rank,
    passed_on,
    totals,
):
    """The new rank of each row, by what its lanes have got; a width of 0 is a row that got none."""
    changed = 0.0
    dangling = 0.0
    for row in range(first_row + cuda.grid(1), last_row, cuda.gridsize(1)):
        got = 0.0
        for lane in range((row - first_row) * width, (row - first_row + 1) * width):
            got += sums[lane]
        new = damping * got + inflow * share[row if share.size > 1 else 0]
        old = rank[row]
        changed += new - old if new > old else old - new
        rank[row] = new
        degree = out_degree[row]
        if degree == 0:
            dangling += new
            passed_on[row] = 0
        else:
            passed_on[row] = new / degree
    if changed > 0:
        cuda.atomic.add(totals, 0, np.int64(changed * _UNITS))
    if dangling > 0:
        cuda.atomic.add(totals, 1, np.int64(dangling * _UNITS))


KERNELS = (pull_rows, settle_ranks)


def begin_ranks(out_degree: Any, share: Any, rank: Any, passed_on: Any) -> float:
    """Make every rank its share; returns the rank of rows without arcs out of them."""
    n_rows = out_degree.size
    rank[:n_rows] = share[:n_rows]
    totals = array_module(rank).zeros(2, np.int64)
    launch(
        settle_ranks, n_rows, share, 0, n_rows, 0, out_degree, 0.0, 1.0, share, rank, passed_on,
        totals,
    )  # fmt: skip
    return int(totals[1]) / _UNITS


def pull_ranks(
    indptr: Any,
    indices: Any,
    out_degree: Any,
    contribution: Any,
    damping: float,
    inflow: float,
    share: Any,
    rank: Any,
    passed_on: Any,
    n_threads: int,
) -> tuple[float, float]:
    """One iteration: new ``rank`` of each row, and what it passes on to each neighbour."""
    xp = array_module(rank)
    totals = xp.zeros(2, np.int64)
    with contextlib.closing(indices.all_blocks()) as blocks:
        for block, arcs, first_arc in blocks:
            for begin, end, width in block.spans:
                for first in range(begin, end, MOST_LANES // width):
                    last = min(end, first + MOST_LANES // width)
                    # made for each block, since two of them may run at once, on their own streams
                    sums = xp.empty((last - first) * width, np.float64)
                    launch(
                        pull_rows, sums.size, indptr, arcs, first_arc, contribution, first, last,
                        width, sums,
                    )  # fmt: skip
                    launch(
                        settle_ranks, last - first, sums, first, last, width, out_degree, damping,
                        inflow, share, rank, passed_on, totals,
                    )  # fmt: skip
    changed, dangling = (n / _UNITS for n in totals.tolist())
    return changed, dangling
