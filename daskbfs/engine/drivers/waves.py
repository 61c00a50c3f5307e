"""The waves driver: for each level one task on each worker, then a gather on the coordinator.

Levels are submitted ahead, and every task is on its worker before its turn comes: frontiers travel
by mail (:mod:`daskbfs.engine.exchange.mail`), so neither the client nor the scheduler stands
between two levels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from distributed import Future

from daskbfs import config
from daskbfs.cluster.futures import wait_all
from daskbfs.distribution.placed_partitions import Holding
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.program import Program
from daskbfs.engine.remote_result import Placed
from daskbfs.engine.tasks import aggregate_parents, expand_level, gather_frontier, open_states

Key = tuple[str | int, ...]
_MANY = 2**31
_FEW_LEFT = 2  # levels ahead of the search: time to submit more
_FIRST = 2**40  # priority: a worker runs the tasks of a search in the order of their levels
_TURNS = 3  # of a level: wave, gather, and the aggregation where a search is expected to end


class _Tasks:
    """A graph of pinned tasks, to be submitted as one."""

    def __init__(self, holding: Holding) -> None:
        self._holding = holding
        self._tasks: dict[Key, tuple[Any, ...]] = {}
        self._workers: dict[Key, str] = {}
        self._priorities: dict[Key, int] = {}

    def add(
        self, worker: str, name: Key, priority: int, function: Callable[..., Any], *arguments: Any
    ) -> Key:
        """Put a task on a worker; returns its key."""
        key = (self._holding.task_group(function.__name__), *name)
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
        with self._holding.annotated(**pinned):
            futures: list[Future] = self._holding.client.get(self._tasks, keys, sync=False)
        return futures


async def search(
    holding: Holding, program: Program, attempt: Attempt, threads: int | None
) -> Placed:
    """Run a program in waves."""
    return await _Waves(holding, program, attempt, threads).search()


class _Waves:
    """One search in waves."""

    def __init__(
        self, holding: Holding, program: Program, attempt: Attempt, threads: int | None
    ) -> None:
        self.holding = holding
        self.program = program
        self.attempt = attempt
        self.workers = attempt.workers
        self.shares = holding.shares(threads)
        self.n_levels = 0
        """Levels submitted so far."""
        self.expected = min(holding.n_levels or _MANY, config.get("waves.levels-ahead"))
        """Levels that the search will take, going by the one before."""
        self.held: list[Future] = []
        """Keeps levels ahead alive until the search is over."""

    async def search(self) -> Placed:
        """Run all levels, and bring parents to the rows that they belong to."""
        first = self.program.first(self.holding.numbering)
        n_ahead = 0 if self.program.done(first) else self.expected + 1
        tasks = _Tasks(self.holding)
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
        return Placed(self.holding, parts)

    async def _keep_ahead(
        self, levels: list[Future], n_ahead: int, ended: asyncio.Future[None]
    ) -> None:
        """Submit more levels as the search goes on; returns when it needs no more."""
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
            more = _Tasks(self.holding)
            levels = more.submit(self._add_levels(more, n_ahead))
            self.held += levels

    def _add_ends(self, tasks: _Tasks) -> list[Key]:
        """Add what a search starts and ends with; returns the keys of the parts, then of states."""
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
                    self.holding.held_by(worker),
                    self.shares[worker],
                    self.attempt,
                )
            )
            parts.append(
                tasks.add(
                    worker,
                    (run, w),
                    _FIRST - _TURNS * self.expected,
                    aggregate_parents,
                    run,
                )
            )
        return [*parts, *states]

    def _add_levels(self, tasks: _Tasks, n: int) -> list[Key]:
        """Add waves and gathers for some levels, in the order in which they should start."""
        run, first = self.attempt.run, self.n_levels
        self.n_levels += n
        keys: list[Key] = []
        for level in range(first, self.n_levels):
            turn = _FIRST - _TURNS * level
            for w, worker in enumerate(self.workers):
                keys.append(tasks.add(worker, (run, level, w), turn - 1, expand_level, run, level))
            coordinator = self.attempt.coordinator
            keys.append(tasks.add(coordinator, (run, level), turn - 2, gather_frontier, run, level))
        return keys


def _drop(waiting: asyncio.Future[None]) -> None:
    """Wait no longer, and say nothing of how it ends."""
    waiting.cancel()
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
