"""The waves driver: for each level one task on each worker, then a gather on the coordinator.

Levels are submitted ahead, as one graph, so that the client does not stand between two levels. The
type of a gather's result tells the client that a search is done; nothing is fetched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dask
from distributed import Future

from daskbfs import config
from daskbfs.cluster import settled
from daskbfs.distribution import DistributedGraph
from daskbfs.drivers.common import Placed, new_run, shares
from daskbfs.programs import Program
from daskbfs.superstep import (
    Measured,
    aggregate_parents,
    close_leases,
    expand_level,
    gather_frontier,
    open_leases,
)

Key = tuple[str | int, ...]
_FEW_LEFT = 2  # levels ahead of the search: time to submit more


class _Tasks:
    """A graph of pinned tasks, to be submitted as one."""

    def __init__(self, graph: DistributedGraph) -> None:
        self._client = graph.client
        self._tasks: dict[Key, tuple[Any, ...]] = {}
        self._workers: dict[Key, str] = {}

    def add(self, worker: str, key: Key, function: Callable[..., Any], *arguments: Any) -> Key:
        """Put a task on a worker."""
        self._tasks[key] = (function, *arguments)
        self._workers[key] = worker
        return key

    def submit(self, keys: list[Key]) -> list[Future]:
        """Futures for some of the tasks; the others live as long as they are needed."""
        # the scheduler asks the annotation for the worker of each key; a dict's own method needs
        # none of our code over there
        with dask.annotate(workers=self._workers.__getitem__, allow_other_workers=False):  # type: ignore[attr-defined]
            futures: list[Future] = self._client.get(self._tasks, keys, sync=False)
        return futures


async def search(graph: DistributedGraph, program: Program, threads: int | None) -> Placed:
    """Run a program in waves."""
    return await _Waves(graph, program, threads).search()


class _Waves:
    """One search in waves."""

    def __init__(self, graph: DistributedGraph, program: Program, threads: int | None) -> None:
        self.graph = graph
        self.program = program
        self.run = new_run()
        self.workers = graph.placement.workers
        self.coordinator = graph.placement.coordinator
        self.shares = shares(graph, threads)
        self.leases: list[Future] = []
        self.init_seconds = 0.0

    async def search(self) -> Placed:
        """Run all levels, then bring parents to the rows that they belong to."""
        message = await self._run_levels()
        ended = time.perf_counter()
        parts, measured = self._finish(message)
        await settled(parts)
        return Placed(parts, measured, self.init_seconds, time.perf_counter() - ended)

    async def _run_levels(self) -> Any:
        """Submit levels ahead of the search until a gather says that it is done.

        Returns the last message: a future, or the first message where that is the last too.
        """
        start = time.perf_counter()
        tasks = _Tasks(self.graph)
        leases = [
            tasks.add(
                worker,
                (f"open_leases-{self.run}", w),
                open_leases,
                self.program,
                self.graph.held_by(worker),
                self.shares[worker],
            )
            for w, worker in enumerate(self.workers)
        ]
        first = self.program.first(self.graph.numbering)
        n_ahead = 0 if self.program.done(first) else config.get("waves.levels-ahead")
        gathers = self._add_levels(tasks, 0, n_ahead, first, leases)
        futures = tasks.submit([*leases, *gathers])
        self.leases, pending = futures[: len(leases)], futures[len(leases) :]
        await settled(self.leases)
        self.init_seconds = time.perf_counter() - start
        if not pending:
            return first
        level = 0
        while True:
            message = pending.pop(0)
            if len(pending) < _FEW_LEFT:
                n_ahead = min(2 * n_ahead, config.get("waves.most-levels-ahead"))
                more = _Tasks(self.graph)
                last = pending[-1] if pending else message
                keys = self._add_levels(
                    more, level + 1 + len(pending), n_ahead, last, list(self.leases)
                )
                pending += more.submit(keys)
            await settled([message])
            if message.type is self.program.last_message:
                return message
            level += 1

    def _add_levels(
        self, tasks: _Tasks, first_level: int, n: int, message: Any, leases: list[Any]
    ) -> list[Key]:
        """Add waves and gathers for some levels; returns the keys of the gathers."""
        gathers = []
        numbering = self.graph.numberings[self.coordinator]
        for level in range(first_level, first_level + n):
            replies = [
                tasks.add(
                    worker,
                    (f"expand_level-{self.run}", level, w),
                    expand_level,
                    self.program,
                    self.graph.held_by(worker),
                    leases[w],
                    message,
                )
                for w, worker in enumerate(self.workers)
            ]
            message = tasks.add(
                self.coordinator,
                (f"gather_frontier-{self.run}", level),
                gather_frontier,
                self.program,
                numbering,
                message,
                replies,
            )
            gathers.append(message)
        return gathers

    def _finish(self, message: Any) -> tuple[list[Future], Future]:
        """Submit what follows the last level: parts of the result, and what was measured."""
        tasks = _Tasks(self.graph)
        owed = [
            tasks.add(
                worker,
                (f"close_leases-{self.run}", w),
                close_leases,
                self.program,
                self.graph.held_by(worker),
                self.leases[w],
                message,
            )
            for w, worker in enumerate(self.workers)
        ]
        parts = [
            tasks.add(
                worker,
                (f"aggregate_parents-{self.run}", w),
                aggregate_parents,
                self.program,
                self.graph.held_by(worker),
                self.leases[w],
                owed,
            )
            for w, worker in enumerate(self.workers)
        ]
        measured = tasks.add(
            self.coordinator, (f"measured_of_message-{self.run}",), measured_of_message, message
        )
        *futures, last = tasks.submit([*parts, measured])
        return futures, last


def measured_of_message(message: Any) -> Measured:
    """What was measured up to a message."""
    return Measured(message.records, message.phases)
