"""What a search returns."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import numpy as np

from daskbfs.graph import Graph
from daskbfs.kernels.compiling import n_threads
from daskbfs.kernels.ids import by_vertex, ids_by_vertex
from daskbfs.kernels.tree import UNKNOWN, levels_from_parents
from daskbfs.lease import LeasePool
from daskbfs.telemetry import LevelTable
from daskbfs.types import NONE


class BFSResult:
    """A search tree in the user's own vertex ids, and how it came about.

    Attributes
    ----------
    source
        Where the search started.
    levels
        One record per level and device; prints as a table.
    seconds
        From the call until every parent stood in memory, by row, as a vertex.

    Examples
    --------
    >>> import daskbfs
    >>> result = daskbfs.bfs(daskbfs.from_edges([(0, 1), (1, 2), (3, 4)]), source=0)
    >>> result.parent
    array([ 0,  0,  1, -1, -1], dtype=int32)
    >>> result.level
    array([ 0,  1,  2, -1, -1], dtype=int32)
    """

    def __init__(
        self,
        graph: Graph,
        source: int,
        row_parent: np.ndarray | None,
        levels: LevelTable,
        seconds: float,
        last_level: int | None,
    ) -> None:
        self.graph = graph
        self.source = source
        self.levels = levels
        self.seconds = seconds
        self.last_level = last_level
        """The level at which a depth limit or targets ended the search; None for a full search."""
        self.fetch_seconds = 0.0
        """Time that the assembly of ``parent`` took; 0 before it is asked for."""
        self._row_parent = row_parent

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of each vertex, in the order of ``vertices``; -1 where unreached."""
        start = time.perf_counter()
        graph = self.graph
        out = LeasePool.of(graph).arrays.take(graph.n_vertices, graph.parent_dtype)
        if self._row_parent is None:  # the source is isolated
            out[:] = -1
        elif graph.ids.values is None:
            by_vertex(self._row_parent.view(np.int32), graph.order, out, n_threads())
        else:
            ids_by_vertex(self._row_parent, graph.order, graph.ids.values, out, n_threads())
        out[graph.ids.index(self.source)] = self.source
        self.fetch_seconds = time.perf_counter() - start
        return out

    @cached_property
    def level(self) -> np.ndarray:
        """Distance of each vertex from the source, like ``parent``; -1 where unreached."""
        graph = self.graph
        out = np.full(graph.n_vertices, -1, np.int32)
        if self._row_parent is not None:
            parent = self._row_parent[: graph.n_rows]
            reached = parent != NONE
            parent_row = np.full(graph.n_rows, NONE, np.uint32)
            parent_row[reached] = graph.order[parent[reached]]
            row_level = np.full(graph.original_index.size, -1, np.int32)
            row_level[: graph.n_rows] = UNKNOWN
            levels_from_parents(parent_row, row_level, n_threads())
            by_vertex(row_level, graph.order, out, n_threads())
        out[graph.ids.index(self.source)] = 0
        return out

    @property
    def vertices(self) -> np.ndarray:
        """The vertex ids that ``parent`` and ``level`` are aligned with."""
        return self.graph.vertices

    @cached_property
    def reached(self) -> int:
        """How many vertices the search reached, the source included."""
        if self._row_parent is None:
            return 1
        return int(np.count_nonzero(self._row_parent[: self.graph.n_rows] != NONE))

    @cached_property
    def edges(self) -> int:
        """Input edges within what was reached, duplicates and self-loops included (Graph500)."""
        if self._row_parent is None:
            return 0
        reached = self._row_parent[: self.graph.n_rows] != NONE
        total = int(self.graph.input_degree[reached].sum(dtype=np.int64))
        return total if self.graph.directed else total // 2

    @property
    def teps(self) -> float | None:
        """Traversed edges per second; None where there are no edges."""
        return self.edges / self.seconds if self.edges and self.seconds else None

    @property
    def kernel_seconds(self) -> float:
        """Over the levels, the sum of the slowest partition's kernels."""
        return self.levels.kernel_seconds

    @property
    def overhead_seconds(self) -> float:
        """Whatever of ``seconds`` is not kernels."""
        return self.seconds - self.kernel_seconds

    def to_dict(self) -> dict[str, Any]:
        """One trial of the JSON contract."""
        return {
            "source": int(self.source),
            "seconds": self.seconds,
            "fetch_seconds": self.fetch_seconds,
            "kernel_seconds": self.kernel_seconds,
            "overhead_seconds": self.overhead_seconds,
            "n_levels": self.levels.n_levels,
            "reached": self.reached,
            "edges": self.edges,
            "teps": self.teps,
            "levels": self.levels.to_dicts(),
        }

    def __repr__(self) -> str:
        rate = "" if self.teps is None else f", {self.teps / 1e9:.3f} GTEPS"
        return (
            f"BFSResult from {self.source}: {self.reached} of {self.graph.n_vertices} vertices in "
            f"{self.levels.n_levels} levels, {self.seconds * 1e3:.2f} ms{rate}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.levels._repr_html_()}"
