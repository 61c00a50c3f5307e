"""One superstep, for any program and any driver: states that compute a level, and the gather.

Nothing here knows which algorithm runs, what drives it, or whether there is a cluster.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from daskbfs.cluster.threads import Share
from daskbfs.engine.exchange.shared_memory import MeetingPlace, SharedValues
from daskbfs.engine.program import Message, Part, Program, SharedColumns
from daskbfs.engine.state import LevelState, StaleState
from daskbfs.kernels.threads import threads
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition
from daskbfs.partition.pinned import Pinned
from daskbfs.telemetry.levels import (
    PHASES,
    LevelRecord,
    LevelSpan,
    Phases,
    SpanWork,
    Watcher,
    Work,
    exchange_phase,
    record_levels,
    slowest_seconds,
)


class Computed(NamedTuple):
    """What one partition replies to a message, what it had to do for that, and how long it took."""

    partition: Partition
    reply: Any
    work: Work | SpanWork
    seconds: float


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """What one worker's partitions reply to a message, and the record of each."""

    content: Any
    records: tuple[LevelRecord | LevelSpan, ...]


class AttemptStates(Pinned):
    """The states of one attempt on one worker: they live here, and here they stay."""

    __slots__ = ("__weakref__", "partitions", "program", "share", "states")

    def __init__(
        self,
        program: Program,
        partitions: Sequence[Partition],
        share: Share,
        columns: SharedColumns | None = None,
    ) -> None:
        self.program = program
        self.partitions = partitions
        self.share = share
        self.states: list[LevelState] = []
        for partition in partitions:
            with partition.memory.active():
                self.states.append(program.open_state(partition, columns))

    @property
    def numbering(self) -> Numbering:
        """What all partitions of the graph share."""
        return self.partitions[0].numbering

    # No comprehension below captures self: the frames of a task that failed may live for long, and
    # what they captured with them.

    def prepare(self, message: Message) -> None:
        """Bring what all partitions found to the form that the next superstep wants it in."""
        prepare = self.program.prepare
        with threads(self.share.kernel_threads):
            for partition, state in self._paired():
                with partition.memory.active():
                    prepare(partition, state, message)

    def compute(self, message: Message) -> list[Computed]:
        """Run one superstep on each partition."""
        found, compute = [], self.program.compute
        with threads(self.share.kernel_threads):
            for partition, state in self._paired():
                start = time.perf_counter()
                state.begin_level(message.level)
                with partition.memory.active():
                    reply, work = compute(partition, state, message)
                seconds = time.perf_counter() - start
                state.end_levels(message.level + work.n_levels)
                found.append(Computed(partition, reply, work, seconds))
        return found

    def compute_together(
        self, message: Message, place: MeetingPlace
    ) -> tuple[Any, Sequence[SpanWork]] | None:
        """Run several levels of the only partition here, if the program can, with all others.

        Returns what all partitions reply together, and what each had to do.
        """
        ((partition, state),) = self._paired()
        state.begin_level(message.level)
        with threads(self.share.kernel_threads):
            found = self.program.compute_together(partition, state, message, place)
        state.end_levels(message.level + (0 if found is None else found[1][0].n_levels))
        return found

    def answer(self, message: Message) -> WorkerReply:
        """Run one superstep; returns what these partitions reply together."""
        found = self.compute(message)
        records = tuple(
            record_levels(
                message.level, c.partition.memory.device, c.partition.number, self.share.name,
                c.seconds, c.work,
            )
            for c in found
        )  # fmt: skip
        return WorkerReply(self.program.combine(self.numbering, [c.reply for c in found]), records)

    def close(self, message: Message) -> list[Any]:
        """End the levels; returns what is owed to partitions elsewhere."""
        program, owed = self.program, []
        with threads(self.share.kernel_threads):
            for partition, state in self._paired():
                state.check_level(message.level)
                with partition.memory.active():
                    program.close(partition, state, message)
            for partition, state in self._paired():
                with partition.memory.active():
                    owed.append(program.collect_owed(partition, state))
        return owed

    def settle(self, owed: Iterable[Sequence[Any]]) -> tuple[Part, ...]:
        """The parts of the result, with what the partitions of all workers owe them."""
        settle, parts = self.program.settle, []
        debts = [debt for worker in owed for debt in worker]
        with threads(self.share.kernel_threads):
            for partition, state in self._paired():
                with partition.memory.active():
                    parts.append(settle(partition, state, debts))
        self.states = []  # from now on, their memory serves the next run
        return tuple(parts)

    def _paired(self) -> Iterable[tuple[Partition, LevelState]]:
        """Partitions and their states."""
        if not self.states:
            raise StaleState("states that were settled met another task of their attempt")
        return zip(self.partitions, self.states, strict=True)

    def __sizeof__(self) -> int:
        return sum(state.nbytes for state in self.states)


