"""The public function for a shortest path between two vertices."""

from __future__ import annotations

import functools

import numpy as np
from distributed import Client

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.result import BFSResult
from daskbfs.distribution.distributed_graph import DistributedGraph, require_graph
from daskbfs.engine.sequence import Calls, run_sequence
from daskbfs.graph.graph import Graph


def shortest_path(
    graph: Graph | DistributedGraph,
    source: int,
    target: int,
    client: Client | None = None,
    *,
    driver: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
) -> np.ndarray | None:
    """Find a path with the fewest edges from one vertex to another.

    Several paths can be that short; which of them is found may differ from call to call.

    Parameters
    ----------
    graph
        A graph, or what :func:`distribute` made of it. Paths follow the edges of directed graphs.
    source, target
        The ends of the path, by the user's own ids.
    client, driver, threads, timeout
        As for :func:`bfs`.

    Returns
    -------
    numpy.ndarray or None
        All vertices on the path, both ends included; None where no path leads to ``target``. With
        an asynchronous client, ``await shortest_path(...)``. For paths from one vertex to several
        others, search once: :meth:`BFSResult.path`.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(10, 20), (20, 30), (30, 40), (20, 40), (50, 60)])
    >>> daskbfs.shortest_path(graph, 10, 40)
    array([10, 20, 40], dtype=int32)
    >>> daskbfs.shortest_path(graph, 10, 60) is None
    True
    """
    target = require_graph(graph).vertex(target, "target")
    search = functools.partial(
        bfs,
        graph,
        source,
        client,
        driver=driver,
        targets=[target],
        threads=threads,
        timeout=timeout,
    )
    return run_sequence(_find_path(search, target))


def _find_path(search: functools.partial[BFSResult], target: int) -> Calls[np.ndarray | None]:
    """Search for the target, and go back from it."""
    result: BFSResult = yield search
    yield result.fetch
    return result.path(target) if result.has_reached(target) else None
