"""The partitions of a graph as they lie on a cluster, from one change of workers to the next."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import dask
import numpy as np
from distributed import Client, Future, Status, Worker

from daskbfs.cluster import settled
from daskbfs.graph import Graph
from daskbfs.machine import human_bytes
from daskbfs.partition import (
    Layout,
    Numbering,
    Partition,
    cut,
    from_arrays,
    number,
    own_numbering,
    partition_bytes,
    search_bytes,
    to_arrays,
)
from daskbfs.pinned import Pinned
from daskbfs.placement import Placement
from daskbfs.post import Post
from daskbfs.types import NONE
from daskbfs.watch import WorkerState, guarded


class Holding:
    """Where each partition is; when workers come or go, another holding takes its place."""

    def __init__(
        self,
        graph: Graph,
        client: Client,
        layout: Layout,
        placement: Placement,
        processes: Mapping[str, str],
        epoch: int = 0,
    ) -> None:
        self.graph = graph
        self.client = client
        self.layout = layout
        self.placement = placement
        self.processes = {worker: processes[worker] for worker in placement.workers}
        """The process behind each worker's address."""
        self.epoch = epoch
        self.numbering: Numbering
        self.partitions: list[Future] = []
        self.numberings: dict[str, Future] = {}
        self.warm = False
        """Whether the workers' kernels are ready."""
        self.n_levels: int | None = None
        """Levels of the last search, for the next to prepare as many."""
        self.place: np.ndarray = layout.global_id[graph.order]
        """Global id of each vertex, by its index."""

    @property
    def n_partitions(self) -> int:
        """How many partitions there are."""
        return self.layout.n_partitions

    def held_by(self, worker: str) -> list[Future]:
        """The partitions on a worker."""
        return [self.partitions[p] for p in self.placement.held_by(worker)]

    @property
    def futures(self) -> list[Future]:
        """All keys on the cluster that belong to it."""
        return [*self.partitions, *self.numberings.values()]

    def seen_by(self, client: Client) -> Holding:
        """The same partitions, as another client of the same cluster sees them."""
        other = Holding(self.graph, client, self.layout, self.placement, self.processes, self.epoch)
        other.numbering = self.numbering
        other.partitions = [Future(future.key, client) for future in self.partitions]
        other.numberings = {w: Future(f.key, client) for w, f in self.numberings.items()}
        other.warm = self.warm
        return other

    def dask_columns(self, parts: Sequence[Future]) -> tuple[Any, Any]:
        """Vertex ids and parents of a search as Dask arrays, a chunk for each partition."""
        from dask.array import concatenate, from_delayed
        from dask.delayed import delayed

        if any(future.status != "finished" for future in self.futures):
            raise RuntimeError(
                "partitions have moved or were released since this search: search again"
            )
        run = uuid.uuid4().hex
        dtype = self.graph.parent_dtype
        columns: tuple[list[Any], list[Any]] = ([], [])
        for w, worker in enumerate(self.placement.workers):
            for i, p in enumerate(self.placement.held_by(worker)):
                pair = self.client.submit(
                    user_columns,
                    parts[w],
                    i,
                    self.partitions[p],
                    self.graph.ids.values,
                    dtype,
                    key=f"user_columns-{run}-{p}",
                    workers=[worker],
                    pure=False,
                )
                shape = (len(self.layout.rows[p]),)
                for k, column in enumerate(columns):
                    column.append(from_delayed(delayed(pair)[k], shape, dtype))
        return tuple(concatenate(column) for column in columns)  # type: ignore[return-value]


async def put(
    graph: Graph,
    client: Client,
    layout: Layout,
    placement: Placement,
    now: Mapping[str, WorkerState],
    before: Holding | None = None,
) -> Holding:
    """Put partitions on workers; those that a holding of the same layout has there stay."""
    processes = {worker: state.process for worker, state in now.items()}
    holding = Holding(graph, client, layout, placement, processes)
    holding.numbering = number(graph, layout)
    if before is not None:
        holding.epoch = before.epoch + 1
        if before.layout is layout:
            holding.numbering = before.numbering
        else:
            before = None
    check_memory(holding, before, now)
    run = uuid.uuid4().hex
    await guarded(client, holding.processes, _put(holding, run, before))
    return holding


