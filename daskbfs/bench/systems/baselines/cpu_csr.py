"""A serial search over compressed sparse rows, vertices without edges left out.

Method: SEI's "Single CPU, CSR", after Graph500's seq-csr.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskbfs.bench.systems.baselines import Edges
from daskbfs.kernels.compile import kernel


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows of the vertices that have edges, by packed ids."""

    indptr: np.ndarray
    indices: np.ndarray
    vertex: np.ndarray
    """Of each packed id."""
    packed: np.ndarray
    """Of each vertex; meaningless for those without edges."""

    def unpacked(self, source: int, parent: np.ndarray) -> np.ndarray:
        """Parents by vertex, of parents by packed id; a source without edges is its own tree."""
        found = np.full(self.packed.size, -1, np.int64)
        reached = parent >= 0
        found[self.vertex[reached]] = self.vertex[parent[reached]]
        found[source] = source
        return found

    def start(self, source: int) -> int | None:
        """The packed id of a source; None where it has no edges."""
        row = int(self.packed[source])
        there = row < self.vertex.size and self.vertex[row] == source
        return row if there else None


def kernel1(edges: Edges) -> Packed:
    """Both directions of all edges, sorted, without duplicates; then ids without gaps."""
    there = edges.heads != edges.tails
    heads, tails = (ends[there].astype(np.uint64) for ends in (edges.heads, edges.tails))
    arcs = np.concatenate([heads << np.uint64(32) | tails, tails << np.uint64(32) | heads])
    arcs.sort()
    if arcs.size:
        arcs = arcs[np.concatenate([[True], arcs[1:] != arcs[:-1]])]
    ends = (arcs >> np.uint64(32)).astype(np.int64)
    degree = np.bincount(ends, minlength=edges.n_vertices)
    vertex = np.flatnonzero(degree).astype(np.uint32)
    packed = np.zeros(edges.n_vertices, np.uint32)
    packed[vertex] = np.arange(vertex.size, dtype=np.uint32)
    indptr = np.zeros(vertex.size + 1, np.int64)
    np.cumsum(degree[vertex], out=indptr[1:])
    return Packed(indptr, packed[arcs & np.uint64(2**32 - 1)], vertex, packed)


def kernel2(rows: Packed, source: int) -> np.ndarray:
    """Visit level by level."""
    parent = np.full(rows.vertex.size, -1, np.int64)
    start = rows.start(source)
    if start is not None:
        search(rows.indptr, rows.indices, start, parent, np.empty(rows.vertex.size, np.uint32))
    return rows.unpacked(source, parent)


@kernel
def search(indptr, indices, source, parent, visit):
    """Fill ``parent``, all -1, from a source; ``visit`` gets the vertices in their order."""
    parent[source] = source
    visit[0] = source
    done, size = 0, 1
    while done < size:
        level_end = size
        while done < level_end:
            row = visit[done]
            done += 1
            for e in range(indptr[row], indptr[row + 1]):
                neighbour = indices[e]
                if parent[neighbour] < 0:
                    parent[neighbour] = row
                    visit[size] = neighbour
                    size += 1
