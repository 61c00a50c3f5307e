"""What partitions tell each other of their forests, put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daskbfs.kernels.cpu.components import compress_rows, link_pairs

Pairs = tuple[np.ndarray, np.ndarray]
"""Vertices, and for each one that is in the same component."""


def join_pairs(told: Sequence[Pairs]) -> Pairs:
    """All vertices that were told of as connected with a lower one, and the lowest of each."""
    ones, others = (np.concatenate(columns) for columns in zip(*told, strict=True))
    vertices, places = np.unique(np.concatenate([ones, others]), return_inverse=True)
    label = np.arange(vertices.size, dtype=np.uint32)
    one, other = np.split(places.astype(np.uint32), 2)
    link_pairs(one, other, label)
    compress_rows(0, label.size, label, 1)
    hooked = label != np.arange(label.size)
    return vertices[hooked], vertices[label[hooked]]


def most_frequent(found: Sequence[tuple[int, float]]) -> int:
    """The root with the most rows, of those that partitions found; the lower of two."""
    rows: dict[int, float] = {}
    for root, n_rows in found:
        rows[root] = rows.get(root, 0.0) + n_rows
    return min(rows, key=lambda root: (-rows[root], root))
