"""The state of one search on one partition, and buffers that serve one search after the other."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass

import numpy as np

from daskbfs.graph import Graph
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.types import NONE

_SPARE_ARRAYS = 2


@dataclass(slots=True)
class Frontier:
    """The vertices found in the last level: a queue, a bitmap, or both."""

    size: int
    queue: np.ndarray | None = None
    bitmap: np.ndarray | None = None


class Lease:
    """What one search writes to; ``parent`` leaves with the result, the rest is used again."""

    __slots__ = ("bitmaps", "parent", "queues", "visited")

    def __init__(self, n_padded: int) -> None:
        n_words = n_padded // WORD_BITS
        self.visited = np.empty(n_words, np.uint64)
        self.bitmaps = [np.empty(n_words, np.uint64) for _ in range(2)]
        self.queues = [np.empty(n_padded, np.uint32) for _ in range(2)]
        self.parent = np.empty(0, np.uint32)

    def begin(self, graph: Graph, source_row: int, parent: np.ndarray) -> Frontier:
        """Start a search: only the source and the padding rows are visited."""
        self.parent = parent
        parent[graph.n_rows :] = NONE
        self.visited[:] = 0
        self.visited[-1] = ~np.uint64(0) << np.uint64(graph.n_rows % WORD_BITS)
        self.visited[source_row // WORD_BITS] |= np.uint64(1) << np.uint64(source_row % WORD_BITS)
        parent[source_row] = graph.original_index[source_row]
        self.queues[0][0] = source_row
        return Frontier(1, queue=self.queues[0])

    def spare_queue(self, used: np.ndarray | None) -> np.ndarray:
        """The queue that is not in use."""
        return self.queues[1] if used is self.queues[0] else self.queues[0]

    def spare_bitmap(self, used: np.ndarray | None) -> np.ndarray:
        """The bitmap that is not in use."""
        return self.bitmaps[1] if used is self.bitmaps[0] else self.bitmaps[0]

    def is_visited(self, row: int) -> bool:
        """Whether the search has reached a row."""
        word = int(self.visited[row // WORD_BITS])
        return bool(word >> row % WORD_BITS & 1)


class Recycler:
    """Hands out arrays, again and again, but never one that somebody still refers to.

    Fresh memory costs a page fault every few kilobytes, many times what it costs to fill it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrays: list[np.ndarray] = []

    def take(self, size: int, dtype: type[np.generic]) -> np.ndarray:
        """An array with arbitrary contents."""
        with self._lock:
            for i in range(len(self._arrays)):
                if (
                    self._arrays[i].size == size
                    and self._arrays[i].dtype == dtype
                    and sys.getrefcount(self._arrays[i]) <= _REFERENCES_OF_AN_IDLE_ARRAY
                ):
                    return self._arrays[i]
            array = np.empty(size, dtype)
            if len(self._arrays) >= 2 * _SPARE_ARRAYS:
                self._arrays.pop(0)
            self._arrays.append(array)
            return array


def _references_of_an_idle_array() -> int:
    """What getrefcount says of an array that only a list refers to; interpreters differ."""
    arrays = [np.empty(0)]
    return sys.getrefcount(arrays[0])


_REFERENCES_OF_AN_IDLE_ARRAY = _references_of_an_idle_array()


class LeasePool:
    """Leases of one graph that wait for their next search."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Lease] = []
        self.arrays = Recycler()

    @classmethod
    def of(cls, graph: Graph) -> LeasePool:
        """The pool of a graph."""
        if graph.pool is None:
            graph.pool = cls()
        return graph.pool

    def acquire(self, graph: Graph) -> Lease:
        """A lease that nobody else uses."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Lease(graph.original_index.size)

    def release(self, lease: Lease) -> None:
        """Keep a lease for the next search; its parents belong to the result."""
        lease.parent = np.empty(0, np.uint32)
        with self._lock:
            if len(self._idle) < _SPARE_ARRAYS:
                self._idle.append(lease)
