"""The user's vertex ids, and the indices 0 to n - 1 that stand for them inside.

Ids that are dense (0 to n - 1, with not too many gaps) are their own indices; in formats that count
from 1 on, an id is its index plus one. Sparse ids (any integers from 0 to 2**63 - 1) are sorted,
and an id's index is its place among them.

Dense means: the largest id is below 2**20, or below four times the number of edges.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, Protocol

import numpy as np

from daskbfs.graph.edge_stream import EdgeStream
from daskbfs.kernels.ids import find_indices, id_table
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import MAX_VERTICES
from daskbfs.progress import Progress

_ALWAYS_DENSE = 2**20
_VERTICES_PER_EDGE = 4
_TABLE_BITS = 18


def as_integer(value: Any, name: str, rule: str = "it must be an integer") -> int:
    """The value, if it is an integer; a TypeError with its name otherwise."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r} is a {type(value).__name__}: {rule}") from None


class Ids(Protocol):
    """A numbering of vertices."""

    sequential: bool
    """Whether ids follow each other without a gap."""

    @property
    def n_vertices(self) -> int:
        """How many vertices there are."""

    first_id: int
    """What a stream's vertex 0 is called."""

    @property
    def largest(self) -> int:
        """The largest id; -1 without vertices."""

    @property
    def top(self) -> int:
        """The largest vertex that a stream can name; -1 without vertices."""

    @property
    def values(self) -> np.ndarray | None:
        """The ids in order of their indices; None when an id is its own index."""

    def indices(self, ends: np.ndarray) -> np.ndarray:
        """The indices of a stream's vertices: contiguous uint32, for which kernels are compiled."""

    def index(self, vertex: int) -> int:
        """The index of one id; ValueError when the graph has no such vertex."""


class DenseIds:
    """Vertices that follow each other, from 0 or, in some formats, from 1 on."""

    sequential = True

    def __init__(self, n_vertices: int, first_id: int = 0) -> None:
        self.n_vertices = n_vertices
        self.first_id = first_id

    @staticmethod
    def limit(n_edges: int) -> int:
        """The largest number of vertices for which ids count as dense."""
        return min(MAX_VERTICES, max(_ALWAYS_DENSE, _VERTICES_PER_EDGE * n_edges))

    @property
    def largest(self) -> int:
        return self.first_id + self.n_vertices - 1 if self.n_vertices else -1

    @property
    def top(self) -> int:
        return self.n_vertices - 1

    @functools.cached_property
    def values(self) -> np.ndarray | None:
        if self.first_id == 0:
            return None
        return np.arange(self.first_id, self.first_id + self.n_vertices, dtype=np.int64)

    def indices(self, ends: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(ends).astype(np.uint32, copy=False)

    def index(self, vertex: int) -> int:
        if not 0 <= vertex - self.first_id < self.n_vertices:
            what = f"vertices are {self.first_id} to {self.largest}"
            raise ValueError(
                f"vertex {vertex} is not in the graph: {what if self.n_vertices else 'it is empty'}"
            )
        return int(vertex) - self.first_id


class SparseIds:
    """Vertices with ids of the user's own making."""

    sequential = False
    first_id = 0

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.ascontiguousarray(values, np.int64)
        self._shift = max(0, int(self.largest).bit_length() - _TABLE_BITS)
        self._table = np.empty((max(0, self.largest) >> self._shift) + 2, np.int64)
        id_table(self.values, self._shift, self._table)

    @property
    def n_vertices(self) -> int:
        return self.values.size

    @property
    def largest(self) -> int:
        return int(self.values[-1]) if self.values.size else -1

    @property
    def top(self) -> int:
        return self.largest

    def indices(self, ends: np.ndarray) -> np.ndarray:
        found = np.empty(ends.size, np.uint32)
        wanted = np.ascontiguousarray(ends, np.int64)
        if find_indices(self.values, self._shift, self._table, wanted, found, n_threads()):
            raise ValueError("an edge has a vertex id that was not there when ids were collected")
        return found

    def index(self, vertex: int) -> int:
        place = int(np.searchsorted(self.values, vertex))
        if place == self.n_vertices or self.values[place] != vertex:
            raise ValueError(
                f"vertex {vertex} is not in the graph: its {self.n_vertices} vertices have ids "
                f"from {self.values[0]} to {self.largest}, not all of them taken"
            )
        return place


def collect_ids(stream: EdgeStream, progress: Progress) -> tuple[np.ndarray, int]:
    """All ids that occur in a stream, sorted, and the number of edges.

    Holds at most about twice as many ids meanwhile.
    """
    known = np.empty(0, np.int64)
    pending: list[np.ndarray] = []
    n_pending = n_read = 0
    for heads, tails in stream.blocks():
        for ends in (heads, tails):
            if ends.size and int(ends.max()) > np.iinfo(np.int64).max:
                raise ValueError(f"vertex id {int(ends.max())} is too large: ids end at 2**63 - 1")
            if ends.size and int(ends.min()) < 0:
                raise ValueError(
                    f"vertex id {int(ends.min())} is negative: vertex ids are 0 or more"
                )
            fresh = np.unique(ends.astype(np.int64, copy=False))
            pending.append(fresh)
            n_pending += fresh.size
        if n_pending > max(known.size, 2**22):
            known, pending, n_pending = np.unique(np.concatenate([known, *pending])), [], 0
        n_read += heads.size
        progress("collecting vertex ids", n_read, stream.n_edges)
    return np.unique(np.concatenate([known, *pending])), n_read
