"""What steps of a search share: lookups of one vertex, and the end of a bottom-up word."""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import ONE, popcount
from daskbfs.kernels.compile import inlined


@inlined
def bit_of(bitmap, vertex):
    """The bit of a vertex in a bitmap seen as uint32: 0 or 1, as a word."""
    return np.uint64((bitmap[vertex >> np.uint32(5)] >> (vertex & np.uint32(31))) & np.uint32(1))


@inlined
def bit_of_word(vertex):
    """A vertex's bit in its word of a bitmap."""
    return ONE << np.uint64(vertex & np.uint32(63))


@inlined
def name_of(vertex, row):
    """What the user calls a row."""
    return vertex[row] if vertex.size > 0 else np.uint32(row)


@inlined
def enter_word(w, found, visited, next_frontier):
    """Visit the rows of a word that were found; returns how many."""
    visited[w] |= found
    next_frontier[w] = found
    return popcount(found)
