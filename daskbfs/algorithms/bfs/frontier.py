"""The vertices found in the last level, on their way in and out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskbfs.kernels.frontier import list_bits, mark


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
