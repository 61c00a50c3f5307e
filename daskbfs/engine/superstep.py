"""One superstep, for any program and any driver: states that expand a level, and the gather.

Nothing here knows which algorithm runs, what drives it, or whether there is a cluster.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from daskbfs.cluster.threads import Share
from daskbfs.engine.program import Program
from daskbfs.engine.state import StaleState
from daskbfs.kernels.threads import threads
from daskbfs.names import Direction
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition
from daskbfs.partition.pinned import Pinned
from daskbfs.telemetry.levels import PHASES, LevelRecord, Phases, Watcher, slowest_seconds


class AttemptStates(Pinned):
    """The states of one attempt on one worker: they live here, and here they stay."""

    __slots__ = ("__weakref__", "partitions", "program", "share", "states")

    def __init__(self, program: Program, partitions: Sequence[Partition], share: Share) -> None:
        self.program = program
        self.partitions = partitions
        self.share = share
        self.states = [program.open(partition, share.name) for partition in partitions]

    @property
    def numbering(self) -> Numbering:
        """What all partitions of the graph share."""
        return self.partitions[0].numbering

    # No comprehension below captures self: the frames of a task that failed may live for long, and
    # what they captured with them.

    def expand(self, message: Any) -> Any:
        """Run one level; returns what these partitions found together."""
        compute = self.program.compute
        with threads(self.share.kernel_threads):
            replies = [compute(*held, message) for held in self._held()]
        return self.program.message(self.numbering, replies)

    def close(self, message: Any) -> list[Any]:
        """End the levels; returns what is owed to partitions elsewhere."""
        program = self.program
        with threads(self.share.kernel_threads):
            for partition, state in self._held():
                program.close(partition, state, message)
            return [program.owed(*held) for held in self._held()]

    def settle(self, owed: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
        """The parts of the result, with what the partitions of all workers owe them."""
        settle = self.program.settle
        debts = [debt for worker in owed for debt in worker]
        with threads(self.share.kernel_threads):
            parts = tuple([settle(*held, debts) for held in self._held()])
        self.states = []  # from now on, their memory serves the next search
        return parts

    def _held(self) -> Iterable[tuple[Partition, Any]]:
        """Partitions and their states."""
        if not self.states:
            raise StaleState("states that were settled met another task of their attempt")
        return zip(self.partitions, self.states, strict=True)

    def __sizeof__(self) -> int:
        return sum(state.nbytes for state in self.states)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a search measured: a record per level and partition, and where the seconds went."""

    records: tuple[LevelRecord, ...]
    phases: Phases


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a result that one worker holds, by partition."""

    parts: tuple[Any, ...]

    def __sizeof__(self) -> int:
        return sum(part.nbytes for part in self.parts)


@dataclass(frozen=True, slots=True)
class Outcome(Parts):
    """What is left of a search in one place: its parts, and what was measured."""

    measured: Measured


class Account:
    """What a search has measured so far, kept where its levels are gathered."""

    def __init__(self, *, exchanges: bool, watcher: Watcher | None = None) -> None:
        self._exchanges = exchanges
        self._watcher = watcher
        self._records: list[LevelRecord] = []
        self._seconds = dict.fromkeys(PHASES, 0.0)
        self._since = time.perf_counter()

    def pass_to(self, phase: str, *, less: float = 0.0) -> None:
        """Book the time since the last entry to a phase, less what another has of it."""
        now = time.perf_counter()
        self._seconds[phase] += max(0.0, now - self._since - less)
        self._since = now

    def level(self, records: Sequence[LevelRecord]) -> None:
        """Book a level that was just computed, here or elsewhere."""
        slowest = slowest_seconds(records)
        self._records += records
        self._seconds["compute"] += slowest
        top_down = records[0].direction is Direction.TOP_DOWN
        self.pass_to("push" if top_down else "pull", less=slowest)
        if self._watcher is not None:
            self._watcher(records)

    def measured(self) -> Measured:
        """All of it."""
        seconds = self._seconds
        if not self._exchanges:  # whatever lay between kernels was no exchange
            seconds = seconds | {"push": 0.0, "pull": 0.0}
        return Measured(tuple(self._records), Phases(**seconds))


def gather(
    program: Program, numbering: Numbering, message: Any, replies: Sequence[Any], account: Account
) -> Any:
    """Merge the replies of a level to the next message."""
    account.level([record for reply in replies for record in reply.records])
    message = program.reduce(numbering, message, replies)
    account.pass_to("gather")
    return message


def run_search(
    program: Program,
    partitions: Sequence[Partition],
    share: Share,
    watcher: Watcher | None = None,
) -> Outcome:
    """A whole search where all partitions are in one place: no level leaves the process."""
    account = Account(exchanges=False, watcher=watcher)
    states = AttemptStates(program, partitions, share)
    message = program.first(states.numbering)
    account.pass_to("init")
    while not program.done(message):
        reply = states.expand(message)
        message = gather(program, states.numbering, message, [reply], account)
    parts = states.settle([states.close(message)])
    account.pass_to("aggregate")
    return Outcome(parts, account.measured())


def measured_of(outcome: Outcome) -> Measured:
    """What was measured, without the parts."""
    return outcome.measured
