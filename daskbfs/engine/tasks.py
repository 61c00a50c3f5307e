"""The tasks of a run over several workers, by the names that Dask's task stream shows.

All of them are pinned, since states and partitions do not travel, and none waits for another by way
of the scheduler: a wave answers the gather, and the gather starts the next wave, by mail or over
shared memory (:mod:`daskbfs.engine.levels`). Where no task is wanted for each level, one on each
worker does what these would do, one after the other.
"""

from __future__ import annotations

import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from daskbfs.cluster.threads import Share
from daskbfs.distribution.sharing import Sharing
from daskbfs.engine.exchange.mail import Attempt, Mailboxes
from daskbfs.engine.exchange.waiting import Abandoned
from daskbfs.engine.levels import Levels, RunStates
from daskbfs.engine.program import Program
from daskbfs.engine.superstep import MeasuredParts, Measurements, Parts, run_in_place
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.reporter import meter, watcher_for

_STATES = "states"


def open_states(
    program: Program,
    partitions: Sequence[Partition],
    share: Share,
    attempt: Attempt,
    sharing: Sharing | None,
) -> RunStates:
    """Start an attempt on the partitions that this worker holds."""
    mailboxes = Mailboxes.here()
    try:
        states = RunStates.open(program, partitions, share, attempt, sharing)
    except BaseException as error:
        mailboxes.tell(attempt, error)
        raise
    box = mailboxes.open(attempt.run, states)
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
    program: Program,
    partitions: Sequence[Partition],
    share: Share,
    attempt: Attempt,
    sharing: Sharing | None,
) -> Parts:
    """Do this worker's part of a whole run in one task; returns the parts that it holds."""
    states = open_states(program, partitions, share, attempt, sharing)
    try:
        parts: Parts = _with_levels(attempt.run, _run_and_settle)
        return parts
    finally:
        del states  # where this failed, the error's traceback may keep the frame for long


def compute_level(run: str, wave: int) -> None:
    """Run a wave on the partitions that this worker holds: a superstep, or some.

    A wave that was submitted ahead of an end that came before it has nothing to do.
    """
    _with_levels(run, lambda levels: levels.compute(wave))


def gather_level(run: str, wave: int) -> int | None:
    """End a wave, and start the next, or the end of the run; on the coordinator.

    Returns the wave that follows, None when none does: the type alone tells.
    """
    following: int | None = _with_levels(run, lambda levels: levels.gather(wave))
    return following


def settle_result(run: str) -> Parts:
    """The parts of the result that this worker holds, once all workers told what they owe it."""
    parts: Parts = _with_levels(run, lambda levels: levels.settle())
    return parts


def read_measurements(parts: MeasuredParts) -> Measurements:
    """What was measured, without the parts."""
    return parts.measured


def _run_and_settle(levels: Levels) -> Parts:
    levels.run()
    return levels.settle()


def _with_levels(run: str, work: Callable[[Levels], Any]) -> Any:
    """Do a part of an attempt with the states it has here; if that fails, all its workers know."""
    mailboxes = Mailboxes.here()
    box = mailboxes.box(run)
    (reference, attempt) = (box.read(_STATES) or {})[mailboxes.address]
    states = None
    try:
        states = _alive(reference)
        return work(states.levels)
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)  # a kept error must not keep the states
        if states is not None:
            states.levels.fail()
        mailboxes.tell(attempt, error)
        raise
    finally:
        del states


def _alive(reference: weakref.ref[RunStates]) -> RunStates:
    states = reference()
    if states is None:
        raise Abandoned("the run was cancelled")
    return states
