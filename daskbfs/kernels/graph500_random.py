"""The random numbers and edges of the Graph500 reference code, number for number.

A multiple recursive generator (L'Ecuyer, Blouin, Couture 1993) of order 5,
``z[n] = 107374182 z[n-1] + 104480 z[n-5]  (mod 2**31 - 1)``, newest first in the state. Edge k
starts ``k * 2**64`` numbers after the seed, so any edge can be made without those before it: a skip
is a product with a power of the transition matrix, and powers are tabled by byte of k.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel, part_of

MODULUS = 2**31 - 1
ORDER = 5
_NEWEST, _OLDEST = 107374182, 104480
_P = np.uint64(MODULUS)
_BITS = np.uint64(31)
_A1, _A5 = np.uint64(_NEWEST), np.uint64(_OLDEST)

_DENOMINATOR = np.uint64(10000)
_BIASED = np.uint64(MODULUS % 10000)  # smaller numbers would favour small remainders
_B, _C, _A = (
    np.uint64(1900),
    np.uint64(3800),
    np.uint64(9500),
)  # running sums, the order of the code

_SCRAMBLE_1 = np.uint64(0x4519840211493211)
_SCRAMBLE_2 = np.uint64(0x3050852102C843A5)
_MASKS = tuple(
    np.uint64(mask)
    for mask in (
        0x5555555555555555,
        0x3333333333333333,
        0x0F0F0F0F0F0F0F0F,
        0x00FF00FF00FF00FF,
        0x0000FFFF0000FFFF,
    )
)

TABLED_BYTES = 5
MOST_EDGES = 256**TABLED_BYTES
"""Skips are tabled for so many bytes of an edge's number, so there are so many edges."""


def transition(exponent: int) -> np.ndarray:
    """The matrix that goes on by so many numbers."""
    power = np.zeros((ORDER, ORDER), np.uint64)
    power[0, 0], power[0, -1] = _NEWEST, _OLDEST
    power[1:, :-1] = np.eye(ORDER - 1, dtype=np.uint64)
    result = np.eye(ORDER, dtype=np.uint64)
    while exponent:
        if exponent & 1:
            result = product(result, power)
        power = product(power, power)
        exponent >>= 1
    return result


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of two transition matrices, or of one and a state, modulo 2**31 - 1."""
    modulus = np.uint64(MODULUS)
    by_row = left[:, :, None] * right.reshape(1, ORDER, -1) % modulus
    return (by_row.sum(1) % modulus).reshape(right.shape)


def skip_table() -> np.ndarray:
    """``table[byte, value]`` goes on by ``value * 256**byte`` edges."""
    table = np.empty((TABLED_BYTES, 256, ORDER, ORDER), np.uint64)
    for byte in range(TABLED_BYTES):
        one = transition(2 ** (64 + 8 * byte))
        table[byte, 0] = np.eye(ORDER, dtype=np.uint64)
        for value in range(1, 256):
            table[byte, value] = product(table[byte, value - 1], one)
    return table


@inlined
def _fold(x):
    """A number congruent to a uint64, below 2**34."""
    return (x & _P) + (x >> _BITS)


@inlined
def _reduce(x):
    """A number below 2**34 or so, modulo 2**31 - 1."""
    x = (x & _P) + (x >> _BITS)
    return x - _P if x >= _P else x


@inlined
def _advance(matrix, state):
    """Apply a transition to a state, in place."""
    z1, z2, z3, z4, z5 = state[0], state[1], state[2], state[3], state[4]
    for i in range(ORDER):
        first = matrix[i, 0] * z1 + matrix[i, 1] * z2 + matrix[i, 2] * z3
        second = matrix[i, 3] * z4 + matrix[i, 4] * z5
        state[i] = _reduce(_fold(first) + _fold(second))


@inlined
def _reversed_bits(x):
    for i in range(5):
        shift = np.uint64(1 << i)
        x = ((x >> shift) & _MASKS[i]) | ((x & _MASKS[i]) << shift)
    return (x >> np.uint64(32)) | (x << np.uint64(32))


@inlined
def _scramble(label, down, add, odd_1, odd_2):
    """Map labels of some bits one to one onto labels of as many."""
    x = _reversed_bits((label + add) * odd_1) >> down
    return np.uint32(_reversed_bits(x * odd_2) >> down)


@inlined
def _reference_edges(part, n_parts, first, heads, tails, scale, seed, table, value_0, value_1):
    down = np.uint64(64 - scale)
    add = value_0 + value_1
    odd_1, odd_2 = value_0 | _SCRAMBLE_1, value_1 | _SCRAMBLE_2
    one = np.uint64(1)
    begin, end = part_of(heads.size, part, n_parts)
    state = seed.copy()
    number = np.uint64(first + begin)
    for byte in range(TABLED_BYTES):
        _advance(table[byte, (number >> np.uint64(8 * byte)) & np.uint64(255)], state)
    for k in range(begin, end):
        z1, z2, z3, z4, z5 = state[0], state[1], state[2], state[3], state[4]
        head = np.uint64(0)
        tail = np.uint64(0)
        for _ in range(scale):
            drawn = np.uint64(0)
            while drawn < _BIASED:
                drawn = _reduce(_fold(_A1 * z1) + _fold(_A5 * z5))
                z1, z2, z3, z4, z5 = drawn, z1, z2, z3, z4
            draw = drawn % _DENOMINATOR
            # b: 1, c: 2, a: 0, d: 3; on the diagonal, c is flipped to b
            down_row = np.uint64((draw >= _B) & ((draw < _C) | (draw >= _A)))
            right = np.uint64((draw < _B) | (draw >= _A))
            flip = np.uint64((head == tail) & (down_row > right))
            head = (head << one) | (down_row ^ flip)
            tail = (tail << one) | (right | flip)
        heads[k] = _scramble(head, down, add, odd_1, odd_2)
        tails[k] = _scramble(tail, down, add, odd_1, odd_2)
        _advance(table[0, 1], state)


@kernel
def reference_edges(first, heads, tails, scale, seed, table, value_0, value_1, n_threads):
    """Make edges ``first`` to ``first + heads.size - 1``; ``seed`` is the state of edge 0."""
    arguments = (first, heads, tails, scale, seed, table, value_0, value_1)
    in_parallel(_reference_edges, n_threads, arguments)
