"""The state of one search on one partition, and the frontiers that go in and out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from daskbfs.kernels.frontier import list_bits, mark
from daskbfs.partition import Partition
from daskbfs.pinned import Pinned


class StaleLease(RuntimeError):
    """A lease met a level that is not its next: a task ran twice, or a worker came back."""


@dataclass(slots=True)
class Frontier:
    """The vertices found in the last level, by global id: a list, a bitmap, or both."""

    size: int
    ids: np.ndarray | None = None
    """In any order; only the first ``size`` entries count."""
    words: np.ndarray | None = None
    first_word: int = 0
    """Where the bitmap begins."""

    @property
    def nbytes(self) -> int:
        """What it takes to send the frontier."""
        return 4 * self.size if self.words is None else self.words.nbytes

    def smaller(self, n_words: int) -> Frontier:
        """The frontier as a list or as a bitmap of some words, whichever is smaller."""
        if 4 * self.size <= 8 * n_words:
            return Frontier(self.size, ids=self.as_list())
        if self.words is not None:
            return Frontier(self.size, words=self.words, first_word=self.first_word)
        words = np.zeros(n_words, np.uint64)
        mark(words, self.as_list())
        return Frontier(self.size, words=words)

    def as_list(self) -> np.ndarray:
        """The vertices as a list."""
        if self.ids is not None:
            return self.ids[: self.size]
        ids = np.empty(self.size, np.uint32)
        list_bits(self.words, 64 * self.first_word, ids)
        return ids

    def holds(self, vertex: int) -> bool:
        """Whether a vertex is in the frontier."""
        if self.words is not None:
            return bool(int(self.words[vertex >> 6]) >> (vertex & 63) & 1)
        return bool((self.ids[: self.size] == vertex).any())  # type: ignore[index]


class LevelLease(Pinned):
    """The state of one attempt on one partition, which knows the level that it is ready for."""

    __slots__ = ("next_level", "worker")

    def __init__(self, worker: str | None) -> None:
        self.next_level = 0
        self.worker = worker

    @contextlib.contextmanager
    def level(self, level: int) -> Iterator[None]:
        """While a level is computed nobody may use the lease; nor after that failed."""
        self.check_level(level)
        self.next_level = _BUSY
        yield
        self.next_level = level + 1

    def check_level(self, level: int) -> None:
        """Refuse a level that is not the next."""
        if self.next_level != level:
            raise StaleLease(f"a lease for level {self.next_level} met level {level}")


_BUSY = -1


class Lease(LevelLease):
    """What one search writes to on one partition; arrays are over all global ids but for one.

    ``parent`` holds the parents of own rows, and becomes the result. Parents found for rows of
    other partitions are kept ``elsewhere``, their ids in ``claims``, until the owners are told.
    """

    __slots__ = (
        "bitmaps", "claims", "elsewhere", "missing", "parent", "queues", "visited",
    )  # fmt: skip

    def __init__(self, partition: Partition, worker: str | None) -> None:
        super().__init__(worker)
        numbering = partition.numbering
        take = partition.home.take
        self.visited = take(numbering.n_words, np.uint64)
        self.bitmaps = [take(numbering.n_words, np.uint64) for _ in range(2)]
        self.queues = [take(numbering.n_global, np.uint32) for _ in range(2)]
        self.parent = take(partition.n_padded, np.uint32)
        alone = numbering.n_partitions == 1
        self.elsewhere = take(0 if alone else numbering.n_global, np.uint32)
        self.missing = 0
        """Own rows that others found: visited, but without a parent yet."""
        self.claims: list[np.ndarray] = []

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
