"""A serial search over linked lists that run through the edge list.

``head`` has the last place in the edge list where a vertex stands, ``following`` for each place the
one before it. Place ``2 e`` is the head of edge ``e`` and ``2 e + 1`` its tail, so the neighbour at
a place is at the other place of its edge.
Method: SEI's "Single CPU, List", after Graph500's seq-list.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskbfs.bench.systems.baselines import Edges
from daskbfs.kernels.compile import inlined, kernel


@dataclass(frozen=True, slots=True)
class Lists:
    """The edge list, and the lists of places through it; -1 ends a list."""

    edges: Edges
    head: np.ndarray
    following: np.ndarray


def kernel1(edges: Edges) -> Lists:
    """Link all places of each vertex."""
    head = np.full(edges.n_vertices, -1, np.int64)
    following = np.empty(2 * edges.heads.size, np.int64)
    _link(edges.heads, edges.tails, head, following)
    return Lists(edges, head, following)


def kernel2(lists: Lists, source: int) -> np.ndarray:
    """Visit level by level."""
    parent = np.full(lists.head.size, -1, np.int64)
    visit = np.empty(lists.head.size, np.uint32)
    ends = lists.edges.heads, lists.edges.tails
    _search(*ends, lists.head, lists.following, source, parent, visit)
    return parent


@inlined
def _end(heads, tails, place):
    """The vertex at a place of the edge list."""
    return tails[place >> 1] if place & 1 else heads[place >> 1]


@kernel
def _link(heads, tails, head, following):
    for place in range(following.size):
        vertex = _end(heads, tails, place)
        following[place] = head[vertex]
        head[vertex] = place


@kernel
def _search(heads, tails, head, following, source, parent, visit):
    parent[source] = source
    visit[0] = source
    done, size = 0, 1
    while done < size:
        level_end = size
        while done < level_end:
            vertex = visit[done]
            done += 1
            place = head[vertex]
            while place >= 0:
                neighbour = _end(heads, tails, place ^ 1)
                if parent[neighbour] < 0:
                    parent[neighbour] = vertex
                    visit[size] = neighbour
                    size += 1
                place = following[place]
