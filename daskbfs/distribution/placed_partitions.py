"""The partitions of a graph as they lie on a cluster, from one change of workers to the next.

Recovery does not rely on Dask's lineage: what was sent to a worker is forgotten once a partition is
made of it, and a lost partition is made again from the graph. Dask keeps statistics of every task
group for ever, and begins another with each name that comes back. So task names are the same for
all runs of a graph, which keeps one task of each name (``anchors``): after 1,000 searches the
scheduler has as much memory as after 10. Names carry the graph, because Dask binds a task group to
the span of its first task; people see the plain names.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from distributed import Client, Future

from daskbfs.cluster.futures import new_run, wait_all
from daskbfs.cluster.liveness import wait_unless_lost
from daskbfs.cluster.segment import ReadSlots, Ticket
from daskbfs.cluster.threads import Share, machine_shares
from daskbfs.cluster.workers import WorkerState
from daskbfs.distribution.build_on_workers import (
    Blueprint,
    build_rows,
    describe_built,
    fill_lengths,
    report_progress,
)
from daskbfs.distribution.sharing import describe_arrays, share_memory
from daskbfs.distribution.tasks import (
    pin_numbering,
    pin_partition,
    user_columns,
)
from daskbfs.graph.graph import Graph, Outline, RemoteGraph
from daskbfs.machine.hardware import human_bytes
from daskbfs.names import Device
from daskbfs.partition.layout import Layout, partition_footprint
from daskbfs.partition.numbering import Numbering, number
from daskbfs.partition.partition import (
    cut_rows_of,
    rows_to_arrays,
    to_arrays,
)
from daskbfs.partition.placement import Placement
from daskbfs.progress import Progress, silent
from daskbfs.telemetry.records import GraphRecord, PartitionRecord, plain_text
from daskbfs.telemetry.reporter import Reporter, quietly, reporter_for


class PlacedPartitions:
    """Where each partition is; when workers come or go, another such object replaces this one."""

    def __init__(
        self,
        graph: Outline,
        client: Client,
        layout: Layout,
        placement: Placement,
        processes: Mapping[str, str],
        devices: Mapping[str, Device],
        epoch: int = 0,
        name: str | None = None,
    ) -> None:
        self.name = name or uuid.uuid4().hex
        """The same for all placements of a graph."""
        self.reporter: Reporter | None = None
        """Reports runs to the scheduler; None where it cannot record them."""
        ids = uuid.uuid4().hex, uuid.uuid4().hex
        self._span = {"name": ("daskbfs", plain_text(graph.name)), "ids": ids}
        self.graph = graph
        self.client = client
        self.layout = layout
        self.placement = placement
        self.processes = {worker: processes[worker] for worker in placement.workers}
        """The process behind each worker's address."""
        self.devices = {worker: devices[worker] for worker in placement.workers}
        self.epoch = epoch
        self.numbering: Numbering
        self.partitions: list[Future] = []
        self.numberings: dict[str, Future] = {}
        self.warmed: set[str] = set()
        """Programs that the workers are ready for."""
        self.ticket: Ticket | None = None
        """Of the memory that workers share; it is not a key, so that no other depends on it."""
        self.sharings: dict[str, Future] = {}
        """The memory that workers share, as each of them has it; none where they cannot."""
        self.read_slots = ReadSlots()
        """What this process has mapped of that memory: pages that were read once are there."""
        self.anchors: list[Future] = []
        """Tasks that stay, so that Dask does not begin its statistics anew with each search."""
        self._expected_waves: dict[str, int] = {}
        self.place: np.ndarray = layout.global_id[graph.order]
        """Global id of each vertex, by its index."""

    @property
    def n_partitions(self) -> int:
        """How many partitions there are."""
        return self.layout.n_partitions

    def expected_waves(self, algorithm: str) -> int | None:
        """Waves of the last run of an algorithm; None before the first."""
        return self._expected_waves.get(algorithm)

    def expect_waves(self, algorithm: str, n: int) -> None:
        """Have the next run of an algorithm prepare as many waves as the last one had."""
        self._expected_waves[algorithm] = n

    def forget_runs(self) -> None:
        """Expect nothing of the next run."""
        self._expected_waves.clear()

    def annotate(self, **more: Any) -> Any:
        """A context in which tasks belong to the graph's span, on Dask's performance page."""
        span = {"span": self._span} if self.reporter else {}
        return dask.annotate(**span, **more)  # type: ignore[attr-defined]

    def task_group(self, name: str) -> str:
        """What Dask keeps statistics of: a task's name, on this graph; people see the name only."""
        return f"{name}-{self.name}"

    def shares(self, threads: int | None) -> dict[str, Share]:
        """How much of its machine each worker's kernels may take: accelerators leave it to CPUs."""
        workers = self.placement.workers
        on_cpu = [worker for worker in workers if self.devices[worker] is Device.CPU]
        alone = {worker: Share(threads, 1, worker) for worker in workers}
        return alone | machine_shares(on_cpu, threads)

    @property
    def exchange(self) -> str | None:
        """How levels go from worker to worker; None where there is only one."""
        if len(self.placement.workers) == 1:
            return None
        return "shared memory" if self.sharings else "mail"

    def held_by(self, worker: str) -> list[Future]:
        """The partitions on a worker."""
        return [self.partitions[p] for p in self.placement.held_by(worker)]

    def sharing(self, worker: str) -> Future | None:
        """The memory that a worker shares with the others; None where levels go by mail."""
        return self.sharings.get(worker)

    @property
    def futures(self) -> list[Future]:
        """All keys on the cluster that belong to it."""
        return [*self._needed, *self.anchors]

    @property
    def _needed(self) -> list[Future]:
        """The keys that searches need."""
        return [*self.partitions, *self.numberings.values(), *self.sharings.values()]

    @property
    def intact(self) -> bool:
        """Whether no key that searches need is lost or cancelled."""
        return all(future.status == "finished" for future in self._needed)

    def release_unshared(self, following: PlacedPartitions | None) -> None:
        """Release what the next placement does not share; everything, where there is none."""
        self.read_slots = ReadSlots()
        shared = {future.key for future in following.futures} if following else set()
        for future in self.futures:
            if future.key not in shared:
                future.release()

    def seen_by(self, client: Client) -> PlacedPartitions:
        """The same partitions, as another client of the same cluster sees them."""
        where = self.placement, self.processes, self.devices
        other = PlacedPartitions(self.graph, client, self.layout, *where, self.epoch, self.name)
        other.reporter = Reporter(client) if self.reporter else None
        other.numbering = self.numbering
        other.partitions = [Future(future.key, client) for future in self.partitions]
        other.numberings = {w: Future(f.key, client) for w, f in self.numberings.items()}
        other.ticket = self.ticket
        other.sharings = {w: Future(f.key, client) for w, f in self.sharings.items()}
        other.warmed = self.warmed
        other._span = self._span
        return other

    def user_parts(self, parts: Sequence[Future]) -> list[tuple[Future, int]]:
        """For each partition of a search, its vertex ids and parents, and how many there are."""
        if not self.intact:
            raise RuntimeError(
                "partitions have moved or were released since this search: search again"
            )
        run = new_run()
        found = []
        for w, worker in enumerate(self.placement.workers):
            for i, p in enumerate(self.placement.held_by(worker)):
                if p >= self.layout.n_primary:
                    continue  # a mirror: its rows come from their owner
                pair = self.client.submit(
                    user_columns,
                    parts[w],
                    i,
                    self.partitions[p],
                    self.graph.ids.values,
                    self.graph.parent_dtype,
                    key=("user_columns", run, p),
                    workers=[worker],
                    allow_other_workers=True,  # where that one has left: to say so
                    pure=False,
                )
                found.append((pair, len(self.layout.rows[p])))
        return found


