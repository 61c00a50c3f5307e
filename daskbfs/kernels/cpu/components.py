"""Connected components over the rows of one partition, on the CPU: trees that are hooked together.

``label`` holds, by global id, a vertex above in the same component, or the vertex itself if it is
the root of its tree; what is above always has a lower id, so there are no cycles. Vertices are
global ids, and a partition's rows are those from ``first`` on.
Method: Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018), with a shorter beginning. The first neighbour
of a row is a hub, or has the lowest id: if every row is hooked to it, which takes no atomic
operation and reads no arc, few trees are left, and many graphs have most of their rows in one. The
others mostly come to it when the roots alone are linked, to a few neighbours each. Edges need to
be looked at from one end only, so rows of that tree are skipped, and their arcs never read.

Any number of threads and processes may link and compress one forest at once: a root is hooked by
compare-and-swap, and compressing changes no root. The GPU's kernels have the same names and
arguments: :mod:`daskbfs.kernels.gpu.components`.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import atomic_add, compare_and_swap, shared_counter
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel
from daskbfs.kernels.vertex_numbers import NONE

_PIECE_ROWS = 2**10  # whose arcs a thread looks at at once; long rows come together
_PIECE_LABELS = 2**14
_1 = np.uint64(1)
_NONE = np.uint32(NONE)


@inlined
def _root_of(label, vertex):
    """The root of a vertex's tree."""
    above = label[vertex]
    while above != vertex:
        vertex = above
        above = label[vertex]
    return vertex


@inlined
def _link(label, u, v):
    """Make two vertices' trees one: the higher root gets the lower vertex above it."""
    a, b = label[u], label[v]
    while a != b:
        if a < b:
            a, b = b, a
        above = label[a]
        if above == a:
            if compare_and_swap(label, np.intp(a), a, b):
                return
            above = label[a]
        a = above


@inlined
def _hook_pieces(part, n_parts, out_hub, into_hub, first, label, claimed):
    n_rows = out_hub.size
    piece = atomic_add(claimed, 0, 1)
    while piece * _PIECE_LABELS < n_rows:
        begin = np.uint64(piece * _PIECE_LABELS)
        end = np.uint64(min(n_rows, (piece + 1) * _PIECE_LABELS))
        for row in range(begin, end):
            vertex = np.uint32(first + row)
            above = out_hub[row] if out_hub[row] < into_hub[row] else into_hub[row]
            label[first + row] = above if above < vertex else vertex
        piece = atomic_add(claimed, 0, 1)


@kernel
def hook_rows(out_hub, into_hub, first, label, n_threads):
    """Begin a forest: hook each own row to its first neighbour, if that has a lower id."""
    n_parts = max(1, min(n_threads, out_hub.size // _PIECE_LABELS))
    arguments = (out_hub, into_hub, np.uint64(first), label, shared_counter())
    in_parallel(_hook_pieces, n_parts, arguments)


@inlined
def _compress_pieces(part, n_parts, first, n_rows, label, claimed):
    piece = atomic_add(claimed, 0, 1)
    while piece * _PIECE_LABELS < n_rows:
        begin = first + np.uint64(piece * _PIECE_LABELS)
        end = first + np.uint64(min(n_rows, (piece + 1) * _PIECE_LABELS))
        for vertex in range(begin, end):
            above = label[vertex]
            root = _root_of(label, above)
            if root != above:
                label[vertex] = root
        piece = atomic_add(claimed, 0, 1)


@kernel
def compress_rows(first, n_rows, label, n_threads):
    """Put the root of its tree directly above each of some vertices that follow each other.

    Pieces are claimed in ascending order, so what is above is mostly compressed already.
    """
    n_parts = max(1, min(n_threads, n_rows // _PIECE_LABELS))
    arguments = (np.uint64(first), n_rows, label, shared_counter())
    in_parallel(_compress_pieces, n_parts, arguments)


@inlined
def _link_pieces(
    part, n_parts, indptr, indices, hub, first, most, skipped, label, claimed, examined
):
    n_rows = indptr.size - 1
    looked_at = 0
    piece = atomic_add(claimed, 0, 1)
    while piece * _PIECE_ROWS < n_rows:
        begin = np.uint64(piece * _PIECE_ROWS)
        end = np.uint64(min(n_rows, (piece + 1) * _PIECE_ROWS))
        for row in range(begin, end):
            vertex = first + row
            if hub.size > 0 and hub[row] < vertex:
                continue
            e, last = np.uint64(indptr[row]), np.uint64(indptr[row + _1])
            last = min(last, e + most)
            while e < last and label[vertex] != skipped:
                looked_at += 1
                _link(label, vertex, np.uint64(indices[e]))
                e += _1
        piece = atomic_add(claimed, 0, 1)
    examined[part] = looked_at


@kernel
def link_rows(indptr, indices, hub, first, most, skipped, label, n_threads):
    """Link own rows to their first neighbours, so many of each; returns how many arcs that were.

    A row that is, or comes to be, directly below the vertex ``skipped`` is left as it is; so are
    rows whose first neighbour in ``hub``, if that is not empty, has a lower id.
    """
    n_parts = max(1, min(n_threads, (indptr.size - 1) // _PIECE_ROWS))
    examined = np.zeros(n_parts, np.int64)
    arguments = (
        indptr, indices, hub, np.uint64(first), np.uint64(most), np.uint32(skipped), label,
        shared_counter(), examined,
    )  # fmt: skip
    in_parallel(_link_pieces, n_parts, arguments)
    return examined.sum()


@kernel
def link_pairs(one, other, label):
    """Link vertices in pairs."""
    for i in range(one.size):
        _link(label, np.uint64(one[i]), np.uint64(other[i]))


@inlined
def _find_smallest(part, n_parts, label, place, smallest, component, claimed):
    n = place.size
    piece = atomic_add(claimed, 0, 1)
    while piece * _PIECE_LABELS < n:
        begin = np.uint64(piece * _PIECE_LABELS)
        end = np.uint64(min(n, (piece + 1) * _PIECE_LABELS))
        for vertex in range(begin, end):
            root = label[np.uint64(place[vertex])]
            component[vertex] = root
            known = smallest[root]
            while vertex < known:
                if compare_and_swap(smallest, np.intp(root), known, np.uint32(vertex)):
                    break
                known = smallest[root]
        piece = atomic_add(claimed, 0, 1)


@inlined
def _take_smallest(part, n_parts, place, no_place, smallest, component, claimed):
    n = place.size
    piece = atomic_add(claimed, 0, 1)
    while piece * _PIECE_LABELS < n:
        begin = np.uint64(piece * _PIECE_LABELS)
        end = np.uint64(min(n, (piece + 1) * _PIECE_LABELS))
        for vertex in range(begin, end):
            found = smallest[component[vertex]]
            component[vertex] = np.uint32(vertex) if place[vertex] == no_place else found
        piece = atomic_add(claimed, 0, 1)


@kernel
def name_components(label, place, no_place, smallest, component, n_threads):
    """The smallest vertex of each vertex's component, by vertices instead of global ids.

    ``place`` is the global id of each vertex; those that are components by themselves share
    ``no_place``, a padding row's. Without branches for these, which nobody could predict.
    ``smallest`` is scratch, as large as ``label``.
    """
    n_parts = max(1, min(n_threads, place.size // _PIECE_LABELS))
    smallest[:] = _NONE
    in_parallel(_find_smallest, n_parts, (label, place, smallest, component, shared_counter()))
    taking = (place, np.uint32(no_place), smallest, component, shared_counter())
    in_parallel(_take_smallest, n_parts, taking)
