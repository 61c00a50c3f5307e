"""Rows: for each vertex its neighbours, one behind the other (CSR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.construction import describe_rows


def pad_to_words(n_rows: int) -> int:
    """Rows and padding: whole words, with at least one row of padding."""
    return (n_rows // WORD_BITS + 1) * WORD_BITS


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Adjacency by row: hubs come first, unless the graph's ``locality`` says otherwise."""

    indptr: np.ndarray
    indices: Any
    """An array or, on a GPU, :class:`daskbfs.kernels.gpu.arcs.Arcs`."""
    hub: np.ndarray
    mean_degree: np.ndarray
    n_long_rows: int

    @classmethod
    def of(cls, indptr: np.ndarray, indices: np.ndarray, no_hub: int | None = None) -> Rows:
        """Rows with the columns that follow from them.

        ``no_hub``, the hub of rows without neighbours, is a vertex that no search reaches.
        """
        n_rows = indptr.size - 1
        n_padded = pad_to_words(n_rows)
        no_hub = n_rows if no_hub is None else no_hub
        hub = np.empty(n_padded, np.uint32)
        mean_degree = np.zeros(n_padded // WORD_BITS, np.float32)
        n_long_rows = describe_rows(indptr, indices, hub, mean_degree, np.uint32(no_hub))
        return cls(indptr, indices, hub, mean_degree, int(n_long_rows))

    @property
    def n_rows(self) -> int:
        return self.indptr.size - 1

    @property
    def n_arcs(self) -> int:
        return self.indices.size

    @property
    def nbytes(self) -> int:
        return self.indptr.nbytes + self.indices.nbytes + self.hub.nbytes + self.mean_degree.nbytes

    def degree(self, row: int) -> int:
        """Number of neighbours of a row."""
        return int(self.indptr[row + 1]) - int(self.indptr[row])

    def lengths(self, some: np.ndarray) -> np.ndarray:
        """How many arcs each of some rows has."""
        lengths: np.ndarray = self.indptr[some.astype(np.int64) + 1] - self.indptr[some]
        return lengths