@dataclass(frozen=True, slots=True)
class _Kept:
    """The futures of an earlier placement that are where the next one wants them."""

    numberings: Mapping[str, Future]
    """By worker."""
    partitions: Mapping[int, Future]
    numbering: Numbering | None


async def place_partitions(
    graph: Outline,
    client: Client,
    layout: Layout,
    placement: Placement,
    now: Mapping[str, WorkerState],
    before: PlacedPartitions | None = None,
    progress: Progress = silent,
) -> PlacedPartitions:
    """Put partitions on workers; what an equal layout already has there stays."""
    processes = {worker: state.process for worker, state in now.items()}
    devices = {worker: state.device for worker, state in now.items()}
    epoch, name = (before.epoch + 1, before.name) if before else (0, None)
    placed = PlacedPartitions(graph, client, layout, placement, processes, devices, epoch, name)
    kept = _Kept({}, {}, None)
    if before is not None and before.layout is layout:
        kept = _find_kept(before, placed)
    holders = tuple((worker, devices[worker]) for worker in placement.holders)
    sharing = share_memory(client, placement.workers, holders)
    placed.ticket, placed.sharings = await wait_unless_lost(client, placed.processes, sharing)
    try:
        check_memory(placed, kept, now)
        await wait_unless_lost(client, placed.processes, _place_rows(placed, kept, progress))
    except BaseException:  # the caller may keep the error, and so this frame, for long
        placed.release_unshared(before)
        raise
    placed.reporter = await reporter_for(client)
    if placed.reporter is not None:
        with quietly():
            placed.reporter.graph(_graph_record(placed))
    return placed