async def _put(holding: Holding, run: str, before: Holding | None) -> None:
    client = holding.client
    for worker in holding.placement.workers:
        if _stays(before, holding, worker):
            holding.numberings[worker] = before.numberings[worker]  # type: ignore[union-attr]
            continue
        raw = await _sent(client, holding.numbering, worker)
        holding.numberings[worker] = client.submit(
            own_numbering, raw, key=f"numbering-{run}-{worker}", workers=[worker], pure=False
        )
    for p, worker in enumerate(holding.placement.holders):
        if _stays(before, holding, worker) and before.placement.holders[p] == worker:  # type: ignore[union-attr]
            holding.partitions.append(before.partitions[p])  # type: ignore[union-attr]
            continue
        arrays = to_arrays(cut(holding.graph, holding.layout, p, holding.numbering))
        raw = await _sent(client, arrays, worker)
        del arrays
        holding.partitions.append(
            client.submit(
                pin_partition,
                raw,
                holding.numberings[worker],
                key=f"pin_partition-{run}-{p}",
                workers=[worker],
                pure=False,
            )
        )
        del raw
        await settled(holding.partitions[-1:])


def _stays(before: Holding | None, holding: Holding, worker: str) -> bool:
    """Whether what a worker held before is still there."""
    return before is not None and before.processes.get(worker) == holding.processes[worker]


async def _sent(client: Client, value: Any, worker: str) -> Future:
    """A value as a key on a worker."""
    (raw,) = await client.scatter([value], workers=[worker], direct=True, hash=False)
    future: Future = raw
    return future


def check_memory(holding: Holding, before: Holding | None, now: Mapping[str, WorkerState]) -> None:
    """Refuse partitions that do not fit the workers that should hold them."""
    graph, layout = holding.graph, holding.layout
    for worker in holding.placement.workers:
        state, held = now[worker], holding.placement.held_by(worker)
        if state.memory_limit is None:
            continue
        stays = before.placement.held_by(worker) if _stays(before, holding, worker) else []  # type: ignore[union-attr]
        fresh = [p for p in held if p not in stays]
        needed = sum(partition_bytes(graph, layout, p) for p in fresh)
        needed += search_bytes(layout, len(fresh))
        usable = dask.config.get("distributed.worker.memory.pause") or 1
        if fresh and state.memory_used + needed > usable * state.memory_limit:
            raise MemoryError(
                f"worker {worker} uses {human_bytes(state.memory_used)} of its "
                f"{human_bytes(state.memory_limit)}, of which Dask lets it have {usable:.0%}, and "
                f"partitions {fresh} need {human_bytes(needed)} with one search: add workers, or "
                "give each more memory"
            )


def user_columns(
    held: Any, i: int, partition: Partition, ids: np.ndarray | None, dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    """A partition's vertices, and their parents, in the user's ids."""
    rows = slice(partition.first, partition.first + partition.n_rows)
    vertex = partition.numbering.vertex[rows].astype(np.int64)
    parent = held.parts[i].parent[: partition.n_rows].astype(np.int64)
    reached = parent != int(NONE)
    parent[~reached] = -1
    if ids is not None:
        vertex, parent[reached] = ids[vertex], ids[parent[reached]]
    return vertex.astype(dtype), parent.astype(dtype)


def pin_partition(arrays: dict[str, Any], numbering: Numbering) -> Partition:
    """Make a partition of what was sent to this worker, where it is to stay."""
    Post.here()  # from now on, mail can be delivered
    Pinned.worker_is_leaving = staticmethod(_worker_is_leaving)  # type: ignore[method-assign]
    return from_arrays(arrays, numbering)


def _worker_is_leaving() -> bool:
    """Whether a worker of this process has been retired."""
    return any(worker.status is Status.closing_gracefully for worker in Worker._instances)
