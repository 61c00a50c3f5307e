"""How fast this machine reads items of an array at random."""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import ONE
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel

_MULTIPLIER, _INCREMENT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
_SHIFT = np.uint64(33)


@inlined
def _read_some(part, n_parts, items, n_reads, sums):
    total = np.uint64(0)
    state = np.uint64(part) + ONE
    mask = np.uint64(items.size - 1)
    for _ in range(n_reads // n_parts):
        state = state * _MULTIPLIER + _INCREMENT
        total += np.uint64(items[(state >> _SHIFT) & mask])
    sums[part] = total


@kernel
def read_at_random(items, n_reads, n_threads):
    """Read items that do not depend on each other; the array has a power of 2 of them."""
    sums = np.zeros(n_threads, np.uint64)
    in_parallel(_read_some, n_threads, (items, n_reads, sums))
    return sums.sum()
