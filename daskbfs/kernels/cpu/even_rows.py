"""Bottom-up steps over rows of about the same length, where no neighbour is a hub.

A hub column would be one more array to read, and a row's first neighbour is no better than the
next: rows are searched eight neighbours at a time, without a branch between these.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import EMPTY, ONE, trailing_zeros
from daskbfs.kernels.compile import inlined
from daskbfs.kernels.cpu.lookups import bit_of, enter_word, name_of

_8, _64 = np.uint64(8), np.uint64(64)


@inlined
def bottom_up_even_words(
    first, last, indptr, indices, vertex, mean_degree, parent, visited, wide, next_frontier
):
    """The bottom-up step for a piece of whole words; returns as the step with hubs does."""
    awake_count = 0
    scout_count = 0.0
    examined = 0
    frontier = wide.view(np.uint32)
    for w in range(first, last):
        found = EMPTY
        rest = ~visited[w]
        while rest != EMPTY:
            bit = trailing_zeros(rest)
            rest &= rest - ONE
            row = w * _64 + bit
            e, end = np.uint64(indptr[row]), np.uint64(indptr[row + ONE])
            last_arc = end - ONE
            while e < end:
                hits = EMPTY
                for k in range(_8):
                    hits |= bit_of(frontier, indices[min(e + k, last_arc)]) << k
                if hits != EMPTY:
                    k = trailing_zeros(hits)
                    parent[row] = name_of(vertex, indices[e + k])
                    found |= ONE << bit
                    examined += np.int64(k + ONE)
                    break
                examined += np.int64(min(_8, end - e))
                e += _8
        n_found = enter_word(w, found, visited, next_frontier)
        awake_count += n_found
        scout_count += n_found * mean_degree[w]
    return awake_count, scout_count, examined
