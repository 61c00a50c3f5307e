"""From one message to the next, over several workers: by mail, or over memory that they share.

Both do the same for the tasks of a run (:mod:`daskbfs.engine.tasks`). By mail, the coordinator
reduces all replies, and sends the message that follows. Over shared memory every worker reads what
all have replied, and reduces it for itself.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from daskbfs.cluster.threads import Share
from daskbfs.distribution.sharing import Sharing
from daskbfs.engine.exchange.mail import Attempt, Mailbox, Mailboxes
from daskbfs.engine.exchange.shared_memory import MeetingPlace, SharedRun, join_run
from daskbfs.engine.exchange.waiting import LOOK_SECONDS, wait_politely
from daskbfs.engine.program import Part, Program
from daskbfs.engine.superstep import (
    Account,
    AttemptStates,
    MeasuredParts,
    Parts,
    WorkerReply,
    gather,
)
from daskbfs.kernels import meeting
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.levels import LevelRecord, LevelSpan, SpanWork, Work, record_levels
from daskbfs.telemetry.reporter import meter, watcher_for

_END, _OWED = "end", "owed"
_OVER = 2**40  # the wave that is released when no more follow


class Levels(Protocol):
    """How the levels of an attempt go on, as one of its workers sees it."""

    def compute(self, wave: int) -> bool:
        """Do this worker's part of a wave; returns whether there was anything to do."""

    def gather(self, wave: int) -> int | None:
        """End a wave, on the coordinator; returns the wave that follows, None when none does."""

    def run(self) -> None:
        """Do this worker's part of all levels, where no task is wanted for each wave."""

    def settle(self) -> Parts:
        """The parts of the result that this worker holds, once the levels are over."""

    def fail(self) -> None:
        """See that no other worker waits for this one."""


class RunStates(AttemptStates):
    """The states of an attempt over several workers, and what the tasks of one worker share."""

    __slots__ = ("account", "attempt", "coordinates", "levels", "message", "shared")

    def __init__(
        self,
        program: Program,
        partitions: Sequence[Partition],
        share: Share,
        attempt: Attempt,
        account: Account,
        *,
        coordinates: bool,
        shared: SharedRun | None,
    ) -> None:
        self.attempt = attempt
        self.account = account
        self.coordinates = coordinates
        """Whether this worker is the coordinator."""
        self.shared = shared
        super().__init__(program, partitions, share, None if shared is None else shared.columns)
        self.message = program.first_message(self.numbering)
        self.levels: Levels

    @classmethod
    def open(
        cls,
        program: Program,
        partitions: Sequence[Partition],
        share: Share,
        attempt: Attempt,
        sharing: Sharing | None,
    ) -> RunStates:
        """The states of an attempt on the worker of the current task."""
        mailboxes = Mailboxes.here()
        box = mailboxes.box(attempt.run)
        coordinates = mailboxes.address == attempt.coordinator
        account = Account(
            exchanges=True, watcher=watcher_for(attempt.about) if coordinates else None
        )
        shared: SharedRun | None = None
        if sharing is not None:
            columns = program.share(partitions[0].numbering)
            mine = [partition.number for partition in partitions]
            shared = join_run(sharing, columns, program.variant, attempt, box, mine)
        states = cls(
            program, partitions, share, attempt, account, coordinates=coordinates, shared=shared
        )
        there = weakref.proxy(states)  # levels live as long as their states, which they refer to
        if shared is None:
            states.levels = LevelsByMail(there, mailboxes, box)
        else:
            states.levels = LevelsByMemory(there, shared)
        account.pass_to("init")
        return states

    @property
    def done(self) -> bool:
        """Whether no superstep follows."""
        return self.program.is_done(self.message)

    def take_parts(self, owed: Any) -> Parts:
        """The parts of the result here, once the levels are over."""
        parts = self.settle(owed)
        if not self.coordinates:
            return Parts(parts)
        self.account.pass_to("aggregate")
        values = None if self.shared is None else self.shared.values
        return MeasuredParts(parts, self.account.measurements(values))


