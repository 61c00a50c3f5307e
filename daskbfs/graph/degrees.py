"""The first pass of Kernel 1: degrees, and whether the graph fits the memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from daskbfs.graph.edge_stream import Block, EdgeStream
from daskbfs.graph.vertex_ids import DenseIds, Ids, SparseIds
from daskbfs.kernels import construction as build
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import MAX_VERTICES
from daskbfs.machine import hardware
from daskbfs.progress import Progress

_BYTES_PER_VERTEX = 32  # counts, order, and the columns over rows
_BYTES_PER_ARC = 4
_BLOCK_BYTES = 2**28  # blocks in flight


@dataclass(slots=True)
class Counts:
    """What the first pass learned."""

    ids: Ids
    directed: bool
    out_degree: np.ndarray
    in_degree: np.ndarray
    """Of undirected graphs, ``out_degree`` itself."""
    loops: np.ndarray
    known: bool
    """Whether the ids were told, and not found."""
    n_edges: int = 0
    making_seconds: float | None = None
    """Of the pass, those in which edges were made."""

    @classmethod
    def of(cls, ids: Ids, directed: bool, *, known: bool) -> Counts:
        n = ids.n_vertices
        out_degree = np.zeros(n, np.uint32)
        in_degree = np.zeros(n, np.uint32) if directed else out_degree
        return cls(ids, directed, out_degree, in_degree, np.zeros(n, np.uint32), known)

    @property
    def too_sparse(self) -> bool:
        """Whether ids that were found are too few for their range."""
        return not self.known and self.ids.n_vertices > DenseIds.limit(self.n_edges)

    @property
    def degree(self) -> np.ndarray:
        return self.out_degree + self.in_degree if self.directed else self.out_degree

    def grow(self, n_vertices: int) -> None:
        """Take arrays for more vertices."""
        self.ids = DenseIds(n_vertices)
        self.out_degree = np.concatenate(
            [self.out_degree, np.zeros(n_vertices - self.out_degree.size, np.uint32)]
        )
        self.in_degree = (
            np.concatenate([self.in_degree, np.zeros(n_vertices - self.in_degree.size, np.uint32)])
            if self.directed
            else self.out_degree
        )
        self.loops = np.concatenate([self.loops, np.zeros(n_vertices - self.loops.size, np.uint32)])

    def add(self, block: Block) -> None:
        """Count a block of edges."""
        heads, tails = (self.ids.indices(ends) for ends in block)
        build.count_degrees(heads, tails, self.out_degree, self.in_degree, self.loops, n_threads())
        self.n_edges += heads.size


def tally(
    stream: EdgeStream, directed: bool, progress: Progress, ids: Ids | None = None
) -> Counts | None:
    """The first pass. Without ``ids``, they are found; None as soon as they cannot be dense."""
    declared = stream.n_vertices
    if ids is None and declared is not None:
        ids = DenseIds(declared, stream.first_id)
    counts = Counts.of(ids or DenseIds(0), directed, known=ids is not None)
    limit = DenseIds.limit(stream.n_edges)
    before = stream.seconds
    for heads, tails in stream.blocks():
        top = largest_id(heads, tails, counts.n_edges)
        if declared is not None:
            if top >= declared:
                first = stream.first_id
                raise ValueError(
                    f"vertex {first + top} is out of range: vertices were declared to be "
                    f"{first} to {first + declared - 1}"
                )
        elif counts.known:
            if top > counts.ids.top:
                raise change_error("the stream")
        elif top >= limit:
            return None
        elif top >= counts.ids.n_vertices:
            counts.grow(top + 1)
        counts.add((heads, tails))
        progress("counting degrees", counts.n_edges, stream.n_edges)
    if before is not None:
        counts.making_seconds = (stream.seconds or 0.0) - before
    return counts


def merge_counts(tallies: Sequence[Counts]) -> Counts:
    """What several workers counted in portions of one stream."""
    widest = max(tallies, key=lambda counts: counts.ids.n_vertices)
    total = Counts.of(widest.ids, widest.directed, known=widest.known)
    for counts in tallies:
        n = counts.ids.n_vertices
        total.out_degree[:n] += counts.out_degree
        total.loops[:n] += counts.loops
        if total.directed:
            total.in_degree[:n] += counts.in_degree
        total.n_edges += counts.n_edges
    return total


def choose_ids(values: np.ndarray, n_edges: int) -> Ids:
    """Ids that were collected: sparse ones, or dense after all."""
    largest = int(values[-1]) if values.size else -1
    return DenseIds(largest + 1) if largest < DenseIds.limit(n_edges) else SparseIds(values)


def largest_id(heads: np.ndarray, tails: np.ndarray, n_before: int) -> int:
    """The largest id of a block; negative ones are refused."""
    if heads.size == 0:
        return -1
    for ends in (heads, tails):
        if ends.dtype.kind == "i" and ends.min() < 0:
            place = int(np.flatnonzero(ends < 0)[0])
            raise ValueError(
                f"edge {n_before + place} has the vertex id {ends[place]}: vertex ids are 0 or more"
            )
    return int(max(heads.max(), tails.max()))


def require_construction_memory(n_vertices: int, n_edges: int) -> None:
    """Refuse what can't fit, before anything large is allocated."""
    check_vertices(n_vertices)
    hardware.require_memory(
        construction_bytes(n_vertices, n_edges),
        f"a graph of {n_vertices} vertices and {n_edges} edges",
        "take a smaller graph, or a machine with more memory",
    )


def check_vertices(n_vertices: int) -> None:
    """Refuse more vertices than can be numbered."""
    if n_vertices > MAX_VERTICES:
        raise ValueError(
            f"a graph of {n_vertices} vertices is too large: "
            f"at most {MAX_VERTICES} (2**32 less a few) vertices can be numbered"
        )


def construction_bytes(n_vertices: int, n_edges: int) -> int:
    """About how much memory the construction of a graph takes at its peak."""
    return _BYTES_PER_VERTEX * n_vertices + 2 * _BYTES_PER_ARC * n_edges + _BLOCK_BYTES


@contextlib.contextmanager
def name_errors(name: str) -> Iterator[None]:
    """Whatever is wrong with edges, with the name of what they are those of."""
    try:
        yield
    except (ValueError, MemoryError) as error:
        if name in str(error):
            raise
        kind = MemoryError if isinstance(error, MemoryError) else ValueError
        raise kind(f"{name}: {error}") from error


def change_error(name: str) -> ValueError:
    """The error for a stream that differs from one pass to the next."""
    return ValueError(
        f"{name} gave other edges when it was read the second time: it must not change meanwhile"
    )
