"""Ranks in the user's own vertex ids, and how they came about."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from daskbfs.algorithms.pagerank.program import RankPart
from daskbfs.graph.graph import Outline
from daskbfs.machine.devices import require_package
from daskbfs.machine.hardware import human_rate
from daskbfs.telemetry.levels import LevelTable


class PageRankResult:
    """Ranks in the user's own vertex ids, and how they came about.

    Attributes
    ----------
    rank
        Of each vertex, in the order of ``vertices``; together they are 1.
    iterations
        How many were made.
    changed
        How much ranks changed in the last one, together.
    seconds
        From the call until every rank stood in memory, by row.
    levels
        A record per iteration and partition; the first is for the beginning, and examines no edge.

    Examples
    --------
    >>> import daskbfs
    >>> result = daskbfs.pagerank(daskbfs.from_edges([(0, 1), (1, 2)]))
    >>> result.rank.round(3)
    array([0.257, 0.486, 0.257])
    """

    def __init__(
        self,
        graph: Outline,
        place: np.ndarray,
        share: np.ndarray | None,
        parts: list[RankPart],
        levels: LevelTable,
        seconds: float,
        driver: str,
    ) -> None:
        self.graph = graph
        self.levels = levels
        self.seconds = seconds
        self.driver = driver
        self._place, self._share = place, share
        self._parts = sorted(parts, key=lambda part: part.first)
        last = self._parts[0]
        self.iterations, self.changed, self._inflow = last.iterations, last.changed, last.inflow

    @cached_property
    def rank(self) -> np.ndarray:
        """Of each vertex, in the order of ``vertices``."""
        by_id = np.concatenate([part.values for part in self._parts])
        ranks: np.ndarray = by_id[self._place]
        isolated = self.graph.order == self.graph.n_rows
        share = 1 / self.graph.n_vertices if self._share is None else self._share[isolated]
        ranks[isolated] = self._inflow * share
        return ranks

    @property
    def vertices(self) -> np.ndarray:
        """The vertex ids that ``rank`` is aligned with."""
        return self.graph.vertices

    @property
    def edges_per_second(self) -> float:
        """Edges of the graph times iterations, by time: the rate of Gharaibeh et al."""
        return self.graph.n_edges * self.iterations / self.seconds

    def top(self, n: int = 10) -> list[tuple[int, float]]:
        """The vertices of highest rank, and their ranks."""
        first = np.argsort(-self.rank, kind="stable")[:n]
        vertices = self.vertices
        return [(int(vertices[i]), float(self.rank[i])) for i in first]

    def to_pandas(self) -> Any:
        """The ranks as a pandas dataframe with the columns ``vertex`` and ``rank``."""
        pandas = require_package("pandas", "formats", "a dataframe")
        return pandas.DataFrame({"vertex": self.vertices, "rank": self.rank})

    def __repr__(self) -> str:
        rate = human_rate(self.edges_per_second).replace("TEPS", " edges/s")
        note = " (emulated: no GPU's time)" if self.levels.emulated else ""
        return (
            f"PageRankResult: {self.graph.n_vertices} vertices, {self.iterations} iterations in "
            f"{self.seconds * 1e3:.2f} ms{note}, {rate}"
        )
