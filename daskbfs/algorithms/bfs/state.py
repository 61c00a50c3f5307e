"""The state of one search on one partition.

``parent`` has the own rows only, and becomes the result. What a top-down step finds for rows of
other partitions stands in ``elsewhere`` until the end (at most 4 bytes a vertex), and ``claims``
says which these are. ``missing`` counts own rows that other partitions found, so a parent that
never arrives is noticed.
"""

from __future__ import annotations

import numpy as np

from daskbfs.engine.state import LevelState
from daskbfs.partition.partition import Partition


class SearchState(LevelState):
    """What one search writes to on one partition; arrays are over all global ids but ``parent``."""

    __slots__ = (
        "bitmaps", "claims", "elsewhere", "exact", "head", "marked", "missing", "parent", "queues",
        "tail", "visited",
    )  # fmt: skip

    def __init__(self, partition: Partition) -> None:
        super().__init__()
        numbering = partition.numbering
        take = partition.memory.take
        self.visited = take(numbering.n_words, np.uint64)
        self.bitmaps = [take(numbering.n_words, np.uint64) for _ in range(2)]
        self.queues = [take(numbering.n_global, np.uint32) for _ in range(2)]
        self.parent = take(partition.n_padded, np.uint32)
        alone = numbering.n_partitions == 1
        self.elsewhere = take(0 if alone else numbering.n_global, np.uint32)
        self.missing = 0
        """Own rows that others found: visited, but without a parent yet."""
        self.claims: list[np.ndarray] = []
        self.exact = False
        """Whether ``parent`` is NONE where a row is unvisited; else ``visited`` alone tells."""
        self.head = self.tail = 0
        """Where the frontier begins and ends in the first queue, while levels slide through it."""
        self.marked = 0
        """How many rows of that queue ``visited`` knows of."""

    @property
    def arrays(self) -> list[np.ndarray]:
        """All of its memory."""
        return [self.visited, self.parent, self.elsewhere, *self.bitmaps, *self.queues]

    @property
    def nbytes(self) -> int:
        """How much that is."""
        return sum(array.nbytes for array in self.arrays)

    def spare_queue(self, used: np.ndarray | None) -> np.ndarray:
        """The queue that is not in use."""
        return self.queues[1] if used is self.queues[0] else self.queues[0]

    def spare_bitmap(self, used: np.ndarray | None) -> np.ndarray:
        """The bitmap that is not in use."""
        return self.bitmaps[1] if used is self.bitmaps[0] else self.bitmaps[0]
