"""The public function: one search, by whichever driver."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
from distributed import Client

from daskbfs import config
from daskbfs.algorithms.bfs.direction import implementation_choice, policy, top_down_below
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.algorithms.bfs.result import BFSResult, Tree
from daskbfs.algorithms.bfs.warmup import warm_result
from daskbfs.distribution.distributed_graph import DistributedGraph, require_graph
from daskbfs.engine.attempts import run_job
from daskbfs.engine.job import FinishedRun, Job, check_driver
from daskbfs.graph.graph import Graph, Outline
from daskbfs.graph.vertex_ids import as_integer
from daskbfs.telemetry.levels import LevelTable


def bfs(
    graph: Graph | DistributedGraph,
    source: int,
    client: Client | None = None,
    *,
    driver: str | None = None,
    direction: str | None = None,
    depth_limit: int | None = None,
    targets: Iterable[int] | None = None,
    threads: int | None = None,
    timeout: float | None = None,
) -> BFSResult:
    """Search a graph breadth first.

    Parameters
    ----------
    graph
        What to search: a graph, which is distributed with defaults, or what :func:`distribute`
        made of it.
    source
        The vertex to start from, by the user's own id.
    client
        A Dask client, for a graph that is not distributed yet. None takes the current one, as
        inside ``with Client(...)``; where there is none, a cluster with one worker is started
        inside this process.
    driver
        What runs the levels: ``"resident"``, one task on each worker for the whole search, the
        fastest on a cluster; ``"waves"``, a task on each worker and a gather for each level, which
        Dask's dashboard shows; ``"direct"``, a loop in this process, without Dask; ``"auto"``,
        resident where one worker holds everything, else waves. None takes the configured one
        (``daskbfs.driver``).
    direction
        ``"beamer"``, ``"coordinator"``, ``"adaptive"``, ``"top_down"`` or ``"bottom_up"``; None
        takes the configured one (``daskbfs.direction.default``). ``"adaptive"`` also chooses
        between CPU and GPU for each level, where the graph's strategy is ``"mirror"``.
    depth_limit
        Go no further than this many edges from the source.
    targets
        Stop after the level in which the last of these vertices was reached.
    threads
        Threads that kernels may use on each worker; None divides a machine's cores among its
        workers.
    timeout
        Seconds after which a search on a cluster is given up with a TimeoutError; None waits for
        as long as its workers live.

    Returns
    -------
    BFSResult
        Parents and levels in the user's own ids, and what was measured. With an asynchronous
        client, ``await bfs(...)``.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(10, 20), (20, 30)])
    >>> int(daskbfs.bfs(graph, source=10).parent[30])
    20
    """
    whole = require_graph(graph)
    driver = check_driver(driver, whole)
    source = whole.vertex(source, "source")
    warm_result(np.dtype(whole.parent_dtype), whole.ids.values is None)
    choose = functools.partial(
        _program, whole, source, direction=direction, depth_limit=depth_limit, targets=targets
    )
    job = Job(choose, driver, threads, timeout)
    return run_job(graph, client, job, functools.partial(_result, whole, source, threads))


def _result(graph: Outline, source: int, threads: int | None, run: FinishedRun | None) -> BFSResult:
    """What a search returns; one from an isolated source has nowhere to go."""
    if run is None:
        return BFSResult(Tree(graph, graph.order, None, None), source, LevelTable([]), 0.0)
    where = run.partitions
    global_id = where.layout.global_id if where.n_partitions > 1 else None
    return BFSResult(
        Tree(where.graph, where.place, global_id, run.result),
        source,
        run.levels,
        run.seconds,
        phases=run.phases,
        last_level=_last_level(run.program, run.levels),
        threads=threads if run.driver == "direct" else None,
        driver=run.driver,
    )


def _program(
    graph: Outline,
    source: int,
    place: np.ndarray,
    *,
    direction: str | None = None,
    depth_limit: int | None = None,
    targets: Iterable[int] | None = None,
) -> BFS | None:
    """The search as a program; None when the source is isolated."""
    if depth_limit is not None:
        depth_limit = as_integer(depth_limit, "depth_limit")
        if depth_limit < 0:
            raise ValueError(f"depth_limit {depth_limit} is negative: it counts edges")
    choose = policy(direction)
    if targets is None:
        targets = ()
    elif not isinstance(targets, Iterable):
        raise TypeError(f"targets {targets!r} is no list: give vertices, for example [{targets!r}]")
    rows = [graph.row_of(graph.vertex(v, "target")) for v in targets]
    goals: tuple[int, ...] | None = None
    # an isolated target is reached only where it is the source, so the search must be a full one
    if rows and None not in rows:
        ids = (int(place[graph.original_index[row]]) for row in rows)  # type: ignore[index]
        goals = tuple(dict.fromkeys(ids))
    row = graph.row_of(source)
    if row is None:
        return None
    return BFS(
        source=int(place[graph.ids.index(source)]),
        degree=graph.degree(row),
        policy=choose,
        choice=implementation_choice(direction),
        depth_limit=depth_limit,
        targets=goals,
        top_down_below=top_down_below(direction, graph.n_arcs),
        serial_arcs=config.get("kernels.serial-arcs"),
        clear_rows=config.get("kernels.clear-rows"),
        subject=f"from {source}",
    )


def _last_level(program: BFS, levels: LevelTable) -> int | None:
    """The level at which a search was told to stop; None for a full search."""
    limited = program.depth_limit is not None or program.targets is not None
    return levels.n_levels if limited else None
