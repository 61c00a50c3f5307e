"""Where edges come from: anything that can hand them out, block by block, twice.

Kernel 1 reads a stream once to count and once to fill, so that the edges never stand in memory
beside the graph that is made of them.

Streams of text are parsed slowly, so the edges of the first pass are remembered, as far as a share
of the free memory holds them (``construction.remember-share``), in 32 bits where ids allow.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

BLOCK_EDGES = 2**22

Block = tuple[np.ndarray, np.ndarray]
"""Heads and tails of some edges: one-dimensional integer arrays of equal size."""


class EdgeStream(Protocol):
    """Edges in blocks; each call of ``blocks`` begins anew with the same edges."""

    @property
    def n_edges(self) -> int:
        """How many edges there are; an estimate will do."""

    @property
    def n_vertices(self) -> int | None:
        """How many vertices there are; None when only the edges can tell."""

    @property
    def first_id(self) -> int:
        """The user's id of vertex 0 of the blocks: some formats count from 1 on."""

    @property
    def slow(self) -> bool:
        """Whether reading the edges again takes longer than keeping them in memory."""

    @property
    def seconds(self) -> float | None:
        """Time spent on making edges so far; None where they are read, or in memory already."""

    def blocks(self) -> Iterator[Block]:
        """Hand out the edges; a block is valid until the next one is asked for."""


@runtime_checkable
class DivisibleStream(EdgeStream, Protocol):
    """A stream whose blocks can be made one by one, and are the same on every machine."""

    def every(self, first: int, step: int) -> Iterator[Block]:
        """Every ``step``-th block, from block ``first`` on."""


class PlainStream:
    """Base of streams that are made of no other: what most of them have in common."""

    __slots__ = ()

    @property
    def first_id(self) -> int:
        return 0

    @property
    def slow(self) -> bool:
        return False

    @property
    def seconds(self) -> float | None:
        return None


class BlockwiseStream(PlainStream, abc.ABC):
    """Base of divisible streams that are made of no other."""

    __slots__ = ()

    @abc.abstractmethod
    def every(self, first: int, step: int) -> Iterator[Block]:
        """Every ``step``-th block, from block ``first`` on; the others are not made."""

    def blocks(self) -> Iterator[Block]:
        return self.every(0, 1)


def block_ranges(
    n_edges: int, first: int, step: int, size: int = BLOCK_EDGES
) -> Iterator[tuple[int, int]]:
    """First edge and size of every ``step``-th block, from block ``first`` on."""
    for begin in range(first * size, n_edges, step * size):
        yield begin, min(size, n_edges - begin)


class StreamWrapper:
    """Base of streams that are made of another one, ``stream``, and are like it."""

    __slots__ = ()
    stream: EdgeStream

    @property
    def n_edges(self) -> int:
        return self.stream.n_edges

    @property
    def n_vertices(self) -> int | None:
        return self.stream.n_vertices

    @property
    def first_id(self) -> int:
        return self.stream.first_id

    @property
    def slow(self) -> bool:
        return self.stream.slow

    @property
    def seconds(self) -> float | None:
        return self.stream.seconds


@dataclass(frozen=True, slots=True)
class ArrayEdges(PlainStream):
    """Edges that already stand in memory."""

    heads: np.ndarray
    tails: np.ndarray
    n_vertices: int | None = None

    @property
    def n_edges(self) -> int:
        return self.heads.size

    def blocks(self) -> Iterator[Block]:
        for first in range(0, self.heads.size, BLOCK_EDGES):
            part = slice(first, first + BLOCK_EDGES)
            yield self.heads[part], self.tails[part]


class Remembered(StreamWrapper):
    """A stream that is slow to read: what the first pass read, the next ones have from memory.

    As far as that goes: a stream with more than ``n_bytes`` of edges is read anew each time.
    """

    slow = False  # what is not remembered now is not remembered by another either

    def __init__(self, stream: EdgeStream, n_bytes: int) -> None:
        self.stream = stream
        self._n_bytes = n_bytes
        self._blocks: list[Block] | None = None

    def blocks(self) -> Iterator[Block]:
        if self._blocks is not None:
            yield from self._blocks
            return
        kept: list[Block] = []
        small: list[Block] = []
        n_bytes_left, n_small = self._n_bytes, 0
        for block in self.stream.blocks():
            yield block
            if n_bytes_left < 0:
                continue
            heads, tails = (_compact(ends) for ends in block)
            n_bytes_left -= heads.nbytes + tails.nbytes
            small.append((heads, tails))
            n_small += heads.size
            if n_small >= BLOCK_EDGES:
                kept.append(_join_blocks(small))
                small, n_small = [], 0
            if n_bytes_left < 0:
                kept, small = [], []
        if n_bytes_left >= 0:
            self._blocks = kept + ([_join_blocks(small)] if small else [])


