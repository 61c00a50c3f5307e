"""Loops over a finished search tree: levels from parents, and the Graph500 checks.

Everything is by row: ``parent`` holds rows (NONE where unreached, the source its own parent),
``level`` is -1 where unreached.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from daskbfs.kernels.bitmap import atomic_add, shared_counter
from daskbfs.kernels.compiling import inlined, parallel_kernel
from daskbfs.types import NONE

UNKNOWN = np.int32(-2)
_PIECE_ROWS = 4096

OK = 0
ENDS_ELSEWHERE = 1
LEVEL_OF_PARENT = 2
NOT_AN_EDGE = 3
EDGE_SPANS_LEVELS = 4
EDGE_LEAVES_TREE = 5
_CODES = 8
FINE = np.int64(2**62)


@parallel_kernel
def levels_from_parents(parent, level, n_threads):
    """Fill ``level``, UNKNOWN before; returns the first row that leads to a cycle, or FINE.

    A thread climbs from a row to the first known level, then climbs again and writes what it
    learned. Threads may write the same place at once, but only ever the same value.
    """
    n_rows = parent.size
    n_pieces = (n_rows + _PIECE_ROWS - 1) // _PIECE_ROWS
    claimed = shared_counter()
    offender = FINE
    for _ in prange(n_threads):
        piece = atomic_add(claimed, 0, 1)
        while piece < n_pieces:
            for row in range(piece * _PIECE_ROWS, min(n_rows, (piece + 1) * _PIECE_ROWS)):
                steps = 0
                at = np.uint32(row)
                while level[at] == UNKNOWN and steps <= n_rows:
                    if parent[at] == NONE:
                        level[at] = -1
                    elif parent[at] == at:
                        level[at] = 0
                    else:
                        at = parent[at]
                        steps += 1
                if steps > n_rows:
                    offender = min(offender, row)
                    atomic_add(claimed, 0, n_pieces)  # rows below are claimed already
                    break
                value = level[at] + steps
                at = np.uint32(row)
                for back in range(steps):
                    level[at] = value - back
                    at = parent[at]
            piece = atomic_add(claimed, 0, 1)
    return offender


@inlined
def _has(indices, begin, end, wanted):
    """Whether a sorted row holds a neighbour."""
    while begin < end:
        middle = (begin + end) >> 1
        if indices[middle] < wanted:
            begin = middle + 1
        elif indices[middle] > wanted:
            end = middle
        else:
            return True
    return False


@inlined
def _check_row(row, out_indptr, out_indices, in_indptr, in_indices, parent, level, last_level):
    """The first rule that a row breaks."""
    at = level[row]
    if at >= 0 and parent[row] != row:
        if level[parent[row]] < 0:
            return ENDS_ELSEWHERE
        if level[parent[row]] != at - 1:
            return LEVEL_OF_PARENT
        if not _has(
            in_indices, np.int64(in_indptr[row]), np.int64(in_indptr[row + 1]), parent[row]
        ):
            return NOT_AN_EDGE
    if 0 <= at < last_level:
        code = OK
        for e in range(np.uint64(out_indptr[row]), np.uint64(out_indptr[row + 1])):
            other = level[out_indices[e]]
            if other < 0:
                return EDGE_LEAVES_TREE
            if other > at + 1:
                code = EDGE_SPANS_LEVELS
        return code
    return OK


@parallel_kernel
def check_tree(
    out_indptr, out_indices, in_indptr, in_indices, parent, level, last_level, n_threads
):
    """Row and rule of the first offence as row * 8 + rule, or FINE."""
    n_rows = parent.size
    n_pieces = (n_rows + _PIECE_ROWS - 1) // _PIECE_ROWS
    claimed = shared_counter()
    offence = FINE
    for _ in prange(n_threads):
        piece = atomic_add(claimed, 0, 1)
        while piece < n_pieces:
            for row in range(piece * _PIECE_ROWS, min(n_rows, (piece + 1) * _PIECE_ROWS)):
                code = _check_row(
                    row, out_indptr, out_indices, in_indptr, in_indices, parent, level, last_level
                )
                if code != OK:
                    offence = min(offence, row * _CODES + code)
                    atomic_add(claimed, 0, n_pieces)  # rows below are claimed already
                    break
            piece = atomic_add(claimed, 0, 1)
    return offence


@inlined
def _check_arc(row, other, level, last_level):
    """Which rule an arc breaks."""
    at = level[row]
    if 0 <= at < last_level:
        if level[other] < 0:
            return EDGE_LEAVES_TREE
        if level[other] > at + 1:
            return EDGE_SPANS_LEVELS
    return OK


@parallel_kernel
def check_edges(rows, neighbours, both_ways, parent, level, last_level, found, n_threads):
    """Like ``check_tree``, for some edges, without rows: the rules that an edge can break.

    Rows whose tree edge is among these edges are found.
    """
    size = rows.size
    offence = FINE
    for t in prange(n_threads):
        for i in range(size * t // n_threads, size * (t + 1) // n_threads):
            row, other = rows[i], neighbours[i]
            if row != NONE:
                code = _check_arc(row, other, level, last_level)
                if code != OK:
                    offence = min(offence, np.int64(row) * _CODES + code)
                if parent[other] == row:
                    found[other] = True
                if both_ways:
                    code = _check_arc(other, row, level, last_level)
                    if code != OK:
                        offence = min(offence, np.int64(other) * _CODES + code)
                    if parent[row] == other:
                        found[row] = True
    return offence


@parallel_kernel
def check_tree_edges(parent, level, found, n_threads):
    """Like ``check_tree``, after all edges were looked at: the rules that a parent can break."""
    n_rows = parent.size
    offence = FINE
    for t in prange(n_threads):
        for row in range(n_rows * t // n_threads, n_rows * (t + 1) // n_threads):
            if level[row] >= 0 and parent[row] != row:
                code = OK
                if level[parent[row]] < 0:
                    code = ENDS_ELSEWHERE
                elif level[parent[row]] != level[row] - 1:
                    code = LEVEL_OF_PARENT
                elif not found[row]:
                    code = NOT_AN_EDGE
                if code != OK:
                    offence = min(offence, np.int64(row) * _CODES + code)
    return offence


def decode_offence(offence: int) -> tuple[int, int]:
    """Row and rule of an offence."""
    return divmod(int(offence), _CODES)
