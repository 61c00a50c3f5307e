"""Between rows and the user's vertices: results on their way out, sparse ids on their way in.

A search leaves the parents of rows as vertices; ``by_vertex`` deals values by row to the vertices,
in one pass of sequential writes.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from daskbfs.kernels.compiling import inlined, kernel, parallel_kernel
from daskbfs.types import NONE


@parallel_kernel
def by_vertex(row_values, order, values, n_threads):
    """Give each vertex the value of its row; isolated vertices have a padding row."""
    size = order.size
    for t in prange(n_threads):
        first, last = size * t // n_threads, size * (t + 1) // n_threads
        for v in range(np.uint64(first), np.uint64(last)):
            values[v] = row_values[order[v]]


@parallel_kernel
def ids_by_vertex(row_indices, order, ids, values, n_threads):
    """Give each vertex the id of the vertex that its row names; -1 for NONE."""
    size = order.size
    for t in prange(n_threads):
        first, last = size * t // n_threads, size * (t + 1) // n_threads
        for v in range(np.uint64(first), np.uint64(last)):
            index = row_indices[order[v]]
            values[v] = ids[index] if index != NONE else -1


@inlined
def _find(ids, begin, end, wanted):
    """Place of an id among sorted ids, or -1."""
    while begin < end:
        middle = (begin + end) >> 1
        if ids[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < ids.size and ids[begin] == wanted else -1


@kernel
def id_table(ids, shift, table):
    """Where the ids with each leading part begin: ``table[i]`` for ids >> shift of at least i."""
    k = 0
    for i in range(table.size):
        while k < ids.size and (ids[k] >> shift) < i:
            k += 1
        table[i] = k


@parallel_kernel
def find_indices(ids, shift, table, wanted, found, n_threads):
    """Index of each wanted id; returns how many are not among the ids (they get NONE)."""
    size = wanted.size
    n_missing = 0
    for t in prange(n_threads):
        for i in range(size * t // n_threads, size * (t + 1) // n_threads):
            part = wanted[i] >> shift
            place = -1
            if 0 <= part < table.size - 1:
                place = _find(ids, table[part], table[part + 1], wanted[i])
            if place < 0:
                n_missing += 1
                found[i] = NONE
            else:
                found[i] = place
    return n_missing