def _compact(ends: np.ndarray) -> np.ndarray:
    """A copy, in 32 bits where these suffice; what cannot be a vertex stays as it is."""
    fits = ends.size == 0 or (ends.min() >= 0 and ends.max() < 2**32)
    return ends.astype(np.uint32) if fits else ends.copy()


def _join_blocks(blocks: list[Block]) -> Block:
    """Some blocks as one."""
    heads, tails = (np.concatenate(ends) for ends in zip(*blocks, strict=True))
    return heads, tails


@dataclass(frozen=True, slots=True)
class Portion(StreamWrapper):
    """Every ``step``-th block of a stream, from block ``first`` on; the others are not made.

    ``n_edges`` are those of the whole stream, by which ids are judged.
    """

    stream: DivisibleStream
    first: int
    step: int

    def blocks(self) -> Iterator[Block]:
        return self.stream.every(self.first, self.step)


def collect_blocks(
    blocks: Iterable[Block], n_edges: int, progress: Callable[[int], None] = lambda done: None
) -> Block:
    """All heads and tails of some blocks, which have so many edges, as uint32."""
    heads, tails = np.empty(n_edges, np.uint32), np.empty(n_edges, np.uint32)
    done = 0
    for some_heads, some_tails in blocks:
        part = slice(done, done + some_heads.size)
        heads[part], tails[part] = some_heads, some_tails
        done += some_heads.size
        progress(done)
    return heads, tails


def split_stream(stream: EdgeStream, n: int) -> list[EdgeStream]:
    """A stream in up to ``n`` portions; in one, where its blocks cannot be made one by one."""
    if not isinstance(stream, DivisibleStream):
        return [stream]
    return [Portion(stream, first, n) for first in range(n)]


@dataclass(frozen=True, slots=True)
class BothWays(StreamWrapper):
    """Undirected edges as arcs: each there and back."""

    stream: EdgeStream

    @property
    def n_edges(self) -> int:
        return 2 * self.stream.n_edges

    def blocks(self) -> Iterator[Block]:
        for heads, tails in self.stream.blocks():
            yield heads, tails
            yield tails, heads


def edge_arrays(edges: Any) -> Block:
    """Heads and tails of an (m, 2) array, a pair of arrays or lists, or a sequence of pairs.

    Two tuples in a tuple are two pairs.

    Raises
    ------
    ValueError
        When the shape is another.
    TypeError
        When the ids are not integers.
    """
    if isinstance(edges, tuple) and len(edges) == 2 and not isinstance(edges[0], tuple):
        heads, tails = (_integers(np.asarray(e)) for e in edges)
        if heads.ndim != 1 or tails.ndim != 1:
            raise ValueError(
                f"heads of shape {heads.shape} and tails of shape {tails.shape} cannot be read: "
                "both must have one dimension"
            )
        if heads.shape != tails.shape:
            raise ValueError(
                f"heads have {heads.size} entries and tails {tails.size}: an edge has one of each"
            )
        return heads, tails
    array = np.asarray(edges)
    if array.size == 0 and array.ndim <= 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"edges of shape {array.shape} cannot be read: "
            "give an array of shape (m, 2) or a pair of arrays (heads, tails); "
            "weights do not matter to a search and must be left out"
        )
    array = _integers(array)
    return array[:, 0], array[:, 1]


def _integers(array: np.ndarray) -> np.ndarray:
    """The array, if it holds integers (an empty one may hold anything)."""
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.isnan(array).any():
        place = int(np.flatnonzero(np.isnan(array).any(axis=tuple(range(1, array.ndim))))[0])
        raise ValueError(f"edge {place} has the vertex id nan: vertex ids are integers")
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"vertex ids have dtype {array.dtype}: they must be integers, for example "
            "edges.astype(np.int64)"
        )
    return array


def require_finite(weights: np.ndarray) -> None:
    """Refuse weights that are not numbers: they are a sign of broken input.

    Searches ignore weights, but a nan says that something went wrong before.
    """
    weights = np.asarray(weights)
    if weights.dtype.kind in "fc" and np.isnan(weights).any():
        place = int(np.flatnonzero(np.isnan(weights))[0])
        raise ValueError(
            f"the weight of edge {place} is nan: weights must be numbers; drop such edges, "
            "or leave the weights out, since a search does not use them"
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a graph comes from: what it takes to build it, here or elsewhere."""

    stream: EdgeStream
    directed: bool
    name: str
