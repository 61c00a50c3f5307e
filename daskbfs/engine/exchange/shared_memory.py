"""What the workers of an attempt share where all are on one host: memory, and where they meet.

A level's results are written where all can read them, so what goes from worker to worker is a line
of numbers for each partition (:mod:`daskbfs.kernels.meeting`). Every worker reads the lines of all,
in the order of the partitions, and comes to the same next message: nobody decides for others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from daskbfs import config
from daskbfs.cluster.segment import Column, Segment, Slot, SlotAddress, place_columns
from daskbfs.distribution.sharing import Holders, Sharing
from daskbfs.engine.exchange.mail import Attempt, Mailbox
from daskbfs.engine.exchange.waiting import require_wanted, wait_politely
from daskbfs.kernels import meeting
from daskbfs.kernels.threads import spins
from daskbfs.machine import hardware

_ERROR_SECONDS = 1e-3  # between two looks for the mail that tells why a run was aborted

Line = Sequence[float]
"""What one partition has to say of a level; float64 holds integers up to 2**53."""


class Columns(NamedTuple):
    """The arrays that a run shares on a host."""

    work: tuple[Column, ...]
    """For as long as it runs."""
    result: tuple[Column, ...] = ()
    """For as long as its result is wanted."""


@dataclass(frozen=True, slots=True)
class SharedValues:
    """Where the values of a result lie in a host's memory, by global id."""

    address: SlotAddress
    column: Column


class MeetingPlace:
    """Where the partitions of an attempt meet, as one worker sees it."""

    def __init__(
        self,
        place: np.ndarray,
        mine: Sequence[int],
        n_partitions: int,
        n_workers: int,
        check: Callable[[], None],
    ) -> None:
        self.place = place
        self.mine = tuple(mine)
        """The numbers of the partitions that this worker speaks for."""
        self.n_partitions = n_partitions
        self.turn = 0
        """The last one that all have come to."""
        crowded = n_workers > hardware.n_cores()
        self.n_spins = 0 if crowded else spins(1e-6 * config.get("exchange.spin-microseconds"))
        self.deadline = math.inf
        """When this worker, if it is the coordinator, ends the wave; by the system's clock."""
        self.is_over = False
        """Whether the coordinator ended the wave in the last turn."""
        self.check = check
        """Raises the error that has ended the attempt, or that it is not wanted any more."""
        self._heard = np.empty((n_partitions, meeting.N_SAID))

    def tell_and_hear(self, lines: Sequence[Line]) -> np.ndarray:
        """Say a line for each own partition; returns those of all, as soon as all have said it."""
        self.turn += 1
        over = time.perf_counter() >= self.deadline
        for number, line in zip(self.mine, lines, strict=True):
            said = np.array([over, *line], np.float64)
            meeting.say_line(self.place, self.turn, number, self.n_partitions, said)
        self.wait(self._meet)
        self.is_over = bool(self._heard[0, 0])
        return self._heard[:, 1:]

    def come_together(self) -> None:
        """Wait for all, without anything to say."""
        self.tell_and_hear([()] * len(self.mine))

    def _meet(self, seconds: float) -> int:
        ended: int = meeting.meet(
            self.place, self.turn, self.n_partitions, self.n_spins, seconds, self._heard
        )
        return ended

    def wait(self, try_for: Callable[[float], int], *, patient: bool = True) -> None:
        """Wait with something that takes so many seconds at most, and tells how it ended."""

        def is_there(seconds: float) -> bool:
            ended = try_for(seconds)
            if ended == meeting.MET:
                return True
            self.check()
            if ended == meeting.ABORT:  # the error is on its way
                time.sleep(_ERROR_SECONDS)
            return False

        wait_politely(is_there, patient=patient)

    def release_wave(self, wave: int) -> None:
        """Let workers begin with a wave."""
        meeting.raise_word(self.place, meeting.COUNTER, wave)

    def is_released(self, wave: int) -> bool:
        """Whether a wave may begin."""
        return bool(self.place[meeting.COUNTER] >= wave)

    def await_wave(self, wave: int, *, patient: bool = True) -> None:
        """Wait until a wave may begin."""

        def look(seconds: float) -> int:
            ended: int = meeting.await_word(
                self.place, meeting.COUNTER, wave, self.n_spins, seconds
            )
            return ended

        self.wait(look, patient=patient)

    def abort(self) -> None:
        """End the waiting of all."""
        meeting.raise_word(self.place, meeting.ABORTED, 1)


