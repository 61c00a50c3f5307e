"""The tasks of a run over several workers, by the names that Dask's task stream shows.

All of them are pinned, since states and partitions do not travel, and none waits for another by way
of the scheduler: a wave answers the gather, and the gather starts the next wave, by mail. Where no
task is wanted for each level, one on each worker does what these would do, one after the other.
"""

from __future__ import annotations

import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from daskbfs.cluster.threads import Share
from daskbfs.engine.exchange.mail import Abandoned, Attempt, Mailbox, Mailboxes
from daskbfs.engine.program import Program
from daskbfs.engine.superstep import (
    Account,
    AttemptStates,
    MeasuredParts,
    Measurements,
    Parts,
    WorkerReply,
    gather,
    run_in_place,
)
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.reporter import meter, watcher_for

_END, _OWED, _STATES = "end", "owed", "states"


class WaveStates(AttemptStates):
    """The states of an attempt that goes in waves, and what the tasks of its worker share."""

    __slots__ = ("account", "attempt", "message")

    def __init__(
        self, program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
    ) -> None:
        coordinates = Mailboxes.here().address == attempt.coordinator
        watcher = watcher_for(attempt.about) if coordinates else None
        self.account = Account(exchanges=True, watcher=watcher)
        super().__init__(program, partitions, share)
        self.attempt = attempt
        self.message = program.first_message(self.numbering)
        self.account.pass_to("init")


def open_states(
    program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
) -> WaveStates:
    """Start an attempt on the partitions that this worker holds."""
    mailboxes = Mailboxes.here()
    try:
        states = WaveStates(program, partitions, share, attempt)
    except BaseException as error:
        mailboxes.tell(attempt, error)
        raise
    box = mailboxes.open(attempt.run, states)
    _start_level(mailboxes, states, 0, mailboxes.address)
    box.put(_STATES, mailboxes.address, (weakref.ref(states), attempt))
    return states


def run_program(
    program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
) -> MeasuredParts:
    """Do a whole run in one task, where this worker holds all partitions."""
    found = run_in_place(program, partitions, share, watcher_for(attempt.about))
    if attempt.about is not None:
        meter(found.measured.records)
    return found


def run_levels(
    program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
) -> Parts:
    """Do this worker's part of a whole run in one task; returns the parts that it holds."""
    states = open_states(program, partitions, share, attempt)
    try:
        parts: Parts = _with_states(attempt.run, _run_levels)
        return parts
    finally:
        del states  # where this failed, the error's traceback may keep the frame for long


def compute_level(run: str, wave: int) -> None:
    """Run a superstep on the partitions that this worker holds, and tell the coordinator.

    A wave that was submitted ahead of an end that came before it has nothing to do.
    """
    _with_states(run, _compute, wave)


def gather_level(run: str, wave: int) -> int | None:
    """Merge the replies of a wave and send the next message, or the last; on the coordinator.

    Returns the wave that follows, None when none does: the type alone tells.
    """
    following: int | None = _with_states(run, _gather, wave)
    return following


def settle_result(run: str) -> Parts:
    """The parts of the result that this worker holds, once all workers told what they owe it."""
    parts: Parts = _with_states(run, _settle)
    return parts


def read_measurements(parts: MeasuredParts) -> Measurements:
    """What was measured, without the parts."""
    return parts.measured


def _with_states(run: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Do a part of an attempt with the states it has here; if that fails, all its workers know."""
    mailboxes = Mailboxes.here()
    box = mailboxes.box(run)
    (reference, attempt) = (box.read(_STATES) or {})[mailboxes.address]
    try:
        return work(mailboxes, box, _alive(reference), *arguments)
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)  # a kept error must not keep the states
        mailboxes.tell(attempt, error)
        raise


def _alive(reference: weakref.ref[WaveStates]) -> WaveStates:
    states = reference()
    if states is None:
        raise Abandoned("the run was cancelled")
    return states


def _compute(mailboxes: Mailboxes, box: Mailbox, states: WaveStates, wave: int) -> bool:
    """Whether there was such a wave."""
    mail = box.take(_message(wave), unless=_END)
    if mail is None:
        return False
    (states.message,) = mail.values()
    attempt = states.attempt
    reply: WorkerReply = states.compute(states.message)
    mailboxes.send(attempt.run, attempt.coordinator, _reply(wave), reply)
    if attempt.about is not None:
        meter(reply.records)
    return True


def _gather(mailboxes: Mailboxes, box: Mailbox, states: WaveStates, wave: int) -> int | None:
    workers = states.attempt.workers
    replies = box.take(_reply(wave), len(workers), unless=_END)
    if replies is None:
        return None
    in_order = [replies[worker] for worker in workers]
    states.message = gather(
        states.program, states.numbering, states.message, in_order, states.account
    )
    for worker in reversed(workers):  # to others first: the way is longer
        _start_level(mailboxes, states, wave + 1, worker)
    return None if states.program.is_done(states.message) else wave + 1


def _run_levels(mailboxes: Mailboxes, box: Mailbox, states: WaveStates) -> Parts:
    wave = 0
    while _compute(mailboxes, box, states, wave):
        if mailboxes.address == states.attempt.coordinator:
            _gather(mailboxes, box, states, wave)
        wave += 1
    return _settle(mailboxes, box, states)


def _settle(mailboxes: Mailboxes, box: Mailbox, states: WaveStates) -> Parts:
    attempt = states.attempt
    (last,) = (box.read(_END, patient=False) or {}).values()
    debts = states.close(last)
    for worker in attempt.workers:
        mailboxes.send(attempt.run, worker, _OWED, debts)
    owed = box.take(_OWED, len(attempt.workers)) or {}
    parts = states.settle(owed[worker] for worker in attempt.workers)
    if mailboxes.address != attempt.coordinator:
        return Parts(parts)
    states.account.pass_to("aggregate")
    return MeasuredParts(parts, states.account.measurements())


def _message(wave: int) -> str:
    return f"message-{wave}"


def _reply(wave: int) -> str:
    return f"reply-{wave}"


def _start_level(mailboxes: Mailboxes, states: WaveStates, wave: int, worker: str) -> None:
    """Send the current message to a worker: it starts a level, or ends the run."""
    topic = _END if states.program.is_done(states.message) else _message(wave)
    mailboxes.send(states.attempt.run, worker, topic, states.message)
