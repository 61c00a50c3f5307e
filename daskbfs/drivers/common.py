"""What drivers on a cluster share."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from distributed import Client, Future

from daskbfs.arrays import owned
from daskbfs.cluster import settled, warm_worker
from daskbfs.distribution import DistributedGraph
from daskbfs.placement import workers_per_machine
from daskbfs.superstep import Share


@dataclass(frozen=True, slots=True)
class Placed:
    """A finished search on a cluster: parts by worker; the first also has what was measured."""

    parts: list[Future]


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
                workers=[worker],
                key=f"warm_worker-{new_run()}",
            )
            for worker in graph.placement.workers
        ]
        await settled(futures)
        graph.warm = True


def fetch_parts(client: Client, parts: list[Future]) -> np.ndarray:
    """Bring the parents by global id to this process."""
    if client.asynchronous:
        raise RuntimeError("the parents are still on the cluster: 'await result.fetch()' first")
    found: np.ndarray = client.sync(gather_parts, client, parts)
    return found


async def gather_parts(client: Client, parts: list[Future]) -> np.ndarray:
    """The parents by global id, from all workers."""
    by_worker = await client.gather(parts, direct=True)
    by_partition = sorted(
        (p for held in by_worker for p in held.parts), key=lambda part: part.first
    )
    if len(by_partition) == 1:
        alone: np.ndarray = owned(by_partition[0].parent)
        return alone
    return np.concatenate([part.parent for part in by_partition])