@dataclass(frozen=True, slots=True, eq=False)
class SharedRun:
    """What one attempt shares on a host."""

    columns: dict[str, np.ndarray]
    meeting: MeetingPlace
    values: SharedValues | None
    """Where its result will be, if that is shared."""
    holders: Holders
    """The worker of each partition, and its device."""
    together: bool
    """Whether each worker has one partition, on a CPU: then kernels can meet on their own."""


def join_run(
    sharing: Sharing,
    columns: Columns,
    kind: str,
    attempt: Attempt,
    box: Mailbox,
    mine: Sequence[int],
) -> SharedRun:
    """Take part in what an attempt shares: its first worker makes it, others wait for that."""
    n_partitions = len(sharing.holders)
    work_columns = _with_place(columns, n_partitions)
    work = _slot(sharing.segment, attempt, box, _work(kind), work_columns, work_columns[0].nbytes)
    arrays = work.columns(work_columns)
    values = None
    if columns.result:
        result = _slot(sharing.segment, attempt, box, _result(kind), columns.result)
        arrays |= result.columns(columns.result)
        values = SharedValues(result.address, columns.result[0])
    n_workers = len(attempt.workers)

    def check() -> None:
        box.check()
        require_wanted()

    there = MeetingPlace(arrays.pop("place"), mine, n_partitions, n_workers, check)
    return SharedRun(arrays, there, values, sharing.holders, sharing.together)


def touch_memory(
    sharing: Sharing, columns: Columns, kind: str, run: str, n_results: int
) -> list[Slot]:
    """Have the memory of runs of a kind in place here: the first to write to a page waits for it.

    The first worker is to be asked first, and what is returned to be kept until all have been.
    """
    wanted = [(_work(kind), run, _with_place(columns, len(sharing.holders)))]
    if columns.result:
        wanted += [(_result(kind), f"{run} {k}", columns.result) for k in range(n_results)]
    segment, slots = sharing.segment, []
    for kind_of_slot, name, its_columns in wanted:
        if segment.member == 0:
            slot = segment.give(name, kind_of_slot, place_columns(its_columns)[-1])
        else:
            found = segment.find(name, kind_of_slot)
            assert found is not None, "the first worker was asked first"
            slot = found
        slot.bytes.fill(0)
        slots.append(slot)
    return slots


def _with_place(columns: Columns, n_partitions: int) -> tuple[Column, ...]:
    """Columns for as long as a run takes, and before them the place where its workers meet."""
    return (Column("place", meeting.n_words(n_partitions), np.int64), *columns.work)


def _work(kind: str) -> str:
    return f"{kind} work"


def _result(kind: str) -> str:
    return f"{kind} result"


def _slot(
    segment: Segment,
    attempt: Attempt,
    box: Mailbox,
    kind: str,
    columns: Sequence[Column],
    n_cleared: int = 0,
) -> Slot:
    """The slot of an attempt for some columns."""
    if segment.member == 0:
        return segment.give(attempt.run, kind, place_columns(columns)[-1], n_cleared)
    found: list[Slot] = []

    def look(seconds: float) -> bool:
        box.check()
        slot = segment.await_slot(attempt.run, kind, seconds)
        found.extend([slot] if slot else [])
        return bool(found)

    wait_politely(look)
    return found[0]
