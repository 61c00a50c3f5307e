"""The vertices found in the last level: on their way in and out, and what several found merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daskbfs.kernels.buffers import ensure_owned
from daskbfs.kernels.frontier import list_bits, mark, unite, weigh
from daskbfs.partition.numbering import Numbering


@dataclass(slots=True)
class Frontier:
    """The vertices found in the last level, by global id: a list, a bitmap, or both."""

    size: int
    ids: np.ndarray | None = None
    """In any order; only the first ``size`` entries count."""
    words: np.ndarray | None = None
    first_word: int = 0
    """Where the bitmap begins."""
    listed: bool = False
    """Where partitions share memory, whether it is in their queue: nothing else is here then."""

    @property
    def shared(self) -> bool:
        """Whether it is where partitions share memory, and only its size is here."""
        return self.ids is None and self.words is None

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


def unite_found(numbering: Numbering, pieces: Sequence[Frontier]) -> tuple[Frontier, float]:
    """What was found in several places, without duplicates, and about how many arcs leave it."""
    total = sum(piece.size for piece in pieces)
    if 4 * total <= 8 * numbering.n_words:
        seen = numbering.arrays.take(numbering.n_words, np.uint64)
        seen[:] = 0
        union = np.empty(total, np.uint32)
        size, scout_count = 0, 0.0
        for piece in pieces:
            size, arcs = unite(
                ensure_owned(piece.as_list()), seen, numbering.mean_degree, union, size
            )
            scout_count += arcs
        return Frontier(size, ids=union[:size]), scout_count
    words = _bitmap_of(numbering, pieces)
    size, scout_count = weigh(words, numbering.mean_degree)
    return Frontier(size, words=words).smaller(numbering.n_words), scout_count


def join_found(numbering: Numbering, pieces: Sequence[Frontier]) -> Frontier:
    """What partitions found among their own rows: nothing can be there twice."""
    size = sum(piece.size for piece in pieces)
    if 4 * size <= 8 * numbering.n_words:
        return Frontier(size, ids=np.concatenate([piece.as_list() for piece in pieces]))
    return Frontier(size, words=_bitmap_of(numbering, pieces))


def _bitmap_of(numbering: Numbering, pieces: Sequence[Frontier]) -> np.ndarray:
    """A bitmap over all vertices of what was found."""
    words = np.zeros(numbering.n_words, np.uint64)
    for piece in pieces:
        if piece.words is None:
            mark(words, ensure_owned(piece.as_list()))
        else:
            there = words[piece.first_word : piece.first_word + piece.words.size]
            np.bitwise_or(there, piece.words, out=there)
    return words


def count_arcs(numbering: Numbering, degree: np.ndarray, found: Frontier) -> int:
    """How many arcs leave a frontier, counted: where rows are in no order, means say little."""
    if numbering.n_partitions == 1:  # the frontier is still where it was found
        get = numbering.memory.get
        found = Frontier(
            found.size,
            ids=None if found.ids is None else get(found.ids[: found.size]),
            words=None if found.words is None else get(found.words),
        )
    return int(degree[found.as_list()].sum(dtype=np.int64))
