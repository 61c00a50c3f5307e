"""The oracle: searches and components as one would explain them, for all variants to agree with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


def neighbours(edges: Iterable[tuple[int, int]], directed: bool) -> dict[int, set[int]]:
    """Adjacency without self-loops; every vertex that occurs has an entry."""
    adjacency: dict[int, set[int]] = {}
    for u, v in edges:
        u, v = int(u), int(v)
        adjacency.setdefault(u, set())
        adjacency.setdefault(v, set())
        if u != v:
            adjacency[u].add(v)
            if not directed:
                adjacency[v].add(u)
    return adjacency


def levels(edges: Iterable[tuple[int, int]], source: int, directed: bool = False) -> dict[int, int]:
    """Distance of every vertex that can be reached."""
    adjacency = neighbours(edges, directed)
    found = {source: 0}
    queue = deque([source])
    while queue:
        vertex = queue.popleft()
        for other in adjacency.get(vertex, ()):
            if other not in found:
                found[other] = found[vertex] + 1
                queue.append(other)
    return found


def components(vertices: Iterable[int], edges: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The smallest vertex of every vertex's component."""
    adjacency = {vertex: set() for vertex in vertices} | neighbours(edges, directed=False)
    smallest: dict[int, int] = {}
    for vertex in sorted(adjacency):
        waiting = [] if vertex in smallest else [vertex]
        while waiting:
            other = waiting.pop()
            if other not in smallest:
                smallest[other] = vertex
                waiting += adjacency[other]
    return smallest
