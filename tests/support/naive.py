"""The oracle: breadth-first search as one would explain it, for every variant to agree with."""

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
