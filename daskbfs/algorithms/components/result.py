"""Connected components in the user's own vertex ids, and how they came about."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from daskbfs.engine.program import Part
from daskbfs.engine.results import join_parts
from daskbfs.engine.superstep import Parts
from daskbfs.graph.graph import Outline
from daskbfs.kernels.cpu.components import name_components
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.threads import threads as kernel_threads
from daskbfs.machine.devices import require_package
from daskbfs.telemetry.levels import LevelTable


@cache
def warm_result() -> None:
    """Load or compile the kernel that results are assembled with, once per process."""
    arrays = [np.zeros(1, np.uint32) for _ in range(4)]
    name_components(arrays[0], arrays[1], 0, *arrays[2:], 1)


@dataclass(frozen=True, slots=True)
class Labels:
    """The root of each row's tree, and how global ids and vertices go together."""

    place: np.ndarray
    """Global id of each vertex, by its index."""
    no_place: int
    """That of vertices without edges."""
    parts: Sequence[Part]


class ComponentsResult:
    """Connected components in the user's own vertex ids, and how they came about.

    A component is known by its smallest vertex, so all drivers and devices find the same.

    Attributes
    ----------
    component
        The smallest vertex in each vertex's component, in the order of ``vertices``.
    n_components
        How many there are; a vertex without edges is one.
    labels, sizes
        The smallest vertex of each component, and how many vertices it has: large ones first.
    seconds
        From the call until every label stood in memory, by row.
    fetch_seconds
        Time that the assembly of ``component`` took; 0 before it is asked for.
    levels
        A record per superstep and partition.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(70, 50), (50, 60), (10**12, 20)])
    >>> result = daskbfs.connected_components(graph)
    >>> result.component.tolist()
    [20, 50, 50, 50, 20]
    >>> result.top(1)
    [(50, 3)]
    >>> result.members(20).tolist()
    [20, 1000000000000]
    """

    def __init__(
        self,
        graph: Outline,
        found: Labels | None,
        levels: LevelTable,
        seconds: float,
        *,
        driver: str = "direct",
        threads: int | None = None,
    ) -> None:
        self.graph = graph
        self.levels = levels
        self.seconds = seconds
        self.fetch_seconds = 0.0
        self.driver = driver
        self._found = found
        self._threads = threads

    @cached_property
    def _smallest(self) -> np.ndarray:
        """The smallest vertex of each vertex's component, both as indices."""
        graph, found = self.graph, self._found
        if found is None:  # no vertex has an edge
            return np.arange(graph.n_vertices, dtype=np.uint32)
        start = time.perf_counter()
        label = join_parts([Parts(tuple(found.parts))])
        out: np.ndarray = graph.arrays.take(graph.n_vertices, np.uint32)
        smallest = graph.arrays.take(label.size, np.uint32)
        with kernel_threads(self._threads):
            name_components(label, found.place, found.no_place, smallest, out, n_threads())
        self._found = None  # from now on, its memory serves others
        self.fetch_seconds += time.perf_counter() - start
        return out

    @cached_property
    def component(self) -> np.ndarray:
        """The smallest vertex in each vertex's component, in the order of ``vertices``."""
        smallest = self._smallest
        start = time.perf_counter()
        ids = self.graph.ids.values
        if ids is None and self.graph.parent_dtype is np.int32:
            component: np.ndarray = smallest.view(np.int32)
        else:
            component = self._ids_of(smallest)
        self.fetch_seconds += time.perf_counter() - start
        return component

    @cached_property
    def _counted(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest vertex of each component, as an index, and its size; large ones first."""
        counts = np.bincount(self._smallest, minlength=1)
        smallest = np.flatnonzero(counts)
        counts = counts[smallest]
        order = np.argsort(-counts, kind="stable")
        return smallest[order], counts[order]

    def _ids_of(self, indices: np.ndarray) -> np.ndarray:
        """The user's ids of some vertices."""
        ids = self.graph.ids.values
        found = indices if ids is None else ids[indices]
        return found.astype(self.graph.parent_dtype)

    @property
    def vertices(self) -> np.ndarray:
        """The vertex ids that ``component`` is aligned with."""
        return self.graph.vertices

    @property
    def n_components(self) -> int:
        """How many there are; a vertex without edges is one."""
        return int(self.sizes.size)

    @property
    def sizes(self) -> np.ndarray:
        """How many vertices each component has, large ones first."""
        return self._counted[1]

    @cached_property
    def labels(self) -> np.ndarray:
        """The smallest vertex of each component, in the order of ``sizes``."""
        return self._ids_of(self._counted[0])

    def top(self, n: int = 10) -> list[tuple[int, int]]:
        """The largest components: the smallest vertex of each, and how many vertices it has."""
        return list(zip(self.labels[:n].tolist(), self.sizes[:n].tolist(), strict=True))

    @property
    def largest(self) -> np.ndarray:
        """The vertices of the largest component, in ascending order."""
        return self.members(int(self.labels[0])) if self.n_components else self.vertices

    def members(self, vertex: int) -> np.ndarray:
        """The vertices of a vertex's component, in ascending order."""
        smallest = self._smallest
        mine = smallest[self.graph.ids.index(self.graph.vertex(vertex))]
        members: np.ndarray = self.vertices[smallest == mine]
        return members

    def to_pandas(self) -> Any:
        """The components as a pandas dataframe with the columns ``vertex`` and ``component``."""
        pandas = require_package("pandas", "formats", "a dataframe")
        return pandas.DataFrame({"vertex": self.vertices, "component": self.component})

    def to_dict(self, n: int = 10) -> dict[str, Any]:
        """What ``daskbfs components --json`` writes of it, with the largest components."""
        _ = self.component  # what it takes to fetch is told
        return {
            "driver": self.driver,
            "seconds": self.seconds,
            "fetch_seconds": self.fetch_seconds,
            "n_components": self.n_components,
            "levels": self.levels.to_dicts(),
            "top": [{"component": label, "size": size} for label, size in self.top(n)],
        }

    def __repr__(self) -> str:
        note = " (emulated: no GPU's time)" if self.levels.emulated else ""
        largest = f", the largest of {self.sizes[0]}" if self.n_components else ""
        return (
            f"ComponentsResult: {self.n_components} components of {self.graph.n_vertices} vertices"
            f"{largest}, in {self.seconds * 1e3:.2f} ms{note}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.levels._repr_html_()}"
