"""The tasks of a search over several workers, by the names that Dask's task stream shows.

All of them are pinned, since leases and partitions do not travel, and none waits for another by way
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
from daskbfs.engine.superstep import Account, Leases, Outcome, Parts, gather
from daskbfs.engine.superstep import run_search as run_search_here
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.reporter import meter, watcher_for

_END, _OWED, _LEASES = "end", "owed", "leases"


class WaveLeases(Leases):
    """The leases of an attempt that goes in waves, and what the tasks of its worker share."""

    __slots__ = ("account", "attempt", "message")

    def __init__(
        self, program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
    ) -> None:
        coordinates = Mailboxes.here().address == attempt.coordinator
        watcher = watcher_for(attempt.about) if coordinates else None
        self.account = Account(exchanges=True, watcher=watcher)
        super().__init__(program, partitions, share)
        self.attempt = attempt
        self.message = program.first(self.numbering)
        self.account.pass_to("init")


def open_leases(
    program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
) -> WaveLeases:
    """Start an attempt on the partitions that this worker holds."""
    mailboxes = Mailboxes.here()
    try:
        leases = WaveLeases(program, partitions, share, attempt)
    except BaseException as error:
        mailboxes.tell(attempt, error)
        raise
    box = mailboxes.open(attempt.run, leases)
    _start_level(mailboxes, leases, 0, mailboxes.address)
    box.put(_LEASES, mailboxes.address, (weakref.ref(leases), attempt))
    return leases


def run_search(
    program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
) -> Outcome:
    """Do a whole search in one task, where this worker holds all partitions."""
    outcome = run_search_here(program, partitions, share, watcher_for(attempt.about))
    if attempt.about is not None:
        meter(outcome.measured.records)
    return outcome


def run_levels(
    program: Program, partitions: Sequence[Partition], share: Share, attempt: Attempt
) -> Parts:
    """Do this worker's part of a whole search in one task; returns the parts that it holds."""
    leases = open_leases(program, partitions, share, attempt)
    try:
        parts: Parts = _with_leases(attempt.run, _run_levels)
        return parts
    finally:
        del leases  # where this failed, the error's traceback may keep the frame for long


def expand_level(run: str, level: int) -> None:
    """Run one level on the partitions that this worker holds, and tell the coordinator.

    A level that was submitted ahead of an end that came before it has nothing to do.
    """
    _with_leases(run, _expand, level)


def gather_frontier(run: str, level: int) -> int | None:
    """Merge the replies of a wave and send the next message, or the last; on the coordinator.

    Returns the level that follows, None when none does: the type alone tells.
    """
    following: int | None = _with_leases(run, _gather, level)
    return following


def aggregate_parents(run: str) -> Parts:
    """The parts of the result that this worker holds, once all workers told what they owe it."""
    parts: Parts = _with_leases(run, _aggregate)
    return parts


def _with_leases(run: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Do a part of an attempt with the leases it has here; if that fails, all its workers know."""
    mailboxes = Mailboxes.here()
    box = mailboxes.box(run)
    (reference, attempt) = (box.read(_LEASES) or {})[mailboxes.address]
    try:
        return work(mailboxes, box, _alive(reference), *arguments)
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)  # a kept error must not keep the leases
        mailboxes.tell(attempt, error)
        raise


def _alive(reference: weakref.ref[WaveLeases]) -> WaveLeases:
    leases = reference()
    if leases is None:
        raise Abandoned("the search was cancelled")
    return leases


def _expand(mailboxes: Mailboxes, box: Mailbox, leases: WaveLeases, level: int) -> bool:
    """Whether there was such a level."""
    mail = box.take(_message(level), unless=_END)
    if mail is None:
        return False
    (leases.message,) = mail.values()
    attempt = leases.attempt
    reply = leases.expand(leases.message)
    mailboxes.send(attempt.run, attempt.coordinator, _reply(level), reply)
    if attempt.about is not None:
        meter(reply.records)
    return True


def _gather(mailboxes: Mailboxes, box: Mailbox, leases: WaveLeases, level: int) -> int | None:
    workers = leases.attempt.workers
    replies = box.take(_reply(level), len(workers), unless=_END)
    if replies is None:
        return None
    in_order = [replies[worker] for worker in workers]
    leases.message = gather(
        leases.program, leases.numbering, leases.message, in_order, leases.account
    )
    for worker in reversed(workers):  # to others first: the way is longer
        _start_level(mailboxes, leases, level + 1, worker)
    return None if leases.program.done(leases.message) else level + 1


def _run_levels(mailboxes: Mailboxes, box: Mailbox, leases: WaveLeases) -> Parts:
    level = 0
    while _expand(mailboxes, box, leases, level):
        if mailboxes.address == leases.attempt.coordinator:
            _gather(mailboxes, box, leases, level)
        level += 1
    return _aggregate(mailboxes, box, leases)


def _aggregate(mailboxes: Mailboxes, box: Mailbox, leases: WaveLeases) -> Parts:
    attempt = leases.attempt
    (last,) = (box.read(_END, patient=False) or {}).values()
    debts = leases.close(last)
    for worker in attempt.workers:
        mailboxes.send(attempt.run, worker, _OWED, debts)
    owed = box.take(_OWED, len(attempt.workers)) or {}
    parts = leases.settle(owed[worker] for worker in attempt.workers)
    if mailboxes.address != attempt.coordinator:
        return Parts(parts)
    leases.account.pass_to("aggregate")
    return Outcome(parts, leases.account.measured())


def _message(level: int) -> str:
    return f"message-{level}"


def _reply(level: int) -> str:
    return f"reply-{level}"


def _start_level(mailboxes: Mailboxes, leases: WaveLeases, level: int, worker: str) -> None:
    """Send the current message to a worker: it starts a level, or ends the search."""
    topic = _END if leases.program.done(leases.message) else _message(level)
    mailboxes.send(leases.attempt.run, worker, topic, leases.message)
