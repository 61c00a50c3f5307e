"""What drivers on a cluster share."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Future

from daskbfs.cluster.futures import new_run, wait_all
from daskbfs.cluster.liveness import WorkersLost, guarded
from daskbfs.cluster.workers import workers_now
from daskbfs.distribution.placed_partitions import Holding
from daskbfs.engine.program import Program
from daskbfs.engine.superstep import Measured, Outcome, Parts, measured_of
from daskbfs.engine.warmup import warm_worker
from daskbfs.kernels.buffers import owned


@dataclass(slots=True)
class Placed:
    """A finished search on a cluster: parts by worker; the first also has what was measured."""

    holding: Holding
    parts: list[Future]
    fetched: list[Parts] | None = None

    async def measured(self) -> Measured:
        """What was measured. Where the worker lives in this process, all of it is at hand then."""
        if self.holding.placement.in_this_process:
            outcome = (await self.bring_parts())[0]
            assert isinstance(outcome, Outcome)
            return outcome.measured
        with self.holding.annotated():
            future = self.holding.client.submit(
                measured_of,
                self.parts[0],
                key=(self.holding.task_group("measured_of"), new_run()),
                workers=[self.holding.placement.coordinator],  # the parents stay where they are
                pure=False,
            )
        measured: Measured = await future
        return measured

    def release(self) -> None:
        """Release the parts: they will not be fetched."""
        for part in self.parts:
            part.release()

    def fetch(self) -> np.ndarray:
        """The parents by global id, from all workers."""
        client = self.holding.client
        if self.fetched is None and client.asynchronous:
            raise RuntimeError("the parents are still on the cluster: 'await result.fetch()' first")
        return _joined(self.fetched or client.sync(self.bring_parts))

    async def bring(self) -> np.ndarray:
        """Like ``fetch``, to be awaited."""
        return _joined(await self.bring_parts())

    async def bring_parts(self) -> list[Parts]:
        """The parts by worker."""
        if self.fetched is not None:
            return self.fetched
        try:
            self.fetched = await self._gathered(self.holding.processes)
        except WorkersLost as loss:
            saved = await self._saved()
            if saved is None:
                self.release()
                raise RuntimeError(
                    f"the parents are lost, since {loss}: search again, and fetch them before that"
                ) from loss
            self.fetched = await self._gathered(saved)
        return self.fetched

    async def _gathered(self, processes: Mapping[str, str]) -> list[Parts]:
        client = self.holding.client
        bringing: Awaitable[list[Parts]] = client.gather(self.parts, direct=True)
        return await guarded(client, processes, bringing)

    async def _saved(self) -> dict[str, str] | None:
        """The workers that have the parts now, since others retired; None where any is lost."""
        client = self.holding.client
        keys = [part.key for part in self.parts]
        scheduler: Any = client.scheduler
        holders = (await scheduler.who_has(keys=keys)).values()
        if not all(holders):
            return None
        now = await workers_now(client)
        return {w: now[w].process for workers in holders for w in workers if w in now}


def _joined(by_worker: list[Parts]) -> np.ndarray:
    """The values by global id."""
    parts = sorted((p for held in by_worker for p in held.parts), key=lambda part: part.first)
    if len(parts) == 1:
        alone: np.ndarray = owned(parts[0].values)
        return alone
    return np.concatenate([part.values for part in parts])


async def warm_workers(holding: Holding, program: Program) -> None:
    """Make every worker that holds a partition ready for a program; once for each holding."""
    if type(program) in holding.warmed:
        return
    dtype = "uint32" if holding.graph.n_arcs < 2**32 else "int64"
    futures = [
        holding.client.submit(
            warm_worker,
            program,
            dtype,
            holding.n_partitions,
            holding.held_by(worker),
            workers=[worker],
            key=("warm_worker", new_run()),
        )
        for worker in holding.placement.workers
    ]
    await wait_all(futures)
    if not holding.warmed:
        with holding.annotated():
            holding.anchors = [
                holding.client.submit(
                    _stay,
                    key=(holding.task_group(name), new_run()),
                    workers=[holding.placement.coordinator],
                    pure=False,
                )
                for name in _TASK_NAMES
            ]
        await wait_all(holding.anchors)  # a process that ends soon would warn of those that run
    holding.warmed.add(type(program))


_TASK_NAMES = (
    "run_search",
    "run_levels",
    "measured_of",
    "open_states",
    "expand_level",
    "gather_frontier",
    "aggregate_parents",
)


def _stay() -> None:
    """One task of each name stays as long as its graph.

    With the last task of a name Dask begins its statistics of that name anew, and keeps the old
    ones for ever: some 50 kB for each search.
    """