class LevelsByMail:
    """Replies go to the coordinator, and messages come from there."""

    def __init__(self, states: RunStates, mailboxes: Mailboxes, box: Mailbox) -> None:
        self._states = states
        self._mailboxes = mailboxes
        self._box = box
        self._send_message(0, mailboxes.address)

    def compute(self, wave: int) -> bool:
        states, mailboxes = self._states, self._mailboxes
        mail = self._box.take(_message(wave), unless=_END)
        if mail is None:
            return False
        (states.message,) = mail.values()
        attempt = states.attempt
        reply: WorkerReply = states.answer(states.message)
        mailboxes.send(attempt.run, attempt.coordinator, _reply(wave), reply)
        if attempt.about is not None:
            meter(reply.records)
        return True

    def gather(self, wave: int) -> int | None:
        states, workers = self._states, self._states.attempt.workers
        replies = self._box.take(_reply(wave), len(workers), unless=_END)
        if replies is None:
            return None
        in_order = [replies[worker] for worker in workers]
        states.message = gather(
            states.program, states.numbering, states.message, in_order, states.account
        )
        states.account.n_waves += 1
        for worker in reversed(workers):  # to others first: the way is longer
            self._send_message(wave + 1, worker)
        return None if states.done else wave + 1

    def run(self) -> None:
        wave = 0
        while self.compute(wave):
            if self._states.coordinates:
                self.gather(wave)
            wave += 1

    def settle(self) -> Parts:
        states, mailboxes = self._states, self._mailboxes
        attempt = states.attempt
        (last,) = (self._box.read(_END, patient=False) or {}).values()
        debts = states.close(last)
        for worker in attempt.workers:
            mailboxes.send(attempt.run, worker, _OWED, debts)
        owed = self._box.take(_OWED, len(attempt.workers)) or {}
        return states.take_parts(owed[worker] for worker in attempt.workers)

    def fail(self) -> None:
        """Nothing more: the mail that tells of an error ends all waiting."""

    def _send_message(self, wave: int, worker: str) -> None:
        """Send the current message to a worker: it starts a level, or ends the run."""
        states = self._states
        topic = _END if states.done else _message(wave)
        self._mailboxes.send(states.attempt.run, worker, topic, states.message)


def _message(wave: int) -> str:
    return f"message-{wave}"


def _reply(wave: int) -> str:
    return f"reply-{wave}"


