"""What must hold of the GPU's kernels, wherever they run."""

from __future__ import annotations

import numpy as np

import daskbfs
from daskbfs.kernels.gpu import bfs as gpu


def check_tree(graph, source, parent):
    """A valid tree that reaches what the CPU reaches, at the same levels."""
    expected = daskbfs.bfs(graph, source, driver="direct")
    daskbfs.validate(graph, source, parent, expected.level)


def check_bitmap_and_queue(n_words):
    """A bitmap becomes the queue of its vertices, and a queue the bitmap that it came from."""
    words = np.random.default_rng(n_words).integers(0, 2**63, n_words, dtype=np.uint64)
    queue, again = np.empty(64 * n_words, np.uint32), np.empty_like(words)
    size = gpu.bitmap_to_queue(words, queue, 1)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert np.array_equal(queue[:size], np.flatnonzero(bits))
    gpu.queue_to_bitmap(queue, size, again, 1)
    assert np.array_equal(words, again)
