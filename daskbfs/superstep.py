"""What runs on a worker: functions that Dask's task stream shows by name.

Every function takes the program and the partitions that this worker holds; none of them knows
which algorithm runs, or what drives it. A process without Dask calls the same functions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from daskbfs import machine
from daskbfs.kernels.compiling import n_threads, threads
from daskbfs.partition import Numbering, Partition
from daskbfs.programs import Program
from daskbfs.telemetry import LevelRecord, Phases


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a machine a worker's kernels may take."""

    threads: int | None = None
    """As told by the user; None divides the machine's cores among its workers."""
    n_workers: int = 1
    """Workers on this machine."""
    name: str | None = None
    """What records call the worker."""

    @property
    def kernel_threads(self) -> int:
        """Threads that kernels may use here."""
        if self.threads is not None:
            return self.threads
        return min(n_threads(), max(1, machine.n_cores() // self.n_workers))


class Leases:
    """The leases of one attempt on one worker: they live here, and here they stay."""

    __slots__ = ("leases", "share")

    def __init__(self, leases: list[Any], share: Share) -> None:
        self.leases = leases
        self.share = share

    def __reduce__(self) -> NoReturn:
        raise TypeError("leases are pinned to their worker: they are neither copied nor spilled")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a search measured: a record per level and partition, and where the seconds went."""

    records: tuple[LevelRecord, ...]
    phases: Phases


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a result that one worker holds, by partition."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Outcome(Parts):
    """What is left of a search in one place: its parts, and what was measured."""

    measured: Measured


def open_leases(program: Program, partitions: Sequence[Partition], share: Share) -> Leases:
    """Start an attempt on the partitions that this worker holds."""
    return Leases([program.open(partition, share.name) for partition in partitions], share)


def expand_level(
    program: Program, partitions: Sequence[Partition], leases: Leases, message: Any
) -> Any:
    """Run one level on the partitions that this worker holds; pinned, because the leases live here.

    A level that was submitted ahead of an end that came before it has nothing to do.
    """
    if program.done(message):
        return None
    with threads(leases.share.kernel_threads):
        replies = [
            program.compute(partition, lease, message)
            for partition, lease in zip(partitions, leases.leases, strict=True)
        ]
    return program.message(partitions[0].numbering, replies)


def gather_frontier(
    program: Program, numbering: Numbering, message: Any, replies: Sequence[Any]
) -> Any:
    """Merge the replies of a wave to the next message; on the coordinator."""
    return message if program.done(message) else program.reduce(numbering, message, replies)


def close_leases(
    program: Program, partitions: Sequence[Partition], leases: Leases, message: Any
) -> list[Any]:
    """End the levels on this worker; returns what is owed to partitions elsewhere."""
    with threads(leases.share.kernel_threads):
        for partition, lease in zip(partitions, leases.leases, strict=True):
            program.close(partition, lease, message)
        return [program.owed(lease) for lease in leases.leases]


def aggregate_parents(
    program: Program, partitions: Sequence[Partition], leases: Leases, owed: Sequence[Sequence[Any]]
) -> Parts:
    """The parts of the result that this worker holds, with what all others owe it."""
    debts = [debt for worker in owed for debt in worker]
    return Parts(
        tuple(
            program.settle(partition, lease, debts)
            for partition, lease in zip(partitions, leases.leases, strict=True)
        )
    )


def run_search(program: Program, partitions: Sequence[Partition], share: Share) -> Outcome:
    """A whole search where all partitions are in one place: no level leaves the process."""
    numbering = partitions[0].numbering
    start = time.perf_counter()
    leases = open_leases(program, partitions, share)
    message = program.first(numbering)
    opened = time.perf_counter()
    while not program.done(message):
        reply = expand_level(program, partitions, leases, message)
        message = gather_frontier(program, numbering, message, [reply])
    searched = time.perf_counter()
    owed = close_leases(program, partitions, leases, message)
    parts = aggregate_parents(program, partitions, leases, [owed]).parts
    phases = message.phases.plus(init=opened - start, aggregate=time.perf_counter() - searched)
    return Outcome(parts, Measured(message.records, phases))
