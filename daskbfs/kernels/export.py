"""Rows on their way out: adjacency by the user's vertices, in ascending order."""

from __future__ import annotations

from numba import prange

from daskbfs.kernels.compiling import parallel_kernel


@parallel_kernel
def export_rows(first, last, order, n_rows, indptr, indices, original_index, offsets, neighbours):
    """Neighbours of the vertices ``first`` to ``last - 1``, each vertex's in ascending order.

    ``offsets`` tells where each of these vertices' neighbours begin in ``neighbours``.
    """
    for v in prange(first, last):
        row = order[v]
        if row < n_rows:
            begin = offsets[v - first]
            size = offsets[v - first + 1] - begin
            for k in range(size):
                neighbours[begin + k] = original_index[indices[indptr[row] + k]]
            neighbours[begin : begin + size].sort()
