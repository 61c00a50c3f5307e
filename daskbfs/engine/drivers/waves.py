"""The waves driver: for each level one task on each worker, then a gather on the coordinator.

Where a partition is alone, one wave covers as many levels as one kernel call runs; where workers
share memory, as many as fit ``waves.seconds``. Waves are submitted ahead, and every task is on its
worker before its turn comes: levels follow each other by mail or over shared memory
(:mod:`daskbfs.engine.levels`), so neither the client nor the scheduler stands between two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from distributed import Future

from daskbfs import config
from daskbfs.cluster.futures import wait_all
from daskbfs.distribution.placed_partitions import PlacedPartitions
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.program import Program
from daskbfs.engine.results import RemoteResult
from daskbfs.engine.tasks import compute_level, gather_level, open_states, settle_result

Key = tuple[str | int, ...]
_MANY = 2**31
_FEW_LEFT = 2  # waves ahead of the run: time to submit more
_FIRST = 2**40  # priority: a worker runs the tasks of a run in the order of their waves
_TURNS = 3  # of a wave: wave, gather, and the aggregation where a run is expected to end


class _Tasks:
    """A graph of pinned tasks, to be submitted as one."""

    def __init__(self, placed: PlacedPartitions) -> None:
        self._placed_partitions = placed
        self._tasks: dict[Key, tuple[Any, ...]] = {}
        self._workers: dict[Key, str] = {}
        self._priorities: dict[Key, int] = {}

    def add(
        self, worker: str, name: Key, priority: int, function: Callable[..., Any], *arguments: Any
    ) -> Key:
        """Put a task on a worker; returns its key."""
        key = (self._placed_partitions.task_group(function.__name__), *name)
        self._tasks[key] = (function, *arguments)
        self._workers[key] = worker
        self._priorities[key] = priority
        return key

    def submit(self, keys: list[Key]) -> list[Future]:
        """Futures for some of the tasks; the others live as long as they are needed."""
        # the scheduler asks the annotations for the worker of each key; a dict's own method needs
        # none of our code over there
        pinned = {
            "workers": self._workers.__getitem__,
            "priority": self._priorities.__getitem__,
            "allow_other_workers": False,
        }
        with self._placed_partitions.annotate(**pinned):
            futures: list[Future] = self._placed_partitions.client.get(
                self._tasks, keys, sync=False
            )
        return futures


async def run(
    placed: PlacedPartitions, program: Program, attempt: Attempt, threads: int | None
) -> RemoteResult:
    """Run a program in waves."""
    return await _Waves(placed, program, attempt, threads).run()


class _Waves:
    """One run in waves."""

    def __init__(
        self, placed: PlacedPartitions, program: Program, attempt: Attempt, threads: int | None
    ) -> None:
        self.placed = placed
        self.program = program
        self.attempt = attempt
        self.workers = attempt.workers
        self.shares = placed.shares(threads)
        self.n_waves = 0
        """Waves submitted so far."""
        expected = placed.expected_waves(program.algorithm) or _MANY
        self.expected = min(expected, config.get("waves.levels-ahead"))
        """Waves that the run will take, going by the one before."""
        self.held: list[Future] = []
        """Keeps waves ahead alive until the run is over."""

    async def run(self) -> RemoteResult:
        """Run all levels, and bring results to the rows that they belong to."""
        first = self.program.first_message(self.placed.numbering)
        n_ahead = 0 if self.program.is_done(first) else self.expected + 1
        tasks = _Tasks(self.placed)
        ends = self._add_ends(tasks)
        levels = self._add_levels(tasks, n_ahead)
        futures = tasks.submit([*ends, *levels])
        parts, self.held = futures[: len(self.workers)], futures[len(self.workers) :]
        ended = asyncio.ensure_future(wait_all(parts))
        try:
            await self._keep_ahead(futures[len(ends) :], n_ahead, ended)
            await ended
        except BaseException:
            self.held += parts
            raise
        finally:
            _drop(ended)
            for future in self.held:  # the caller may keep an error, and so this frame, for long
                future.release()
        return RemoteResult(self.placed, parts)

    async def _keep_ahead(
        self, levels: list[Future], n_ahead: int, ended: asyncio.Future[None]
    ) -> None:
        """Submit more levels as the run goes on; returns when it needs no more."""
        while levels:
            gathers = levels[len(self.workers) :: len(self.workers) + 1]
            watched = gathers[-min(len(gathers), _FEW_LEFT)]
            going = asyncio.ensure_future(wait_all([watched]))
            try:
                await asyncio.wait({ended, going}, return_when=asyncio.FIRST_COMPLETED)
                if ended.done():
                    return
                await going
            finally:
                _drop(going)
            if watched.type is not int:  # the last level is gathered
                return
            n_ahead = min(2 * n_ahead, config.get("waves.most-levels-ahead"))
            more = _Tasks(self.placed)
            levels = more.submit(self._add_levels(more, n_ahead))
            self.held += levels

    def _add_ends(self, tasks: _Tasks) -> list[Key]:
        """Add what a run starts and ends with; returns the keys of the parts, then of states."""
        run = self.attempt.run
        parts, states = [], []
        for w, worker in enumerate(self.workers):
            states.append(
                tasks.add(
                    worker,
                    (run, w),
                    _FIRST,
                    open_states,
                    self.program,
                    self.placed.held_by(worker),
                    self.shares[worker],
                    self.attempt,
                    self.placed.sharing(worker),
                )
            )
            parts.append(
                tasks.add(
                    worker,
                    (run, w),
                    _FIRST - _TURNS * self.expected,
                    settle_result,
                    run,
                )
            )
        return [*parts, *states]

    def _add_levels(self, tasks: _Tasks, n: int) -> list[Key]:
        """Add waves and gathers for some levels, in the order in which they should start."""
        run, first = self.attempt.run, self.n_waves
        self.n_waves += n
        keys: list[Key] = []
        for wave in range(first, self.n_waves):
            turn = _FIRST - _TURNS * wave
            for w, worker in enumerate(self.workers):
                keys.append(tasks.add(worker, (run, wave, w), turn - 1, compute_level, run, wave))
            coordinator = self.attempt.coordinator
            keys.append(tasks.add(coordinator, (run, wave), turn - 2, gather_level, run, wave))
        return keys


def _drop(waiting: asyncio.Future[None]) -> None:
    """Wait no longer, and say nothing of how it ends."""
    waiting.cancel()
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
