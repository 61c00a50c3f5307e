"""Loops over finished search trees: levels from parents, and the Graph500 checks.

``parent`` holds rows (NONE where unreached, the source its own parent), ``level`` is -1 where
unreached. Against rows, one tree is checked at a time. Against edges, some trees stand side by
side, by vertex: what a vertex is in each of them lies together, so an edge costs as many cache
misses for all as for one.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import atomic_add, shared_counter
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel, part_of
from daskbfs.kernels.vertex_numbers import NONE

UNKNOWN = np.int32(-2)
_PIECE_ROWS = 4096
_PIECE_EDGES = 512

OK = 0
ENDS_ELSEWHERE = 1
LEVEL_OF_PARENT = 2
NOT_AN_EDGE = 3
EDGE_SPANS_LEVELS = 4
EDGE_LEAVES_TREE = 5
_CODES = 8
FINE = np.int64(2**62)

MOST_TREES = 16
SEEN = np.uint32(NONE - 1)
"""Stands for a parent whose edge was found among the input edges; no vertex has this number."""


@inlined
def _climb(part, n_parts, parent, level, claimed, offenders):
    n_rows = parent.size
    offender = FINE
    first = atomic_add(claimed, 0, _PIECE_ROWS)
    while first < n_rows:
        for row in range(first, min(n_rows, first + _PIECE_ROWS)):
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
                atomic_add(claimed, 0, n_rows)  # rows below are claimed already
                break
            value = level[at] + steps
            at = np.uint32(row)
            for back in range(steps):
                level[at] = value - back
                at = parent[at]
        first = atomic_add(claimed, 0, _PIECE_ROWS)
    offenders[part] = offender


@kernel
def levels_from_parents(parent, level, n_threads):
    """Fill ``level``, UNKNOWN before; returns the first row that leads to a cycle, or FINE.

    A thread climbs from a row to the first known level, then climbs again and writes what it
    learned. Threads may write the same place at once, but only ever the same value.
    """
    offenders = np.full(n_threads, FINE)
    in_parallel(_climb, n_threads, (parent, level, shared_counter(), offenders))
    return offenders.min()


@inlined
def _has(indices, begin, end, wanted, ascending):
    """Whether a row holds a neighbour."""
    if not ascending:
        for e in range(begin, end):
            if indices[e] == wanted:
                return True
        return False
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
def _check_row(
    row, out_indptr, out_indices, in_indptr, in_indices, ascending, parent, level, last_level
):
    """The first rule that a row breaks."""
    at = level[row]
    if at >= 0 and parent[row] != row:
        if level[parent[row]] < 0:
            return ENDS_ELSEWHERE
        if level[parent[row]] != at - 1:
            return LEVEL_OF_PARENT
        begin, end = np.int64(in_indptr[row]), np.int64(in_indptr[row + 1])
        if not _has(in_indices, begin, end, parent[row], ascending):
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


@inlined
def _check_rows(
    part, n_parts, out_indptr, out_indices, in_indptr, in_indices, ascending, parent, level,
    last_level, claimed, offences,
):  # fmt: skip
    n_rows = parent.size
    offence = FINE
    first = atomic_add(claimed, 0, _PIECE_ROWS)
    while first < n_rows:
        for row in range(first, min(n_rows, first + _PIECE_ROWS)):
            code = _check_row(
                row, out_indptr, out_indices, in_indptr, in_indices, ascending, parent, level,
                last_level,
            )  # fmt: skip
            if code != OK:
                offence = min(offence, row * _CODES + code)
                atomic_add(claimed, 0, n_rows)  # rows below are claimed already
                break
        first = atomic_add(claimed, 0, _PIECE_ROWS)
    offences[part] = offence


@kernel
def check_tree(
    out_indptr, out_indices, in_indptr, in_indices, ascending, parent, level, last_level, n_threads
):
    """Row and rule of the first offence as row * 8 + rule, or FINE.

    ``ascending`` says that neighbours come by ascending rows.
    """
    claimed = shared_counter()
    offences = np.full(n_threads, FINE)
    arguments = (
        out_indptr, out_indices, in_indptr, in_indices, ascending, parent, level, last_level,
        claimed, offences,
    )  # fmt: skip
    in_parallel(_check_rows, n_threads, arguments)
    return offences.min()


@inlined
def _put_tree(part, n_parts, parent, level, parents, levels, unreached, t, offences):
    first, last = part_of(parent.size, part, n_parts)
    offence = FINE
    for v in range(first, last):
        above = parent[v]
        at = level[v]
        parents[v, t] = above
        levels[v, t] = at if at >= 0 else unreached
        if at >= 0 and above != v:
            code = OK
            if level[above] < 0:
                code = ENDS_ELSEWHERE
            elif level[above] != at - 1:
                code = LEVEL_OF_PARENT
            if code != OK:
                offence = min(offence, _offence(v, t, code))
    offences[part] = offence


@kernel
def put_tree(parent, level, parents, levels, unreached, t, n_threads):
    """Put a tree beside others, as column ``t``; returns the first offence of its own edges.

    ``unreached`` is larger than every level.
    """
    offences = np.full(n_threads, FINE)
    in_parallel(_put_tree, n_threads, (parent, level, parents, levels, unreached, t, offences))
    return offences.min()


@inlined
def _offence(v, t, code):
    return (np.int64(v) * MOST_TREES + t) * _CODES + code


@inlined
def _breaks(levels, u, v, last_levels, unreached, t):
    """Which rule an arc breaks in a tree."""
    at, other = np.int64(levels[u, t]), np.int64(levels[v, t])
    if at >= last_levels[t] or other <= at + 1:
        return OK
    return EDGE_LEAVES_TREE if other == unreached else EDGE_SPANS_LEVELS


@inlined
def _first_breaks(heads, tails, first, last, both_ways, levels, last_levels, unreached):
    """The first offence of some edges."""
    offence = FINE
    for i in range(first, last):
        u, v = heads[i], tails[i]
        for t in range(levels.shape[1]):
            code = _breaks(levels, u, v, last_levels, unreached, t)
            if code != OK:
                offence = min(offence, _offence(u, t, code))
            if both_ways:
                code = _breaks(levels, v, u, last_levels, unreached, t)
                if code != OK:
                    offence = min(offence, _offence(v, t, code))
    return offence


@inlined
def _check_edges(
    part,
    n_parts,
    heads,
    tails,
    both_ways,
    parents,
    levels,
    last_levels,
    unreached,
    lanes,
    offences,
):
    one = np.int32(1)
    offence = FINE
    above = np.empty(2 * _PIECE_EDGES + 1, np.uint32)
    below = np.empty(2 * _PIECE_EDGES + 1, np.uint32)
    begin, end = part_of(heads.size, part, n_parts)
    for first in range(begin, end, _PIECE_EDGES):
        last = min(end, first + _PIECE_EDGES)
        n = 0
        wrong = False
        for i in range(first, last):
            u, v = heads[i], tails[i]
            down = up = far = far_back = False
            for t in range(len(lanes)):
                at, other = np.int32(levels[u, t]), np.int32(levels[v, t])
                step = other - at
                down |= step == one
                up |= step == -one
                far |= (step > one) & (at < last_levels[t])
                far_back |= (step < -one) & (other < last_levels[t])
            above[n], below[n] = u, v
            n += np.int64(down)
            above[n], below[n] = v, u
            n += np.int64(up & both_ways)
            wrong |= far | (far_back & both_ways)
        n_own = 0
        for j in range(n):
            u, v = above[j], below[j]
            own = False
            for t in range(len(lanes)):
                own |= parents[v, t] == u
            above[n_own], below[n_own] = u, v
            n_own += np.int64(own)
        for j in range(n_own):
            u, v = above[j], below[j]
            for t in range(len(lanes)):
                if parents[v, t] == u:
                    parents[v, t] = SEEN
        if wrong:
            found = _first_breaks(
                heads, tails, first, last, both_ways, levels, last_levels, unreached
            )
            offence = min(offence, found)
    offences[part] = offence


@kernel
def check_edges(heads, tails, both_ways, parents, levels, last_levels, unreached, lanes, n_threads):
    """The first offence of some edges against all trees; the trees' own edges become SEEN.

    ``lanes`` has an entry for each tree: of a tuple, the compiler knows the length, and unrolls the
    loops over one tree; those over many, whose lanes are an array, it turns into vectors.

    An edge within a level, or between others than neighbours, is no edge to a parent. Those
    that may be are picked out first, then looked up, then marked, all without a branch that depends
    on what was loaded: so the misses of many edges overlap.
    """
    offences = np.full(n_threads, FINE)
    arguments = (
        heads, tails, both_ways, parents, levels, last_levels, unreached, lanes, offences,
    )  # fmt: skip
    in_parallel(_check_edges, n_threads, arguments)
    return offences.min()


@inlined
def _check_seen(part, n_parts, parents, offences):
    first, last = part_of(parents.shape[0], part, n_parts)
    offence = FINE
    for v in range(first, last):
        for t in range(parents.shape[1]):
            if parents[v, t] != NONE and parents[v, t] != SEEN:
                offence = min(offence, _offence(v, t, NOT_AN_EDGE))
    offences[part] = offence


@kernel
def check_seen(parents, n_threads):
    """The first vertex whose edge from its parent was not among the edges."""
    offences = np.full(n_threads, FINE)
    in_parallel(_check_seen, n_threads, (parents, offences))
    return offences.min()


def decode_tree_offence(offence: int) -> tuple[int, int, int]:
    """Vertex, tree and rule of an offence among trees."""
    place, rule = decode_offence(offence)
    return (*divmod(place, MOST_TREES), rule)


def decode_offence(offence: int) -> tuple[int, int]:
    """Row and rule of an offence."""
    return divmod(int(offence), _CODES)
