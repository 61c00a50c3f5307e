"""What drivers on a cluster share."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from distributed import Future

from daskbfs.arrays import owned
from daskbfs.cluster import settled, warm_worker
from daskbfs.distribution import DistributedGraph
from daskbfs.placement import workers_per_machine
from daskbfs.superstep import Measured, Outcome, Parts, Share, measured_of


@dataclass(slots=True)
class Placed:
    """A finished search on a cluster: parts by worker; the first also has what was measured."""

    graph: DistributedGraph
    parts: list[Future]
    fetched: list[Parts] | None = None

    async def measured(self) -> Measured:
        """What was measured. Where the worker lives in this process, all of it is at hand then."""
        if self.graph.placement.in_this_process:
            outcome = (await self._bring())[0]
            assert isinstance(outcome, Outcome)
            return outcome.measured
        run = new_run()
        measured: Measured = await self.graph.client.submit(
            measured_of, self.parts[0], key=f"measured_of-{run}", pure=False
        )
        return measured

    def fetch(self) -> np.ndarray:
        """The parents by global id, from all workers."""
        client = self.graph.client
        if self.fetched is None and client.asynchronous:
            raise RuntimeError("the parents are still on the cluster: 'await result.fetch()' first")
        return _joined(self.fetched or client.sync(self._bring))

    async def bring(self) -> np.ndarray:
        """Like ``fetch``, to be awaited."""
        return _joined(await self._bring())

    async def _bring(self) -> list[Parts]:
        if self.fetched is None:
            self.fetched = await self.graph.client.gather(self.parts, direct=True)
        return self.fetched


def _joined(by_worker: list[Parts]) -> np.ndarray:
    """The parents by global id."""
    parts = sorted((p for held in by_worker for p in held.parts), key=lambda part: part.first)
    if len(parts) == 1:
        alone: np.ndarray = owned(parts[0].parent)
        return alone
    return np.concatenate([part.parent for part in parts])


def new_run() -> str:
    """A name for one attempt, so that no two share a key."""
    return uuid.uuid4().hex[:16]


def shares(graph: DistributedGraph, threads: int | None) -> Mapping[str, Share]:
    """How much of its machine each worker may take."""
    sizes = workers_per_machine(graph.placement.workers)
    return {worker: Share(threads, n, worker) for worker, n in sizes.items()}


async def warm_workers(graph: DistributedGraph) -> None:
    """Make kernels ready on every worker that holds a partition; once for each graph."""
    if not graph.warm:
        dtype = str(graph.graph.out.indptr.dtype)
        futures = [
            graph.client.submit(
                warm_worker,
                dtype,
                graph.n_partitions,
                graph.held_by(worker),
                workers=[worker],
                key=f"warm_worker-{new_run()}",
            )
            for worker in graph.placement.workers
        ]
        await settled(futures)
        graph.warm = True
