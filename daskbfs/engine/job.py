"""What is to be run, and what a run comes to, for any driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from daskbfs import config
from daskbfs.engine.drivers import direct, resident, waves
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.program import Program
from daskbfs.engine.results import Result
from daskbfs.engine.superstep import Parts
from daskbfs.graph.graph import Graph, Outline
from daskbfs.names import DRIVERS
from daskbfs.partition.layout import Layout
from daskbfs.partition.numbering import Numbering
from daskbfs.telemetry.levels import LevelTable, Phases


class Partitions(Protocol):
    """A graph's partitions, here or on a cluster: where a program runs."""

    @property
    def graph(self) -> Outline: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def n_partitions(self) -> int: ...
    @property
    def numbering(self) -> Numbering: ...
    @property
    def place(self) -> np.ndarray: ...
    def expect_waves(self, algorithm: str, n: int) -> None: ...


_RUN: dict[str, Any] = {"direct": direct.run, "resident": resident.run, "waves": waves.run}
"""By driver: ``async run(partitions, program, attempt, threads) -> Result``."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run, and how."""

    choose: Callable[[np.ndarray], Program | None]
    """The program, given the global id of each vertex; None where there is nothing to do."""
    driver: str
    threads: int | None = None
    timeout: float | None = None
    """Seconds, on a cluster."""
    fetch: bool = False
    """Whether the parts of the result are wanted here at once."""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A program that has run."""

    program: Any
    partitions: Any
    result: Result
    levels: LevelTable
    phases: Phases
    seconds: float
    driver: str
    parts: Sequence[Parts] = ()
    """The parts of the result, where the job wanted them."""


async def run_once(
    partitions: Partitions, program: Program, attempt: Attempt, job: Job
) -> FinishedRun:
    """Run a program with the job's driver, and bring what was measured."""
    start = time.perf_counter()
    result: Result = await _RUN[job.driver](partitions, program, attempt, job.threads)
    seconds = time.perf_counter() - start
    try:
        measured = await result.measurements()
        parts = await result.bring_parts() if job.fetch else ()
    except BaseException:
        result.release()  # the caller that handles the error may keep this frame alive for long
        raise
    levels = LevelTable(measured.records)
    partitions.expect_waves(program.algorithm, measured.n_waves)
    return FinishedRun(
        program, partitions, result, levels, measured.phases, seconds, job.driver, parts
    )


def check_driver(driver: str | None, graph: Outline) -> str:
    """The driver that was asked for or configured; an error where it cannot run the graph."""
    driver = config.get("driver") if driver is None else driver
    if driver not in DRIVERS:
        raise ValueError(f"driver {driver!r} is unknown: choose one of {', '.join(DRIVERS)}")
    if driver == "direct" and not isinstance(graph, Graph):
        raise ValueError(
            "driver 'direct' runs in this process, but the graph's rows are on the workers that "
            "built them: take 'auto'"
        )
    return driver
