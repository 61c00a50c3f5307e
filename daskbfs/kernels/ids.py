"""Between rows and the user's vertices: results on their way out, sparse ids on their way in.

A search leaves the parents of rows as vertices; ``by_vertex`` deals values by row to the vertices,
in one pass of sequential writes.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel, part_of
from daskbfs.kernels.vertex_numbers import NONE


@inlined
def _by_vertex(part, n_parts, row_values, order, values):
    first, last = part_of(order.size, part, n_parts)
    for v in range(np.uint64(first), np.uint64(last)):
        values[v] = row_values[order[v]]


@kernel
def by_vertex(row_values, order, values, n_threads):
    """Give each vertex the value of its row; isolated vertices have a padding row."""
    in_parallel(_by_vertex, n_threads, (row_values, order, values))


@inlined
def _ids_by_vertex(part, n_parts, row_indices, order, ids, values):
    first, last = part_of(order.size, part, n_parts)
    for v in range(np.uint64(first), np.uint64(last)):
        index = row_indices[order[v]]
        values[v] = ids[index] if index != NONE else -1


@kernel
def ids_by_vertex(row_indices, order, ids, values, n_threads):
    """Give each vertex the id of the vertex that its row names; -1 for NONE."""
    in_parallel(_ids_by_vertex, n_threads, (row_indices, order, ids, values))


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


@inlined
def _find_indices(part, n_parts, ids, shift, table, wanted, found, n_missing):
    first, last = part_of(wanted.size, part, n_parts)
    missing = 0
    for i in range(first, last):
        leading = wanted[i] >> shift
        place = -1
        if 0 <= leading < table.size - 1:
            place = _find(ids, table[leading], table[leading + 1], wanted[i])
        if place < 0:
            missing += 1
            found[i] = NONE
        else:
            found[i] = place
    n_missing[part] = missing


@kernel
def find_indices(ids, shift, table, wanted, found, n_threads):
    """Index of each wanted id; returns how many are not among the ids (they get NONE)."""
    n_missing = np.zeros(n_threads, np.int64)
    in_parallel(_find_indices, n_threads, (ids, shift, table, wanted, found, n_missing))
    return n_missing.sum()
