"""Programs on a cluster: attempts, and what becomes of them when workers are lost.

Knows drivers and holdings, but no algorithm: what is run is a program, and what comes back is where
its parts lie and what was measured.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import CancelledError, Client

from daskbfs import config
from daskbfs.cluster.futures import new_run
from daskbfs.cluster.liveness import WorkersLost, guarded
from daskbfs.cluster.local import current_client
from daskbfs.cluster.workers import check_scheduler
from daskbfs.distribution.distributed_graph import DistributedGraph, spread
from daskbfs.distribution.placed_partitions import Holding
from daskbfs.engine.drivers import resident, waves
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.remote_result import Placed, warm_workers
from daskbfs.engine.state import StaleState
from daskbfs.graph.graph import Graph, Outline
from daskbfs.names import DRIVERS
from daskbfs.telemetry.levels import LevelTable, Phases
from daskbfs.telemetry.records import About, SearchRecord, plain_text
from daskbfs.telemetry.reporter import quietly


@dataclass(frozen=True, slots=True)
class Subject:
    """What a run is about, as the scheduler is told."""

    graph: str
    source: int


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run."""

    choose: Callable[[np.ndarray], Any]
    """The program, given the global id of each vertex; None where there is nothing to do."""
    driver: str
    threads: int | None
    subject: Subject | None
    """None is not told to the scheduler."""


@dataclass(frozen=True, slots=True)
class Run:
    """A program that has run."""

    program: Any
    holding: Holding
    found: Placed
    levels: LevelTable
    phases: Phases
    seconds: float
    driver: str


def checked_driver(driver: str | None, graph: Outline) -> str:
    """The driver that was asked for or configured; an error where it cannot run the graph."""
    driver = config.get("driver") if driver is None else driver
    if driver not in DRIVERS:
        raise ValueError(f"driver {driver!r} is unknown: choose one of {', '.join(DRIVERS)}")
    if driver == "direct" and not isinstance(graph, Graph):
        raise ValueError(
            "driver 'direct' searches in this process, but the graph's rows are on the "
            "workers that built them: take 'auto'"
        )
    return driver


def on_cluster(
    graph: Graph | DistributedGraph, client: Client | None
) -> tuple[Graph | DistributedGraph, Client]:
    """A graph as a client sees it, and that client: the current one where none is given."""
    if isinstance(graph, DistributedGraph):
        if client is not None and client is not graph.client:
            graph = graph.seen_by(client)
        client = graph.client
    elif client is None:
        client = current_client()
    check_scheduler(client)
    return graph, client


async def run_within(
    timeout: float | None, graph: Graph | DistributedGraph, client: Client, job: Job
) -> Run | None:
    """Run a job on a cluster, for so many seconds at most; None where there is nothing to do."""
    try:
        async with asyncio.timeout(timeout):
            return await _run(graph, client, job)
    except TimeoutError as error:
        if timeout is None:
            raise
        raise TimeoutError(f"the search did not end within {timeout} s") from error


async def _run(graph: Graph | DistributedGraph, client: Client, job: Job) -> Run | None:
    """Run a job; where workers are lost, mend the graph and run it again."""
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
            return await _attempted(holding, job)
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
        except StaleState:
            if attempt == n_attempts:
                raise
    raise AssertionError("unreachable")


async def _attempted(holding: Holding, job: Job) -> Run | None:
    """One attempt, told to the scheduler however it ends."""
    program = job.choose(holding.place)
    if program is None:
        return None
    driver = job.driver
    if driver == "auto":
        driver = "resident" if len(holding.placement.workers) == 1 else "waves"
    run, client = new_run(), holding.client
    subject = job.subject or Subject("", -1)
    about = About(run, client.id, plain_text(subject.graph), subject.source, driver, time.time())
    told = job.subject is not None and config.get("telemetry.enabled")
    reporter = holding.reporter if told else None
    attempt = Attempt(run, holding.placement.workers, about if reporter else None)
    start = time.perf_counter()
    try:
        running = _run_once(holding, program, attempt, driver, job.threads)
        result = await guarded(client, holding.processes, running)
    except BaseException as error:
        if reporter is not None:
            with quietly():
                seconds = time.perf_counter() - start
                reporter.search(SearchRecord(about).failed(_reason(error), seconds))
        raise
    if reporter is not None:
        with quietly():
            reporter.search(_record(about, result))
    return result


def _record(about: About, run: Run) -> SearchRecord:
    """What the scheduler is told of a search that is over."""
    holding = run.holding
    share = min(1.0, run.levels.summary.scout_count / holding.numbering.n_arcs)
    edges = round(holding.graph.n_input_edges * share)
    most = config.get("telemetry.levels")
    return SearchRecord.done(about, run.levels, run.phases, run.seconds, edges, most)


def _reason(error: BaseException) -> str:
    """Why an attempt came to nothing, in a line."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled, or out of time"
    return plain_text(f"{type(error).__name__}: {error}")


async def _run_once(
    holding: Holding, program: Any, attempt: Attempt, driver: str, threads: int | None
) -> Run:
    """Run a program, and bring what was measured."""
    await warm_workers(holding, program)
    start = time.perf_counter()
    search = resident.search if driver == "resident" else waves.search
    found = await search(holding, program, attempt, threads)
    seconds = time.perf_counter() - start
    try:
        measured = await found.measured()
    except BaseException:
        found.release()  # the caller that handles the error may keep this frame alive for long
        raise
    levels = LevelTable(measured.records)
    holding.n_levels = levels.n_levels
    return Run(program, holding, found, levels, measured.phases, seconds, driver)


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
