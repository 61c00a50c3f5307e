"""The public function for connected components."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from distributed import Client

from daskbfs.algorithms.components.program import Components
from daskbfs.algorithms.components.result import ComponentsResult, Labels, warm_result
from daskbfs.distribution.distributed_graph import DistributedGraph, require_graph
from daskbfs.engine.attempts import run_job
from daskbfs.engine.job import FinishedRun, Job, check_driver
from daskbfs.graph.graph import Graph, Outline
from daskbfs.telemetry.levels import LevelTable


def connected_components(
    graph: Graph | DistributedGraph,
    client: Client | None = None,
    *,
    driver: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
) -> ComponentsResult:
    """Find out which vertices are connected with each other.

    Edges connect both ways: of directed graphs these are the weakly connected components.

    Parameters
    ----------
    graph
        A graph, or what :func:`distribute` made of it, on workers of any kind.
    client
        A Dask client, as for :func:`bfs`.
    driver, threads, timeout
        As for :func:`bfs`.

    Returns
    -------
    ComponentsResult
        With an asynchronous client, ``await connected_components(...)``.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(0, 1), (1, 2), (3, 4)])
    >>> daskbfs.connected_components(graph).component
    array([0, 0, 0, 3, 3], dtype=int32)
    """
    whole = require_graph(graph)
    driver = check_driver(driver, whole)
    warm_result()
    job = Job(functools.partial(_program, whole), driver, threads, timeout, fetch=True)
    return run_job(graph, client, job, functools.partial(_result, whole, threads))


def _program(graph: Outline, place: np.ndarray) -> Components | None:
    """The program; None where no vertex has an edge."""
    return Components() if graph.n_rows else None


def _result(graph: Outline, threads: int | None, run: FinishedRun | None) -> ComponentsResult:
    """What came of it."""
    if run is None:
        return ComponentsResult(graph, None, LevelTable([]), 0.0)
    parts: list[Any] = [part for held in run.parts for part in held.parts]
    where = run.partitions
    labels = Labels(where.place, int(where.layout.global_id[-1]), parts)
    threads = threads if run.driver == "direct" else None
    return ComponentsResult(
        where.graph, labels, run.levels, run.seconds, driver=run.driver, threads=threads
    )
