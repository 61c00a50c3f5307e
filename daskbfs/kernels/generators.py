"""Random edges, each a pure function of (seed, edge number): any block can be made anywhere.

Random words come from splitmix64's finalizer over a counter (Steele, Lea, Flood, OOPSLA 2014).
A Kronecker edge descends ``scale`` levels of a 2 x 2 matrix of probabilities; four levels at a
time are drawn by one look-up in an alias table (Walker 1977; Vose 1991), and labels are permuted
by a bijection on ``scale`` bits, so that no permutation table is needed.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel, part_of

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ROUNDS = 3

GROUP_LEVELS = 4
GROUP_CODES = 4**GROUP_LEVELS
_LEVELS = np.uint32(GROUP_LEVELS)
_CODE_MASK = np.uint32(GROUP_CODES - 1)
_HALF_CODE_MASK = np.uint32(2**GROUP_LEVELS - 1)
_CODE_BITS = np.uint32(2 * GROUP_LEVELS)
THRESHOLD_BITS = 32 - 2 * GROUP_LEVELS  # an alias table's entry: threshold above, alias below


@inlined
def mix(x):
    """Turn a counter (uint64) into a random word."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@inlined
def scramble(label, odd, mask, shift):
    """Map labels 0..mask one to one onto labels 0..mask."""
    x = np.uint64(label)
    for i in range(_ROUNDS):
        x = (x * odd[2 * i] + odd[2 * i + 1]) & mask
        x ^= x >> shift
    return np.uint32(x)


@inlined
def _descend(draw, table, code_mask):
    """One draw (uint32) from an alias table: the quadrants of a group of levels."""
    slot = draw & code_mask
    entry = table[slot]
    return slot if (draw >> _CODE_BITS) < (entry >> _CODE_BITS) else entry & _CODE_MASK


@inlined
def _kronecker_edges(part, n_parts, begin, heads, tails, scale, key, odd, full_table, left_table):
    n_groups = scale // GROUP_LEVELS
    n_left = np.uint32(scale % GROUP_LEVELS)
    words_per_edge = np.uint64((n_groups + 2) // 2)
    left_mask = np.uint32((1 << (2 * (scale % GROUP_LEVELS))) - 1)
    left_half_mask = np.uint32((1 << (scale % GROUP_LEVELS)) - 1)
    mask = np.uint64((1 << scale) - 1)
    shift = np.uint64(max(1, scale // 2))
    first, last = part_of(heads.size, part, n_parts)
    for i in range(first, last):
        counter = key + np.uint64(begin + i) * words_per_edge * GOLDEN
        word = mix(counter)
        code = _descend(np.uint32(word), left_table, left_mask)
        head = code >> n_left
        tail = code & left_half_mask
        for g in range(1, n_groups + 1):
            if g & 1:
                word >>= np.uint64(32)
            else:
                counter += GOLDEN
                word = mix(counter)
            code = _descend(np.uint32(word), full_table, _CODE_MASK)
            head = (head << _LEVELS) | (code >> _LEVELS)
            tail = (tail << _LEVELS) | (code & _HALF_CODE_MASK)
        heads[i] = scramble(head, odd, mask, shift)
        tails[i] = scramble(tail, odd, mask, shift)


@kernel
def kronecker_edges(first, heads, tails, scale, key, odd, full_table, left_table, n_threads):
    """Make edges ``first`` to ``first + heads.size - 1``.

    ``full_table`` draws a full group of levels, ``left_table`` the levels that remain. Each draw
    takes half a random word.
    """
    arguments = (first, heads, tails, scale, key, odd, full_table, left_table)
    in_parallel(_kronecker_edges, n_threads, arguments)


@inlined
def _uniform_edges(part, n_parts, begin, heads, tails, scale, key):
    down = np.uint64(64 - scale)
    mask = np.uint64(2**scale - 1)
    first, last = part_of(heads.size, part, n_parts)
    for i in range(first, last):
        word = mix(key + np.uint64(begin + i) * GOLDEN)
        heads[i] = np.uint32((word >> down) & mask)
        tails[i] = np.uint32(word & mask)


@kernel
def uniform_edges(first, heads, tails, scale, key, n_threads):
    """Make edges ``first`` to ``first + heads.size - 1``, each end uniform over 2**scale."""
    in_parallel(_uniform_edges, n_threads, (first, heads, tails, scale, key))
