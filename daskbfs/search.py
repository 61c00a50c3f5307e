"""The public function: one search, by whichever driver."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from distributed import CancelledError, Client

from daskbfs import config
from daskbfs.cluster import embedded_client, new_run
from daskbfs.direction import policy
from daskbfs.distribution import DistributedGraph, spread
from daskbfs.drivers import direct, resident, waves
from daskbfs.drivers.common import warm_workers
from daskbfs.graph import Graph, Outline
from daskbfs.holding import Holding
from daskbfs.kernels.compiling import check_threads, disband, refuse_fork
from daskbfs.lease import StaleLease
from daskbfs.post import Attempt
from daskbfs.programs.bfs import BFS
from daskbfs.records import About, SearchRecord, plain_text
from daskbfs.reporting import quietly
from daskbfs.result import BFSResult, Tree
from daskbfs.superstep import Share
from daskbfs.telemetry import LevelTable
from daskbfs.types import as_integer
from daskbfs.warming import warm
from daskbfs.watch import WorkersLost, check_scheduler, guarded

DRIVERS = ("auto", "direct", "resident", "waves")


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
) -> Any:
    """Search a graph breadth first.

    Parameters
    ----------
    graph
        What to search: a graph, which is distributed with defaults, or what :func:`distribute`
        made of it.
    source
        The vertex to start from, by the user's own id.
    client
        A Dask client, for a graph that is not distributed yet; None starts a cluster with one
        worker inside this process.
    driver
        What runs the levels: ``"resident"``, one task on each worker for the whole search, the
        fastest on a cluster; ``"waves"``, a task on each worker and a gather for each level, which
        Dask's dashboard shows; ``"direct"``, a loop in this process, without Dask; ``"auto"``,
        resident where one worker holds everything, else waves. None takes the configured one
        (``daskbfs.driver``).
    direction
        ``"beamer"``, ``"coordinator"``, ``"top_down"`` or ``"bottom_up"``; None takes the
        configured one (``daskbfs.direction.default``).
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
    refuse_fork()
    whole = graph.graph if isinstance(graph, DistributedGraph) else graph
    if not isinstance(whole, Outline):
        raise TypeError(
            f"a {type(graph).__name__} is no graph: make one with from_edges, read_graph, "
            "from_scipy or from_networkx"
        )
    driver = config.get("driver") if driver is None else driver
    if driver not in DRIVERS:
        raise ValueError(f"driver {driver!r} is unknown: choose one of {', '.join(DRIVERS)}")
    source = whole.vertex(source, "source")
    choose = functools.partial(
        _program, whole, source, direction=direction, depth_limit=depth_limit, targets=targets
    )
    if driver == "direct":
        if not isinstance(whole, Graph):
            raise ValueError(
                "driver 'direct' searches in this process, but the graph's rows are on the "
                "workers that built them: take 'auto'"
            )
        check_threads(threads)
        return _search_here(whole, source, choose(whole.order), threads)
    if isinstance(graph, DistributedGraph):
        if client is not None and client is not graph.client:
            graph = graph.seen_by(client)
        client = graph.client
    elif client is None:
        client = embedded_client()
    check_scheduler(client)
    disband()  # kernels run elsewhere now
    return client.sync(_search_within, timeout, graph, client, source, choose, driver, threads)


def _search_here(graph: Graph, source: int, program: BFS | None, threads: int | None) -> BFSResult:
    """Search in this process."""
    warm(str(graph.out.indptr.dtype))
    partition = direct.whole(graph)
    start = time.perf_counter()
    if program is None:
        return _isolated(graph, source)
    outcome = direct.search(partition, program, Share(threads))
    seconds = time.perf_counter() - start
    levels = LevelTable(outcome.measured.records)
    tree = Tree(graph, graph.order, None, lambda: outcome.parts[0].parent)
    return BFSResult(
        tree,
        source,
        levels,
        seconds,
        phases=outcome.measured.phases,
        last_level=_last_level(program, levels),
        threads=threads,
    )


async def _search_within(timeout: float | None, *arguments: Any) -> BFSResult:
    """Search on a cluster, for so many seconds at most."""
    try:
        async with asyncio.timeout(timeout):
            return await _search_there(*arguments)
    except TimeoutError as error:
        if timeout is None:
            raise
        raise TimeoutError(f"the search did not end within {timeout} s") from error


