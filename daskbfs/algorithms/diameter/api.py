"""The public functions for eccentricities and the diameter."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
from distributed import Client

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.result import BFSResult
from daskbfs.algorithms.components.api import connected_components
from daskbfs.algorithms.components.result import ComponentsResult
from daskbfs.algorithms.diameter.bounds import Bounds, choose_sources, hub
from daskbfs.algorithms.diameter.result import DiameterResult
from daskbfs.distribution.distributed_graph import DistributedGraph, require_graph
from daskbfs.engine.sequence import Calls, run_sequence
from daskbfs.graph.graph import Graph, Outline
from daskbfs.graph.vertex_ids import as_integer
from daskbfs.progress import Progress, silent

Search = Callable[[int], BFSResult]


def eccentricity(
    graph: Graph | DistributedGraph,
    vertex: int,
    client: Client | None = None,
    *,
    driver: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
) -> int:
    """Return the largest distance from a vertex to those that it reaches.

    Parameters
    ----------
    graph
        A graph, or what :func:`distribute` made of it. Directed edges are followed forwards.
    vertex
        By the user's own id.
    client, driver, threads, timeout
        As for :func:`bfs`.

    Returns
    -------
    int
        0 for a vertex without edges. With an asynchronous client, ``await eccentricity(...)``.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(0, 1), (1, 2), (2, 3), (8, 9)])
    >>> daskbfs.eccentricity(graph, 0), daskbfs.eccentricity(graph, 1)
    (3, 2)
    """
    vertex = require_graph(graph).vertex(vertex)
    search = functools.partial(
        bfs, graph, vertex, client, driver=driver, threads=threads, timeout=timeout
    )
    return run_sequence(_find_eccentricity(search))


def _find_eccentricity(search: Callable[[], BFSResult]) -> Calls[int]:
    result: BFSResult = yield search
    yield result.fetch
    return int(result.level.max())


def diameter(
    graph: Graph | DistributedGraph,
    client: Client | None = None,
    *,
    driver: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    max_searches: int | None = None,
    progress: Progress = silent,
) -> DiameterResult:
    """Find the largest distance between two vertices of the largest connected component.

    The result is exact. It takes a search from each vertex at worst, but mostly few: bounds rule
    out almost all vertices. Where components are equally large, one of them is taken.

    Parameters
    ----------
    graph
        An undirected graph, or what :func:`distribute` made of it.
    client, driver, threads
        As for :func:`bfs`.
    timeout
        As for :func:`bfs`, for each of the searches.
    max_searches
        End after so many searches, with bounds where these were too few (2 at least where the
        first one was in a small component); None goes on until the diameter is known.
    progress
        Told how many vertices of the component have been ruled out as ends of a longer path.

    Returns
    -------
    DiameterResult
        With an asynchronous client, ``await diameter(...)``.

    Examples
    --------
    >>> import daskbfs
    >>> result = daskbfs.diameter(daskbfs.from_edges([(0, 1), (1, 2), (2, 3), (8, 9)]))
    >>> result.diameter, sorted(result.ends)
    (3, [0, 3])
    """
    whole = require_graph(graph)
    if whole.directed:
        raise ValueError(
            "the graph is directed, and the diameter is that of undirected graphs: read it with "
            "directed=False"
        )
    if whole.n_vertices == 0:
        raise ValueError("the graph is empty: without vertices there is no diameter")
    if max_searches is not None:
        max_searches = as_integer(max_searches, "max_searches")
        if max_searches < 1:
            raise ValueError(f"max_searches {max_searches} is too small: bounds take 1 search")
    options = {"driver": driver, "threads": threads, "timeout": timeout}
    calls = _find_diameter(
        whole,
        lambda vertex: bfs(graph, vertex, client, **options),  # type: ignore[arg-type]
        lambda: connected_components(graph, client, **options),  # type: ignore[arg-type]
        max_searches,
        progress,
    )
    return run_sequence(calls)


def _find_diameter(
    graph: Outline,
    search: Search,
    find_components: Callable[[], ComponentsResult],
    max_searches: int | None,
    progress: Progress,
) -> Calls[DiameterResult]:
    """Search as long as a longer path may be left."""
    start = time.perf_counter()
    result, n_searches = yield from _search_largest(graph, search, find_components)
    bounds = Bounds(np.flatnonzero(result.level >= 0))
    bounds.add(result)
    sources = choose_sources(graph, bounds, result)
    source = next(sources)
    while True:
        progress("ruling out vertices", bounds.n_vertices - bounds.left.size, bounds.n_vertices)
        if source is None or bounds.left.size == 0:
            break
        if max_searches is not None and n_searches >= max_searches:
            break
        result = yield from _search(search, source)
        n_searches += 1
        bounds.add(result)
        source = sources.send(result)
    seconds = time.perf_counter() - start
    return DiameterResult(graph, bounds, n_searches, seconds, result.driver)


def _search_largest(
    graph: Outline, search: Search, find_components: Callable[[], ComponentsResult]
) -> Calls[tuple[BFSResult, int]]:
    """A search in the largest component, and how many it took to be there.

    Where the vertex of highest degree reaches half of those with edges, it is there.
    """
    result = yield from _search(search, hub(graph))
    if 2 * result.reached >= graph.n_rows:
        return result, 1
    components: ComponentsResult = yield find_components
    if components.sizes[0] == result.reached:
        return result, 1
    result = yield from _search(search, hub(graph, components.largest))
    return result, 2


def _search(search: Search, source: int) -> Calls[BFSResult]:
    """A search whose parents and levels are here."""
    result: BFSResult = yield functools.partial(search, source)
    yield result.fetch
    return result
