"""The diameter of a graph, or what is known of it, and how it came about."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskbfs.algorithms.diameter.bounds import Bounds
from daskbfs.graph.graph import Outline


class DiameterResult:
    """The diameter of a graph's largest component, or bounds of it, and how it came about.

    Attributes
    ----------
    diameter
        The largest distance between two vertices; None where ``max_searches`` ended the
        computation before it was known.
    lower, upper
        The diameter is not less, and not more; both are the diameter where that is known.
    radius
        The least eccentricity; None where the searches for the diameter did not show it.
    path
        A shortest path with ``lower`` edges: all its vertices, in the user's ids.
    ends
        Its first and its last vertex.
    component_size
        How many vertices the largest component has.
    n_searches
        How many breadth-first searches it took.
    seconds
        From the call until the result was there.

    Examples
    --------
    >>> import daskbfs
    >>> result = daskbfs.diameter(daskbfs.from_edges([(1, 2), (2, 3), (3, 4), (3, 5), (8, 9)]))
    >>> result.diameter, result.radius, result.component_size
    (3, 2, 5)
    >>> result.path.size
    4
    """

    def __init__(
        self, graph: Outline, bounds: Bounds, n_searches: int, seconds: float, driver: str
    ) -> None:
        self.graph = graph
        self.lower, self.upper = bounds.lower, bounds.highest
        self.radius = bounds.radius
        self.path: np.ndarray = bounds.longest
        self.component_size = bounds.n_vertices
        self.n_searches = n_searches
        self.seconds = seconds
        self.driver = driver

    @property
    def is_exact(self) -> bool:
        """Whether the diameter is known."""
        return self.lower == self.upper

    @property
    def diameter(self) -> int | None:
        """The largest distance between two vertices; None where only bounds are known."""
        return self.lower if self.is_exact else None

    @property
    def ends(self) -> tuple[int, int]:
        """Two vertices whose distance is ``lower``."""
        return int(self.path[0]), int(self.path[-1])

    def to_dict(self) -> dict[str, Any]:
        """What ``daskbfs diameter --json`` writes of it."""
        return {
            "driver": self.driver,
            "seconds": self.seconds,
            "n_searches": self.n_searches,
            "diameter": self.diameter,
            "lower": self.lower,
            "upper": self.upper,
            "radius": self.radius,
            "ends": list(self.ends),
            "path": self.path.tolist(),
            "component_size": self.component_size,
        }

    def __repr__(self) -> str:
        told = f"{self.lower}" if self.is_exact else f"{self.lower} to {self.upper}"
        radius = "" if self.radius is None else f", radius {self.radius}"
        start, end = self.ends
        return (
            f"DiameterResult: {told}{radius}, from {start} to {end}, in a component of "
            f"{self.component_size} of {self.graph.n_vertices} vertices, by {self.n_searches} "
            f"search{'' if self.n_searches == 1 else 'es'} in {self.seconds:.3f} s"
        )
