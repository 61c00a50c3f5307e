"""The public function for PageRank, and what it returns."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from distributed import Client

from daskbfs.algorithms.pagerank.program import PageRank
from daskbfs.algorithms.pagerank.result import PageRankResult
from daskbfs.distribution.distributed_graph import DistributedGraph, require_graph
from daskbfs.engine.attempts import run_job
from daskbfs.engine.job import FinishedRun, Job, check_driver
from daskbfs.graph.graph import Graph, Outline
from daskbfs.graph.vertex_ids import as_integer


def pagerank(
    graph: Graph | DistributedGraph,
    client: Client | None = None,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    iterations: int | None = None,
    personalization: Mapping[int, float] | None = None,
    driver: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
) -> PageRankResult:
    """Rank vertices by the ranks of those that point to them.

    Undirected edges point both ways. Self-loops and duplicates are not there, as in every graph
    here. The rank of vertices without outgoing edges goes to all, as in networkx.

    Parameters
    ----------
    graph
        A graph, or what :func:`distribute` made of it, on workers of any kind.
    client
        A Dask client, as for :func:`bfs`.
    damping
        The part of a rank that goes along edges, 0 to 1.
    tolerance
        Stop when ranks change by less than this times the number of vertices, together.
    max_iterations
        Iterations after which a RuntimeError says that ranks still change.
    iterations
        Make exactly so many, and look at no tolerance.
    personalization
        Weights by vertex id: where the rest of the rank, and that of vertices without outgoing
        edges, goes to. None: to all vertices alike.
    driver, threads, timeout
        As for :func:`bfs`.

    Returns
    -------
    PageRankResult
        With an asynchronous client, ``await pagerank(...)``.

    Examples
    --------
    >>> import daskbfs
    >>> star = daskbfs.from_edges([(0, 1), (0, 2), (0, 3)])
    >>> daskbfs.pagerank(star).top(1)[0][0]
    0
    """
    whole = require_graph(graph)
    driver = check_driver(driver, whole)
    if not 0 <= damping < 1:
        raise ValueError(f"damping {damping} is out of range: 0 to 1, and less than 1")
    if not tolerance > 0:
        raise ValueError(f"tolerance {tolerance} is out of range: more than 0")
    most = as_integer(max_iterations if iterations is None else iterations, "iterations")
    if most < 1:
        raise ValueError(f"{most} iterations are out of range: at least 1")
    if whole.n_rows == 0:
        raise ValueError(f"{whole.name} has no edges, so nothing can be ranked")
    share = None if personalization is None else _shares(whole, personalization)
    limit = None if iterations is not None else tolerance * whole.n_vertices
    choose = functools.partial(_program, whole, share, damping, limit, most)
    job = Job(choose, driver, threads, timeout, fetch=True)
    return run_job(graph, client, job, functools.partial(_result, share, limit))


def _result(
    share: np.ndarray | None, limit: float | None, run: FinishedRun | None
) -> PageRankResult:
    """What came of it; an error where ranks still change."""
    assert run is not None
    parts: list[Any] = [part for held in run.parts for part in held.parts]
    where = run.partitions
    result = PageRankResult(
        where.graph, where.place, share, parts, run.levels, run.seconds, run.driver
    )
    if limit is not None and not result.changed < limit:
        raise RuntimeError(
            f"ranks still change by {result.changed:.3g} together after {result.iterations} "
            f"iterations, and less than {limit:.3g} was asked for: raise max_iterations or "
            "tolerance, or give iterations"
        )
    return result


def _shares(graph: Outline, personalization: Mapping[int, float]) -> np.ndarray:
    """The weights of all vertices, by index; together they are 1."""
    share = np.zeros(graph.n_vertices)
    for vertex, weight in personalization.items():
        known = graph.vertex(vertex, "personalization's vertex")
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"the weight {weight} of vertex {vertex} is out of range: 0 or more")
        share[graph.ids.index(known)] = weight
    total = share.sum()
    if not total > 0:
        raise ValueError("personalization has no weight above 0: give some vertex one")
    return share / total


def _program(
    graph: Outline,
    share: np.ndarray | None,
    damping: float,
    limit: float | None,
    most: int,
    place: np.ndarray,
) -> PageRank:
    """The program, for vertices by their global ids."""
    isolated = graph.order == graph.n_rows
    if share is None:
        part = float(isolated.sum()) / graph.n_vertices
        return PageRank(damping, graph.n_vertices, part, limit, most)
    there = np.flatnonzero((share > 0) & ~isolated)
    weights = share[there]
    alone = float(share[isolated].sum())
    ids = place[there].astype(np.int64)
    return PageRank(damping, graph.n_vertices, alone, limit, most, ids, weights)