async def _search_there(
    graph: Graph | DistributedGraph,
    client: Client,
    source: int,
    choose: Callable[[np.ndarray], BFS | None],
    driver: str,
    threads: int | None,
) -> BFSResult:
    """Search on a cluster; where workers are lost, mend the graph and search again."""
    placed = graph if isinstance(graph, DistributedGraph) else await _placed(graph, client)
    n_attempts = config.get("recovery.attempts")
    holding = placed.holding
    broken = False
    silent: frozenset[str] = frozenset()
    for attempt in range(1, n_attempts + 1):
        try:
            if broken:
                await placed.recover(holding, silent)
            holding, broken = placed.holding, False
            return await _attempted(holding, source, choose, driver, threads)
        except WorkersLost as loss:
            if attempt == n_attempts:
                raise RuntimeError(
                    f"the search was given up after {n_attempts} attempts: {loss}"
                ) from loss
            broken, silent = True, silent | loss.silent
        except CancelledError:  # of this search, or of the partitions that it needs?
            if attempt == n_attempts or holding.intact:
                raise
            broken = True
        except StaleLease:
            if attempt == n_attempts:
                raise
    raise AssertionError("unreachable")


async def _attempted(
    holding: Holding,
    source: int,
    choose: Callable[[np.ndarray], BFS | None],
    driver: str,
    threads: int | None,
) -> BFSResult:
    """One attempt at a search, told to the scheduler however it ends."""
    program = choose(holding.place)
    if program is None:
        return _isolated(holding.graph, source)
    if driver == "auto":
        driver = "resident" if len(holding.placement.workers) == 1 else "waves"
    reporter = holding.reporter if config.get("telemetry.enabled") else None
    run, client = new_run(), holding.client
    about = About(run, client.id, plain_text(holding.graph.name), source, driver, time.time())
    attempt = Attempt(run, holding.placement.workers, about if reporter else None)
    start = time.perf_counter()
    try:
        searching = _search_once(holding, source, program, attempt, driver, threads)
        result = await guarded(client, holding.processes, searching)
    except BaseException as error:
        if reporter is not None:
            with quietly():
                seconds = time.perf_counter() - start
                reporter.search(SearchRecord(about).failed(_reason(error), seconds))
        raise
    if reporter is not None:
        with quietly():
            reporter.search(_record(about, holding, result))
    return result


def _record(about: About, holding: Holding, result: BFSResult) -> SearchRecord:
    """What the scheduler is told of a search that is over."""
    levels = result.levels
    share = min(1.0, levels.summary.scout_count / holding.numbering.n_arcs)
    edges = round(holding.graph.n_input_edges * share)
    most = config.get("telemetry.levels")
    return SearchRecord.done(about, levels, result.phases, result.seconds, edges, most)


def _reason(error: BaseException) -> str:
    """Why an attempt came to nothing, in a line."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled, or out of time"
    return plain_text(f"{type(error).__name__}: {error}")


async def _search_once(
    holding: Holding,
    source: int,
    program: BFS,
    attempt: Attempt,
    driver: str,
    threads: int | None,
) -> BFSResult:
    """Search, and bring what was measured."""
    await warm_workers(holding)
    start = time.perf_counter()
    run = resident.search if driver == "resident" else waves.search
    found = await run(holding, program, attempt, threads)
    seconds = time.perf_counter() - start
    try:
        measured = await found.measured()
    except BaseException:
        found.release()  # whoever handles the error may hold this frame for long
        raise
    levels = LevelTable(measured.records)
    holding.n_levels = levels.n_levels
    tree = Tree(
        holding.graph,
        holding.place,
        holding.layout.global_id if holding.n_partitions > 1 else None,
        found.fetch,
        holding,
        found.bring,
        found.parts,
    )
    return BFSResult(
        tree,
        source,
        levels,
        seconds,
        phases=measured.phases,
        last_level=_last_level(program, levels),
        driver=driver,
    )


async def _placed(graph: Graph, client: Client) -> DistributedGraph:
    """The graph on a client's cluster, distributed with defaults, once."""
    placings = graph.derived.setdefault("placing", {})
    for name, (other, _) in list(placings.items()):
        if other.status != "running":
            del placings[name]
    if client.id not in placings:
        placings[client.id] = (client, asyncio.ensure_future(spread(graph, client)))
    _, placing = placings[client.id]
    try:
        placed: DistributedGraph = await asyncio.shield(placing)
    except BaseException:
        if placing.done() and (placing.cancelled() or placing.exception()):
            placings.pop(client.id, None)
        raise
    return placed


def _isolated(graph: Outline, source: int) -> BFSResult:
    """The result of a search that has nowhere to go."""
    return BFSResult(Tree(graph, graph.order, None, lambda: None), source, LevelTable([]), 0.0)


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
        goals = tuple(int(place[graph.original_index[row]]) for row in rows)  # type: ignore[index]
    row = graph.row_of(source)
    if row is None:
        return None
    return BFS(
        source=int(place[graph.ids.index(source)]),
        degree=graph.degree(row),
        policy=choose,
        depth_limit=depth_limit,
        targets=goals,
        serial_arcs=config.get("kernels.serial-arcs"),
    )


def _last_level(program: BFS, levels: LevelTable) -> int | None:
    """The level at which a search was told to stop; None for a full search."""
    told = program.depth_limit is not None or program.targets is not None
    return levels.n_levels if told else None