@dataclass(frozen=True, slots=True)
class Measurements:
    """What a run measured: a record per level and partition, and where the seconds went."""

    records: tuple[LevelRecord | LevelSpan, ...]
    phases: Phases
    n_waves: int
    values: SharedValues | None = None
    """Where the values of the result lie, if in memory that processes of the host share."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a result that one worker holds, by partition."""

    parts: tuple[Part, ...]

    def __sizeof__(self) -> int:
        return sum(part.nbytes for part in self.parts)


@dataclass(frozen=True, slots=True)
class MeasuredParts(Parts):
    """The parts of the worker that gathered, and what was measured."""

    measured: Measurements


class Account:
    """What a run has measured so far, kept where its levels are gathered."""

    def __init__(self, *, exchanges: bool, watcher: Watcher | None = None) -> None:
        self._exchanges = exchanges
        self._watcher = watcher
        self._records: list[LevelRecord | LevelSpan] = []
        self.n_waves = 0
        self._seconds = dict.fromkeys(PHASES, 0.0)
        self._since = time.perf_counter()

    def pass_to(self, phase: str, *, less: float = 0.0) -> None:
        """Book the time since the last entry to a phase, less what another has of it."""
        now = time.perf_counter()
        self._seconds[phase] += max(0.0, now - self._since - less)
        self._since = now

    def superstep(self, records: Sequence[LevelRecord | LevelSpan]) -> None:
        """Book what was just computed, here or elsewhere."""
        slowest = slowest_seconds(records)
        self._records += records
        self._seconds["compute"] += slowest
        self.pass_to(exchange_phase(records), less=slowest)
        if self._watcher is not None:
            self._watcher(records)

    def measurements(self, values: SharedValues | None = None) -> Measurements:
        """All of it."""
        seconds = self._seconds
        if not self._exchanges:  # whatever lay between kernels was no exchange
            seconds = seconds | {"push": 0.0, "pull": 0.0}
        return Measurements(tuple(self._records), Phases(**seconds), self.n_waves, values)


def gather(
    program: Program,
    numbering: Numbering,
    message: Message,
    replies: Sequence[WorkerReply],
    account: Account,
) -> Any:
    """Merge the replies of a level to the next message."""
    account.superstep([record for reply in replies for record in reply.records])
    following = program.reduce(numbering, message, [reply.content for reply in replies])
    account.pass_to("gather")
    return following


def run_in_place(
    program: Program,
    partitions: Sequence[Partition],
    share: Share,
    watcher: Watcher | None = None,
) -> MeasuredParts:
    """A whole run where all partitions are in one place: no level leaves the process."""
    account = Account(exchanges=False, watcher=watcher)
    states = AttemptStates(program, partitions, share)
    message = program.first_message(states.numbering)
    account.pass_to("init")
    while not program.is_done(message):
        reply = states.answer(message)
        message = gather(program, states.numbering, message, [reply], account)
    parts = states.settle([states.close(message)])
    account.pass_to("aggregate")
    return MeasuredParts(parts, account.measurements())