def _graph_record(placed: PlacedPartitions) -> GraphRecord:
    """Where the partitions of a graph are, and how large."""
    graph, layout, holders = placed.graph, placed.layout, placed.placement.holders
    partitions = tuple(
        PartitionRecord(
            partition=p,
            key=placed.partitions[p].key,
            worker=holders[p],
            device=placed.devices[holders[p]],
            n_vertices=rows.size,
            n_edges=int(graph.lengths_of(rows)[0].sum(dtype=np.int64)),
            n_bytes=partition_footprint(graph, layout, p).rows,
        )
        for p, rows in enumerate(layout.rows)
    )
    return GraphRecord(
        name=placed.name,
        label=plain_text(graph.name),
        client=placed.client.id,
        n_vertices=graph.n_vertices,
        n_edges=graph.n_edges,
        epoch=placed.epoch,
        partitions=partitions,
    )


def _find_kept(before: PlacedPartitions, placed: PlacedPartitions) -> _Kept:
    numberings = {
        worker: future
        for worker, future in before.numberings.items()
        if before.processes[worker] == placed.processes.get(worker) and future.status == "finished"
    }
    was, shall = before.placement.holders, placed.placement.holders
    partitions = {
        p: future
        for p, future in enumerate(before.partitions)
        if shall[p] == was[p] in numberings and future.status == "finished"
    }
    return _Kept(numberings, partitions, before.numbering)


async def _place_rows(placed: PlacedPartitions, kept: _Kept, progress: Progress) -> None:
    client, graph, run = placed.client, placed.graph, new_run()
    holders = placed.placement.holders
    built = {}
    if isinstance(graph, RemoteGraph):
        built = await _build_missing(placed, kept, progress)
    placed.numbering = kept.numbering or number(graph, placed.layout)
    await _place_numberings(placed, kept)
    for p, worker in enumerate(holders):
        if p in kept.partitions:
            placed.partitions.append(kept.partitions[p])
            continue
        rows = built[worker] if built else await _cut_and_send(placed, p)
        placed.partitions.append(
            client.submit(
                pin_partition,
                rows,
                p,
                int(placed.layout.first[p]),
                placed.numberings[worker],
                key=("pin_partition", run, p),
                workers=[worker],
                pure=False,
            )
        )
        del rows
        await wait_all(placed.partitions[-1:])
        progress("placing partitions", p + 1, len(holders))


