"""Jobs become runs: at once in this process, or on a cluster, again where workers are lost.

Knows drivers and placed partitions, but no algorithm: what is run is a program, and what comes back
is where the parts of its result are and what was measured.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from distributed import CancelledError, Client

from daskbfs import config
from daskbfs.cluster.futures import new_run
from daskbfs.cluster.liveness import WorkersLost, wait_unless_lost
from daskbfs.cluster.local import current_client
from daskbfs.cluster.workers import check_scheduler
from daskbfs.distribution.distributed_graph import (
    DistributedGraph,
    distribute_graph,
    require_graph,
)
from daskbfs.distribution.placed_partitions import PlacedPartitions
from daskbfs.engine.drivers.direct import WholeGraph
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.job import FinishedRun, Job, run_once
from daskbfs.engine.program import Program
from daskbfs.engine.state import StaleState
from daskbfs.engine.warmup import warm_workers
from daskbfs.graph.graph import Graph
from daskbfs.kernels.threads import check_threads
from daskbfs.telemetry.records import About, RunRecord, plain_text
from daskbfs.telemetry.reporter import quietly

T = TypeVar("T")


def run_job(
    graph: Graph | DistributedGraph,
    client: Client | None,
    job: Job,
    finish: Callable[[FinishedRun | None], T],
) -> T:
    """Run a job and make a result of it; with an asynchronous client, to be awaited.

    ``finish`` is given None where there was nothing to do.
    """
    if job.driver == "direct":
        whole = require_graph(graph)
        assert isinstance(whole, Graph)
        check_threads(job.threads)
        return finish(_complete(_run_here(whole, job)))
    graph, client = _on_cluster(graph, client)

    async def run_and_finish() -> T:
        return finish(await _run_within(job.timeout, graph, client, job))

    result: T = client.sync(run_and_finish)
    return result


def _complete(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine that never waits returns."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise AssertionError("a coroutine waits, and there is no event loop")


async def _run_here(graph: Graph, job: Job) -> FinishedRun | None:
    """Run a job in this process."""
    whole = WholeGraph.of(graph)
    program = job.choose(whole.place)
    if program is None:
        return None
    await whole.warm(program)
    return await run_once(whole, program, Attempt("here", ()), job)


def _on_cluster(
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


async def _run_within(
    timeout: float | None, graph: Graph | DistributedGraph, client: Client, job: Job
) -> FinishedRun | None:
    """Run a job on a cluster, for so many seconds at most; None where there is nothing to do."""
    try:
        async with asyncio.timeout(timeout):
            return await _run(graph, client, job)
    except TimeoutError as error:
        if timeout is None:
            raise
        raise TimeoutError(f"the run did not end within {timeout} s") from error


async def _run(graph: Graph | DistributedGraph, client: Client, job: Job) -> FinishedRun | None:
    """Run a job; where workers are lost, mend the graph and run it again."""
    if isinstance(graph, Graph):
        graph = await _distribute_once(graph, client)
    n_attempts = config.get("recovery.attempts")
    placed = graph.placed_partitions
    broken = False
    silent: frozenset[str] = frozenset()
    for attempt in range(1, n_attempts + 1):
        try:
            if broken:
                await graph.recover(placed, silent)
            placed, broken = graph.placed_partitions, False
            return await _run_attempt(placed, job)
        except WorkersLost as loss:
            if attempt == n_attempts:
                raise RuntimeError(
                    f"the run was given up after {n_attempts} attempts: {loss}"
                ) from loss
            broken, silent = True, silent | loss.silent
        except CancelledError:  # of this run, or of the partitions that it needs?
            if attempt == n_attempts or placed.intact:
                raise
            broken = True
        except StaleState:
            if attempt == n_attempts:
                raise
    raise AssertionError("unreachable")


async def _run_attempt(placed: PlacedPartitions, job: Job) -> FinishedRun | None:
    """One attempt, reported to the scheduler however it ends."""
    program = job.choose(placed.place)
    if program is None:
        return None
    if job.driver == "auto":
        driver = "resident" if len(placed.placement.workers) == 1 else "waves"
        job = replace(job, driver=driver)
    about = _describe_run(placed, program, job.driver)
    reporter = placed.reporter if config.get("telemetry.enabled") else None
    attempt = Attempt(
        about.run,
        placed.placement.workers,
        about if reporter else None,
        config.get("waves.seconds"),
    )
    start = time.perf_counter()
    try:
        running = _warm_and_run(placed, program, attempt, job)
        finished = await wait_unless_lost(placed.client, placed.processes, running)
    except BaseException as error:
        if reporter is not None:
            with quietly():
                seconds = time.perf_counter() - start
                reporter.run(RunRecord(about).as_failed(_reason(error), seconds))
        raise
    if reporter is not None:
        with quietly():
            reporter.run(_record(about, placed, finished))
    return finished


async def _warm_and_run(
    placed: PlacedPartitions, program: Program, attempt: Attempt, job: Job
) -> FinishedRun:
    """Run a program where workers are ready for it."""
    await warm_workers(placed, program)
    return await run_once(placed, program, attempt, job)


def _describe_run(placed: PlacedPartitions, program: Program, driver: str) -> About:
    """What the scheduler is told of a run before it begins."""
    return About(
        run=new_run(),
        client=placed.client.id,
        algorithm=program.algorithm,
        graph=plain_text(placed.graph.name),
        subject=plain_text(program.subject),
        driver=driver,
        began=time.time(),
    )


def _record(about: About, placed: PlacedPartitions, run: FinishedRun) -> RunRecord:
    """What the scheduler is told of a run that is over."""
    edges = run.program.count_edges(placed.graph, placed.numbering, run.levels)
    most = config.get("telemetry.levels")
    return RunRecord.done(about, run.levels, run.phases, run.seconds, edges, most)


def _reason(error: BaseException) -> str:
    """Why an attempt came to nothing, in a line."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled, or out of time"
    return plain_text(f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class Distributions:
    """The clusters that a graph was distributed to because a run needed it there."""

    graph: Graph
    by_client: dict[str, tuple[Client, asyncio.Future[DistributedGraph]]] = field(
        default_factory=dict
    )


async def _distribute_once(graph: Graph, client: Client) -> DistributedGraph:
    """The graph on a client's cluster, distributed with defaults, once."""
    distributions = graph.derive(Distributions, Distributions)
    known = distributions.by_client
    for name, (other, _) in list(known.items()):
        if other.status != "running":
            del known[name]
    if client.id not in known:
        distributing = distribute_graph(distributions.graph, client)
        known[client.id] = (client, asyncio.ensure_future(distributing))
    _, distributed = known[client.id]
    try:
        return await asyncio.shield(distributed)
    except BaseException:
        if distributed.done() and (distributed.cancelled() or distributed.exception()):
            known.pop(client.id, None)
        raise
