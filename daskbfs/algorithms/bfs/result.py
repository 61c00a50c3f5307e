"""What a search returns."""

from __future__ import annotations

import html
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from daskbfs.engine.results import RemoteResult, Result, join_parts
from daskbfs.graph.graph import Outline
from daskbfs.kernels.ids import by_vertex, ids_by_vertex
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.threads import threads as kernel_threads
from daskbfs.kernels.tree_checks import UNKNOWN, levels_from_parents
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.machine.devices import require_package
from daskbfs.machine.hardware import human_rate
from daskbfs.plotting.figures import search_figure
from daskbfs.plotting.pictures import check_picture, require_matplotlib, save
from daskbfs.telemetry.levels import NO_PHASES, LevelTable, Phases


@dataclass(frozen=True, slots=True)
class Tree:
    """Where the parents of a search are, and how global ids and vertices go together."""

    graph: Outline
    place: np.ndarray
    """Global id of each vertex, by its index."""
    global_id: np.ndarray | None
    """Global id of each row of the graph; None when a row is its own."""
    result: Result | None
    """The parents by row; None when the source is isolated."""


def user_frame(columns: tuple[np.ndarray, np.ndarray]) -> Any:
    """Vertices and parents as a pandas dataframe."""
    pandas = require_package("pandas", "formats", "a dataframe")
    vertices, parents = columns
    return pandas.DataFrame({"vertex": vertices, "parent": parents})


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
        tree: Tree,
        source: int,
        levels: LevelTable,
        seconds: float,
        *,
        phases: Phases = NO_PHASES,
        last_level: int | None = None,
        threads: int | None = None,
        driver: str = "direct",
    ) -> None:
        self.graph = tree.graph
        self.source = source
        self.levels = levels
        self.seconds = seconds
        self.phases = phases
        """Where the seconds went: init, compute, push, pull, gather, aggregate."""
        self.last_level = last_level
        """The level at which a depth limit or targets ended the search; None for a full search."""
        self.fetch_seconds = 0.0
        """Time that the assembly of ``parent`` took; 0 before it is asked for."""
        self._tree = tree
        self._threads = threads
        self.driver = driver
        """What ran the levels."""

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of each vertex, in the order of ``vertices``; -1 where unreached."""
        graph, result = self.graph, self._tree.result
        start = time.perf_counter()
        out = graph.arrays.take(graph.n_vertices, graph.parent_dtype)
        if result is None:  # the source is isolated
            out[:] = -1
        elif "_found" in self.__dict__ or not result.read_in_place(
            lambda found: self._assemble(found, out)
        ):
            found = self._found
            assert found is not None
            start = time.perf_counter()  # what it took to fetch is counted there
            self._assemble(found, out)
        out[graph.ids.index(self.source)] = self.source
        self.fetch_seconds += time.perf_counter() - start
        return out

    def _assemble(self, found: np.ndarray, out: np.ndarray) -> None:
        """Parents by vertex from parents by global id."""
        ids, place = self.graph.ids.values, self._tree.place
        with kernel_threads(self._threads):
            if ids is not None:
                ids_by_vertex(found, place, ids, out, n_threads())
            elif out.dtype == np.int32:
                by_vertex(found.view(np.int32), place, out, n_threads())  # NONE becomes -1
            else:
                by_vertex(found, place, out, n_threads())
                out[out == int(NONE)] = -1

    @cached_property
    def _found(self) -> np.ndarray | None:
        """By global id, the parent as a vertex index; NONE where unreached."""
        if self._tree.result is None:
            return None
        start = time.perf_counter()
        try:
            found = self._tree.result.fetch()
        except RuntimeError:  # it is lost
            if "parent" not in self.__dict__:
                raise
            found = self._find_again()
        self.fetch_seconds += time.perf_counter() - start
        return found

    def _find_again(self) -> np.ndarray:
        """The same from ``parent``, which was fetched before workers were lost."""
        place, ids = self._tree.place, self.graph.ids.values
        reached = np.flatnonzero(self.parent >= 0)
        parent = self.parent[reached]
        found = np.full(int(place.max()) + 1, NONE, np.uint32)
        found[place[reached]] = parent if ids is None else np.searchsorted(ids, parent)
        return found

    @cached_property
    def level(self) -> np.ndarray:
        """Distance of each vertex from the source, like ``parent``; -1 where unreached."""
        graph, found, place = self.graph, self._found, self._tree.place
        out = np.full(graph.n_vertices, -1, np.int32)
        if found is not None:
            reached = found != NONE
            parent = np.full(found.size, NONE, np.uint32)
            parent[reached] = place[found[reached]]
            level = np.full(found.size, UNKNOWN, np.int32)
            with kernel_threads(self._threads):
                levels_from_parents(parent, level, n_threads())
                by_vertex(level, place, out, n_threads())
        out[graph.ids.index(self.source)] = 0
        return out

    def path(self, vertex: int) -> np.ndarray:
        """A shortest path from the source to a vertex: all vertices on it, both ends included.

        >>> import daskbfs
        >>> result = daskbfs.bfs(daskbfs.from_edges([(10, 20), (20, 40), (50, 60)]), source=10)
        >>> result.path(40).tolist()
        [10, 20, 40]
        """
        vertex = self.graph.vertex(vertex)
        if not self.has_reached(vertex):
            limit = "" if self.last_level is None else f" within {self.last_level} levels"
            raise ValueError(f"vertex {vertex} was not reached from {self.source}{limit}: no path")
        parent, index = self.parent, self.graph.ids.index
        path = [vertex]
        while path[-1] != self.source:
            path.append(int(parent[index(path[-1])]))
        return np.array(path[::-1], parent.dtype)

    def has_reached(self, vertex: int) -> bool:
        """Whether the search reached a vertex."""
        return bool(self.parent[self.graph.ids.index(self.graph.vertex(vertex))] >= 0)

    def fetch(self) -> Any:
        """Bring ``parent`` to this process; returns the result itself.

        With an asynchronous client, ``await result.fetch()`` before ``parent`` or ``level``.
        """
        result = self._tree.result
        if result is not None and result.asynchronous:
            return self._fetch(result)
        _ = self.parent  # assembled in the caller's thread, not on the client's event loop
        return self

    async def _fetch(self, result: Result) -> BFSResult:
        start = time.perf_counter()
        copies: list[np.ndarray] = []
        if "_found" not in self.__dict__:
            if not result.read_in_place(lambda found: copies.append(found.copy())):
                copies = [join_parts(await result.bring_parts())]
            self.__dict__["_found"] = copies[-1]
            self.fetch_seconds += time.perf_counter() - start
        _ = self.parent
        return self

    def to_dask(self) -> tuple[Any, Any]:
        """The tree as Dask arrays that stay on the cluster: vertex ids, and their parents.

        Both have one chunk for each partition, on the worker that holds it; vertices without
        edges are left out, unreached ones have the parent -1.
        """
        from dask.array import concatenate, from_delayed
        from dask.delayed import delayed

        dtype = self.graph.parent_dtype
        parts = self._user_parts()
        vertices, parents = (
            concatenate([from_delayed(delayed(pair)[k], (n,), dtype) for pair, n in parts])
            for k in range(2)
        )
        return vertices, parents

    def _user_parts(self) -> list[tuple[Any, int]]:
        """Futures of vertex ids and parents, and how many there are, by partition."""
        return self._on_cluster().user_parts()

    def _on_cluster(self) -> RemoteResult:
        """The result on its cluster; an error where there is none."""
        if not isinstance(self._tree.result, RemoteResult):
            raise ValueError("this search ran without a cluster: result.parent is all there is")
        return self._tree.result

    def to_dask_dataframe(self) -> Any:
        """The tree as a Dask dataframe with the columns ``vertex`` and ``parent``.

        Its partitions stay on the cluster, as those of :meth:`to_dask`; needs
        ``pip install 'daskbfs[formats]'``.
        """
        dataframe = require_package("dask.dataframe", "formats", "a Dask dataframe")
        pairs = [pair for pair, _ in self._user_parts()]
        frames = self._on_cluster().placed.client.map(user_frame, pairs, pure=False)
        empty = np.empty(0, self.graph.parent_dtype)
        return dataframe.from_delayed(frames, meta=user_frame((empty, empty)), verify_meta=False)

    def to_pandas(self) -> Any:
        """The tree as a pandas dataframe with the columns ``vertex``, ``parent`` and ``level``.

        >>> import daskbfs
        >>> result = daskbfs.bfs(daskbfs.from_edges([(10, 20), (20, 40)]), source=10)
        >>> print(result.to_pandas().query("level > 0").to_string(index=False))
         vertex  parent  level
             20      10      1
             40      20      2
        """
        pandas = require_package("pandas", "formats", "a dataframe")
        return pandas.DataFrame(
            {"vertex": self.vertices, "parent": self.parent, "level": self.level}
        )

    @property
    def vertices(self) -> np.ndarray:
        """The vertex ids that ``parent`` and ``level`` are aligned with."""
        return self.graph.vertices

    @cached_property
    def _reached(self) -> np.ndarray:
        """Whether each row of the graph was reached."""
        found = self._found
        if found is None:
            return np.zeros(self.graph.n_rows, bool)
        by_row = self._tree.global_id
        mine = found[: self.graph.n_rows] if by_row is None else found[by_row[:-1]]
        return np.asarray(mine != NONE)

    @cached_property
    def reached(self) -> int:
        """How many vertices the search reached, the source included."""
        return max(1, int(np.count_nonzero(self._reached)))

    @cached_property
    def edges(self) -> int:
        """Input edges within what was reached, duplicates and self-loops included (Graph500)."""
        total = int(self.graph.input_degree[self._reached].sum(dtype=np.int64))
        return total if self.graph.directed else total // 2

    @property
    def teps(self) -> float | None:
        """Traversed edges per second; None where there are no edges."""
        return self.edges / self.seconds if self.edges and self.seconds else None

    @property
    def kernel_seconds(self) -> float:
        """Over the levels, the sum of the slowest worker's kernels."""
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
            "phases": self.phases.to_dict(),
            "levels": self.levels.to_dicts(),
        }

    def plot(self, file: str | Path | None = None) -> Any:
        """Draw time per level and device, and the frontier; needs matplotlib.

        Returns the figure, which notebooks show, and writes it where a file is given (.png, .svg
        or .pdf).
        """
        if file is not None:
            check_picture(file)
        require_matplotlib()
        title = f"{self.graph.name} from {self.source}: {self.seconds * 1e3:.2f} ms"
        figure = search_figure(self.levels, title)
        if file is not None:
            save(figure, file)
        return figure

    def __repr__(self) -> str:
        summary = f"{self.levels.n_levels} levels, {self.seconds * 1e3:.2f} ms"
        if self.levels.emulated:
            summary += " (emulated: no GPU's time)"
        try:
            rate = "" if self.teps is None else f", {human_rate(self.teps)}"
            reached = f"{self.reached} of {self.graph.n_vertices} vertices in "
        except RuntimeError:  # on the cluster, to be awaited, or lost with it
            return f"BFSResult from {self.source}: {summary}, not fetched"
        return f"BFSResult from {self.source}: {reached}{summary}{rate}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.levels._repr_html_()}"
