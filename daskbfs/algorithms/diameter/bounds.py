"""Which searches it takes to know the diameter of a component, and when these are enough.

A search from v with eccentricity e says of a vertex w at distance d that its eccentricity is e + d
at most (Takes, Kosters, *Determining the diameter of small world networks*, CIKM 2011). Vertices
whose upper bound is no larger than the longest distance found are ruled out. So are those at no
more than half of it from a chosen center: of two vertices farther apart, one lies beyond
(Crescenzi, Grossi, Habib, Lanzi, Marino, *On computing the diameter of real-world undirected
graphs*, TCS 2013). The center is the one of their 4-sweep.

Which vertex to search from next: the parent, in the center's tree, of the most vertices that are
left. Where its eccentricity is below the longest distance it rules all its children out, in one
search: p2p-Gnutella31 takes 1,425 searches so, and 6,900 where the vertices themselves are
searched, New York's roads 21 and 34.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from daskbfs.algorithms.bfs.result import BFSResult
from daskbfs.graph.graph import Outline

Sources = Generator[int | None, BFSResult, None]
"""Yields vertices to search from, and is sent what these searches found; None: that was all."""


class Bounds:
    """What searches have told of the distances in a component; vertices are indices here."""

    def __init__(self, component: np.ndarray) -> None:
        self.n_vertices = component.size
        self.left = component
        """Vertices that may be an end of a longer path than the longest known one."""
        self.upper = np.full(component.size, np.iinfo(np.int32).max, np.int32)
        """No vertex that is left has a larger eccentricity than this."""
        self.parent: np.ndarray | None = None
        """Of each vertex that is left, in the center's tree; None before there is a center."""
        self.longest = np.empty(0, np.int64)
        """A longest of the shortest paths found, as the user's vertices."""
        self.least_eccentricity = component.size
        self._from_center: np.ndarray | None = None

    @property
    def lower(self) -> int:
        """The diameter is at least this."""
        return max(0, self.longest.size - 1)

    @property
    def highest(self) -> int:
        """The diameter is at most this."""
        return max(self.lower, int(self.upper.max(initial=0)))

    @property
    def radius(self) -> int | None:
        """The radius, where it is known: it is half the diameter at least."""
        least = self.least_eccentricity
        return least if 2 * least <= self.lower + 1 else None

    def add(self, result: BFSResult) -> None:
        """Take in a search from a vertex of the component."""
        level = result.level
        eccentricity = int(level.max())
        self.least_eccentricity = min(self.least_eccentricity, eccentricity)
        if eccentricity > self.lower or not self.longest.size:
            self.longest = result.path(farthest(result))
        np.minimum(self.upper, eccentricity + level[self.left], out=self.upper)
        self._rule_out()

    def set_center(self, result: BFSResult) -> None:
        """Rule out what is near the source of a search, which is no end that is needed."""
        parent = result.parent[self.left]
        if result.graph.ids.values is not None:
            parent = np.searchsorted(result.graph.ids.values, parent)
        self.parent = parent
        self._from_center = result.level[self.left]
        self._rule_out()

    def _rule_out(self) -> None:
        may = self.upper > self.lower
        if self._from_center is not None:
            may &= 2 * self._from_center > self.lower
        if may.all():
            return
        self.left, self.upper = self.left[may], self.upper[may]
        if self.parent is not None and self._from_center is not None:
            self.parent, self._from_center = self.parent[may], self._from_center[may]


def farthest(result: BFSResult) -> int:
    """A vertex that is farthest from the source of a search."""
    return int(result.vertices[np.argmax(result.level)])


def choose_sources(graph: Outline, bounds: Bounds, first: BFSResult) -> Sources:
    """Vertices to search from, as long as any is left, after a first search."""
    result = first
    searched = [graph.ids.index(first.source)]
    for _ in range(2):
        result = yield farthest(result)
        searched.append(graph.ids.index(result.source))
        path = result.path(farthest(result))
        result = yield int(path[path.size // 2])
        searched.append(graph.ids.index(result.source))
    bounds.set_center(result)
    vertices = graph.vertices
    while bounds.left.size:
        assert bounds.parent is not None
        children = np.bincount(bounds.parent)
        children[[vertex for vertex in searched if vertex < children.size]] = 0
        chosen = int(np.argmax(children))
        if children[chosen] < 2:
            chosen = int(bounds.left[np.argmax(bounds.upper)])
        searched.append(chosen)
        yield int(vertices[chosen])
    yield None


def hub(graph: Outline, among: np.ndarray | None = None) -> int:
    """The vertex of highest degree, of all or of some; any where none has an edge."""
    vertices = graph.vertices
    if graph.n_rows == 0:
        return int(vertices[0])
    if among is None:
        return int(vertices[graph.original_index[np.argmax(graph.input_degree)]])
    rows = graph.order[np.searchsorted(vertices, among)]
    return int(among[np.argmax(graph.input_degree[rows])])
