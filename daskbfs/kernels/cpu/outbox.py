"""Rows that a thread finds stay in its outbox, and are appended to the shared queue together."""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import atomic_add
from daskbfs.kernels.compile import inlined

OUTBOX_ROWS = 1024


@inlined
def append(queue, tail, outbox, size):
    """Move a thread's findings to the shared queue."""
    place = np.uint64(atomic_add(tail, 0, np.int64(size)))
    for i in range(size):
        queue[place + i] = outbox[i]