class LevelsByMemory:
    """Each partition says a line of numbers, which all workers read."""

    def __init__(self, states: RunStates, shared: SharedRun) -> None:
        self._states = states
        self._shared = shared
        self._place = shared.meeting
        self._computed = threading.Condition()
        self._n_begun = self._n_computed = 0
        """Waves that this worker has begun, and that it has done."""
        self._seconds = 0.0
        """How long these took."""
        if states.coordinates and states.done:  # no wave follows that could end the run
            self._place.release_wave(_OVER)

    def compute(self, wave: int) -> bool:
        """Run as many levels as fit the time of a wave, or one.

        Waves of a long run become longer: each may take as long as all before it together.
        """
        self._place.await_wave(wave)
        self._await_computed(self._n_begun)
        busy = not self._states.done
        if busy:
            self._n_begun = wave + 1
            start = time.perf_counter()
            least = self._states.attempt.wave_seconds
            self._run(wave, max(least, self._seconds) if least else 0.0)
            self._seconds += time.perf_counter() - start
        with self._computed:
            self._n_computed = max(self._n_computed, wave + 1)  # waves ahead of an end come at once
            self._computed.notify_all()
        return busy

    def gather(self, wave: int) -> int | None:
        states = self._states
        self._await_computed(wave + 1)
        if not states.done:
            states.account.n_waves = wave + 1
            self._place.release_wave(wave + 1)
            return wave + 1
        if not self._place.is_released(_OVER):
            states.account.n_waves = wave + 1
            self._place.release_wave(_OVER)
        return None

    def run(self) -> None:
        self._run(0, math.inf)
        if self._states.coordinates:
            self._place.release_wave(_OVER)

    def settle(self) -> Parts:
        states = self._states
        self._place.await_wave(_OVER, patient=False)
        self._await_computed(self._n_begun)
        states.close(states.message)
        parts = states.take_parts([])
        self._place.come_together()  # what others settle may be ours
        return parts

    def fail(self) -> None:
        self._place.abort()

    def _await_computed(self, n: int) -> None:
        """Wait until this worker has done so many waves: another of its threads may be at it.

        A wave is over for others when they have heard of its last level; here it may still be
        reduced then.
        """

        def are_done(seconds: float) -> bool:
            with self._computed:
                if self._computed.wait_for(lambda: self._n_computed >= n, seconds):
                    return True
            self._place.check()
            return False

        wait_politely(are_done)

    def _run(self, wave: int, seconds: float) -> None:
        """Run levels until the coordinator says that the time is over."""
        states, place = self._states, self._place
        if wave == 0:
            place.come_together()  # all states are open
        place.deadline = time.perf_counter() + (seconds if states.coordinates else math.inf)
        records: list[LevelRecord | LevelSpan] = []
        over = False
        next_look = time.perf_counter() + LOOK_SECONDS
        while not over and not states.done:
            if time.perf_counter() > next_look:  # where nobody ever waits for long
                place.check()
                next_look = time.perf_counter() + LOOK_SECONDS
            replies, works, taken = self._compute_level()
            over = place.is_over
            levels = self._record(works, taken)
            if states.coordinates:
                states.account.superstep(levels)
            records += (levels[p] for p in place.mine)
            states.message = states.program.reduce(states.numbering, states.message, replies)
            states.account.pass_to("gather")
        if states.attempt.about is not None:
            meter(records)

    def _compute_level(self) -> tuple[Sequence[Any], Sequence[Work | SpanWork], Sequence[float]]:
        """A level, or several: what partitions reply, what each had to do, and how long it took."""
        states, place, message = self._states, self._place, self._states.message
        program = states.program
        if self._shared.together:
            found = states.compute_together(message, place)
            if found is not None:
                reply, spans = found
                return [reply], spans, [float(span.seconds.sum()) for span in spans]
        if program.prepares(message):
            states.prepare(message)
            place.come_together()
        lines, here = [], []
        for _, reply, work, seconds in states.compute(message):
            assert isinstance(work, Work)  # levels of several partitions go together, or one by one
            said = program.to_numbers(reply)
            lines.append((seconds, work.edges_examined, work.exchanged_bytes, *said))
            here.append(work)
        heard = place.tell_and_hear(lines)
        replies = [program.from_numbers(numbers, message) for numbers in heard[:, 3:].tolist()]
        works = [
            here[0]._replace(edges_examined=int(examined), exchanged_bytes=int(exchanged))
            for _, examined, exchanged in heard[:, :3].tolist()
        ]
        return replies, works, heard[:, 0].tolist()

    def _record(
        self, works: Sequence[Work | SpanWork], taken: Sequence[float]
    ) -> list[LevelRecord | LevelSpan]:
        """The record of each partition."""
        level = self._states.message.level
        return [
            record_levels(level, device, p, worker, taken[p], works[p])
            for p, (worker, device) in enumerate(self._shared.holders)
        ]


def run_as_shared(
    program: Program, partitions: Sequence[Partition], share: Share
) -> tuple[Part, ...]:
    """A whole run in one place, over memory as if workers shared it; returns its parts.

    For warming, and to test programs without a cluster.
    """
    numbering = partitions[0].numbering
    columns = program.share(numbering)
    arrays = {c.name: np.zeros(c.size, c.dtype) for c in (*columns.work, *columns.result)}
    mine = [partition.number for partition in partitions]
    words = np.zeros(meeting.n_words(len(mine)), np.int64)
    shared = SharedRun(
        arrays,
        MeetingPlace(words, mine, len(mine), 1, lambda: None),
        None,
        tuple(("here", partition.memory.device) for partition in partitions),
        len(mine) == 1,
    )
    attempt, account = Attempt("here", ("here",)), Account(exchanges=True)
    states = RunStates(
        program, partitions, share, attempt, account, coordinates=True, shared=shared
    )
    levels = LevelsByMemory(states, shared)
    levels.run()
    return levels.settle().parts