async def _place_numberings(placed: PlacedPartitions, kept: _Kept) -> None:
    """Put the numbering on each worker; where they share memory, once for all."""
    client, run = placed.client, new_run()
    values = to_arrays(placed.numbering)
    placed.numberings = dict(kept.numberings)
    ticket = None if kept.numberings else placed.ticket
    for member, worker in enumerate(placed.placement.workers):
        if worker in kept.numberings:
            continue
        is_there = ticket is not None and member > 0
        placed.numberings[worker] = client.submit(
            pin_numbering,
            describe_arrays(values) if is_there else await _send(client, values, worker),
            placed.devices[worker],
            ticket,
            member,
            key=("pin_numbering", run, worker),
            workers=[worker],
            pure=False,
        )
        if ticket is not None and member == 0:  # others find what it stores
            await wait_all([placed.numberings[worker]])


async def _build_missing(
    placed: PlacedPartitions, kept: _Kept, progress: Progress
) -> dict[str, Future]:
    """Rows that workers make of the edges, where the graph's are not here."""
    graph, client, run = placed.graph, placed.client, new_run()
    assert isinstance(graph, RemoteGraph)
    shares = machine_shares(placed.placement.workers)
    built = {}
    for worker in placed.placement.workers:
        fresh = [p for p in placed.placement.held_by(worker) if p not in kept.partitions]
        if fresh:
            blueprint = await _send(client, Blueprint(graph, placed.layout), worker)
            built[worker] = client.submit(
                build_rows,
                blueprint,
                shares[worker],
                f"{run} {worker}",
                fresh,
                key=("build_rows", run, worker),
                workers=[worker],
                pure=False,
            )
    if built:
        async with report_progress(client, run, list(built), progress):
            await wait_all(list(built.values()))
    if not graph.filled:
        lengths = [
            client.submit(
                describe_built,
                future,
                key=("describe_built", run, worker),
                workers=[worker],
                pure=False,
            )
            for worker, future in built.items()
        ]
        fill_lengths(graph, placed.layout, await client.gather(lengths, direct=True))
    return built


async def _cut_and_send(placed: PlacedPartitions, p: int) -> Future:
    """Rows of a graph that is here, cut and sent to their worker."""
    assert isinstance(placed.graph, Graph)
    rows = cut_rows_of(placed.graph, placed.layout, p)
    return await _send(placed.client, rows_to_arrays(*rows), placed.placement.holders[p])


async def _send(client: Client, value: Any, worker: str) -> Future:
    """A value as a key on a worker."""
    (raw,) = await client.scatter([value], workers=[worker], direct=True, hash=False)
    future: Future = raw
    return future


def check_memory(placed: PlacedPartitions, kept: _Kept, now: Mapping[str, WorkerState]) -> None:
    """Refuse partitions that do not fit the workers that should hold them."""
    graph, layout = placed.graph, placed.layout
    usable = dask.config.get("distributed.worker.memory.pause") or 1
    at_once = dask.config.get("distributed.worker.memory.target") or 1
    for worker in placed.placement.workers:
        state = now[worker]
        fresh = [p for p in placed.placement.held_by(worker) if p not in kept.partitions]
        if state.memory_limit is None or not fresh or state.device is Device.GPU:
            continue  # GPUs look after their own memory
        needs = {p: partition_footprint(graph, layout, p) for p in fresh}
        needed = sum(need.rows for need in needs.values())
        if placed.sharings:  # every worker is told to hold all that it shares
            needed += sum(need.beside_shared for need in needs.values()) + needs[fresh[0]].shared
        else:
            needed += sum(need.state for need in needs.values()) + needs[fresh[0]].numbering
        if state.memory_used + needed > usable * state.memory_limit:
            raise MemoryError(
                f"worker {worker} uses {human_bytes(state.memory_used)} of its "
                f"{human_bytes(state.memory_limit)}, of which Dask lets it have {usable:.0%}, and "
                f"partitions {fresh} need {human_bytes(needed)} with one search: add workers, or "
                "give each more memory"
            )
        largest = max(fresh, key=lambda p: needs[p].rows)
        if needs[largest].rows > at_once * state.memory_limit:
            raise MemoryError(
                f"partition {largest} needs {human_bytes(needs[largest].rows)}, more than the "
                f"{at_once:.0%} of its {human_bytes(state.memory_limit)} that Dask lets worker "
                f"{worker} keep in memory as one thing: cut the graph into more partitions"
            )
