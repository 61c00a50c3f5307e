"""Graphs on a cluster: partitions as Dask futures, pinned to their workers.

A graph remembers where its partitions came from, so it can make them again when workers are lost.
"""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from distributed import Client, Lock

from daskbfs import config
from daskbfs.cluster.devices import query_devices
from daskbfs.cluster.liveness import WorkersLost
from daskbfs.cluster.local import current_client
from daskbfs.cluster.workers import WorkerState, check_scheduler, workers_now
from daskbfs.distribution.build_on_workers import outline_on_workers
from daskbfs.distribution.placed_partitions import PlacedPartitions, place_partitions
from daskbfs.graph.edge_stream import Origin
from daskbfs.graph.graph import Outline, RemoteGraph
from daskbfs.io.spec import open_origin
from daskbfs.machine.hardware import human_bytes, human_count
from daskbfs.names import Device
from daskbfs.partition.layout import Layout, check_count, check_number, partition_footprint
from daskbfs.partition.placement import Placement, place, place_again
from daskbfs.partition.plan import Cutting, Wish, choose_cut
from daskbfs.partition.strategy import check_share, check_strategy
from daskbfs.progress import Progress, silent


@dataclass(slots=True)
class _Shared:
    """What all clients of one graph see."""

    cutting: Cutting
    latest: PlacedPartitions | None = None
    """None once the graph is released."""
    views: weakref.WeakValueDictionary[str, DistributedGraph] = field(
        default_factory=weakref.WeakValueDictionary
    )
    """By client; weak, so that a graph is freed with its last user."""


class DistributedGraph:
    """A graph with partitions on the workers of a Dask cluster; made by :func:`distribute`.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.distribute(daskbfs.from_edges([(0, 1), (1, 2)]), n_partitions=2)
    >>> graph.n_partitions, graph.n_edges
    (2, 2)
    """

    def __init__(
        self,
        graph: Outline,
        client: Client,
        placed: PlacedPartitions,
        cutting: Cutting,
        shared: _Shared | None = None,
    ) -> None:
        self.graph = graph
        self.client = client
        self._placed_partitions = placed
        self._shared = shared or _Shared(cutting, placed)
        self._shared.views[client.id] = self

    @property
    def placed_partitions(self) -> PlacedPartitions:
        """The partitions as they lie now."""
        latest = self._shared.latest
        if latest is None:
            raise RuntimeError("the graph was released: distribute it again")
        if latest.epoch > self._placed_partitions.epoch:  # another client has moved or mended it
            before, self._placed_partitions = self._placed_partitions, latest.seen_by(self.client)
            before.release_unshared(self._placed_partitions)
        return self._placed_partitions

    def seen_by(self, client: Client) -> DistributedGraph:
        """The same partitions, for another client of the same cluster."""
        view = self._shared.views.get(client.id)
        if view is None:
            if client.scheduler_info(n_workers=0)["id"] != self._scheduler_id():
                raise ValueError("the graph is on another client's cluster: leave client out")
            placed = self.placed_partitions.seen_by(client)
            cutting = self._shared.cutting
            view = DistributedGraph(self.graph, client, placed, cutting, self._shared)
        return view

    def _scheduler_id(self) -> Any:
        return self.client.scheduler_info(n_workers=0)["id"]

    @property
    def strategy(self) -> str:
        """How rows were dealt to partitions."""
        return self._shared.cutting.strategy

    @property
    def why(self) -> str:
        """Why that strategy, in one sentence."""
        return self._shared.cutting.why

    @property
    def placement(self) -> Placement:
        """Which worker holds which partitions."""
        return self.placed_partitions.placement

    @property
    def layout(self) -> Layout:
        """Which rows each partition has."""
        return self.placed_partitions.layout

    @property
    def name(self) -> str:
        """What it is called in records."""
        return self.graph.name

    @property
    def nbytes(self) -> int:
        """Memory of all rows, wherever they are."""
        return sum(self._weights(self.layout))

    @property
    def n_vertices(self) -> int:
        """Vertices, isolated ones included."""
        return self.graph.n_vertices

    @property
    def n_edges(self) -> int:
        """Edges, without duplicates and self-loops; undirected ones once."""
        return self.graph.n_edges

    @property
    def n_partitions(self) -> int:
        """Partitions on all workers together."""
        return self.placed_partitions.n_partitions

    def random_sources(self, n: int, seed: int = 1) -> np.ndarray:
        """Up to ``n`` distinct vertices that are not isolated, the same for the same seed."""
        return self.graph.random_sources(n, seed)

    def devices(self) -> dict[str, Device]:
        """The device of each worker that holds a partition."""
        return {worker: self.placed_partitions.devices[worker] for worker in self.placement.workers}

    def where(self) -> dict[str, list[int]]:
        """The partitions that each worker holds."""
        placement = self.placement
        return {worker: placement.held_by(worker) for worker in placement.workers}

    @property
    def exchange(self) -> str | None:
        """How levels go from worker to worker: ``"shared memory"``, where all are on one host.

        Else ``"mail"``; None where one worker holds all partitions.
        """
        return self.placed_partitions.exchange

    def rebalance(self) -> Any:
        """Use all workers that there are now, those that joined later too.

        Partitions move to them, as few as possible; where there are more workers than partitions,
        the graph is cut anew, into one for each. Results that were fetched stay valid.
        """
        return self.client.sync(self._rebalance)

    async def _rebalance(self) -> DistributedGraph:
        silent: set[str] = set()
        for attempt in range(1, config.get("recovery.attempts") + 1):
            try:
                async with self._lock():
                    await self._rebalance_once(silent)
                return self
            except WorkersLost as loss:
                if attempt == config.get("recovery.attempts"):
                    raise
                silent |= loss.silent
        raise AssertionError("unreachable")

    async def _rebalance_once(self, silent: Collection[str]) -> None:
        before = self.placed_partitions
        now = await some_workers(self.client, without=silent)
        layout, devices, cutting = before.layout, _devices(now), self._shared.cutting
        if len(now) > before.n_partitions:
            placement = place(len(now), devices)
            cutting = choose_cut(
                self.graph,
                placement.on(devices),
                self._shared.cutting.wish,
                _device_bytes(placement, now),
            )
            layout = cutting.lay_out(self.graph)
        else:
            wanted, weights = before.placement.on(before.devices), self._weights(layout)
            placement = place_again(before.placement, devices, weights, wanted, level=True)
        if placement != before.placement or layout is not before.layout:
            await self._move(before, layout, placement, now)
            self._shared.cutting = cutting

    def release(self) -> Any:
        """Free all memory that the graph has on the cluster; it cannot be searched any more."""
        for view in list(self._shared.views.values()):
            view._placed_partitions.release_unshared(None)
        self._shared.latest = None

    async def recover(self, broken: PlacedPartitions, silent: Collection[str]) -> None:
        """Make lost partitions again, on workers that are left or have come; once for all clients.

        Silent workers are not to be used, although they may still be there.
        """
        async with self._lock():
            before = self.placed_partitions
            if before.epoch > broken.epoch:
                return
            now = await some_workers(self.client, without=silent)
            wanted, weights = before.placement.on(before.devices), self._weights(before.layout)
            placement = place_again(before.placement, _devices(now), weights, wanted)
            try:
                await self._move(before, before.layout, placement, now)
            except MemoryError:  # of a device: whatever is lost may fit a CPU worker
                for p, holder in enumerate(before.placement.holders):
                    wanted[p] = wanted[p] if holder in now else Device.CPU
                elsewhere = place_again(before.placement, _devices(now), weights, wanted)
                if elsewhere == placement:
                    raise
                await self._move(before, before.layout, elsewhere, now)

    async def _move(
        self,
        before: PlacedPartitions,
        layout: Layout,
        placement: Placement,
        now: dict[str, WorkerState],
    ) -> None:
        """Put partitions elsewhere, and forget where they were."""
        placed = await place_partitions(self.graph, self.client, layout, placement, now, before)
        self._placed_partitions = self._shared.latest = placed
        before.release_unshared(placed)
        for view in list(self._shared.views.values()):
            _ = view.placed_partitions  # other clients let go of what has moved, too

    def _weights(self, layout: Layout) -> list[int]:
        return [partition_footprint(self.graph, layout, p).rows for p in range(layout.n_partitions)]

    def _lock(self) -> Lock:
        client = self.client
        return Lock(
            f"daskbfs-{self._placed_partitions.name}",
            scheduler_rpc=client.scheduler,
            loop=client.loop,
        )

    def __repr__(self) -> str:
        graph = repr(self.graph).rsplit(", ", 1)[0]
        return (
            f"Distributed{graph}, {human_bytes(self.nbytes)} in "
            f"{human_count(self.n_partitions, 'partition')} on "
            f"{human_count(len(self.placement.workers), 'worker')}"
            f"{' that share memory' if self.exchange == 'shared memory' else ''}"
        )


def require_graph(graph: Any) -> Outline:
    """The graph behind what a user gave; an error where that is none."""
    whole = graph.graph if isinstance(graph, DistributedGraph) else graph
    if not isinstance(whole, Outline):
        raise TypeError(
            f"a {type(graph).__name__} is no graph: make one with from_edges, read_graph, "
            "from_scipy or from_networkx"
        )
    return whole


def distribute(
    graph: Outline | Origin | str | os.PathLike[str],
    client: Client | None = None,
    *,
    n_partitions: int | None = None,
    strategy: str = "auto",
    cpu_share: float | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    **reading: Any,
) -> DistributedGraph:
    """Cut a graph into partitions and pin them to the workers of a cluster.

    Parameters
    ----------
    graph
        What to distribute: a graph in this process; or where one comes from, ``"kron:22"``,
        ``"uniform:20"`` or a file that all workers can read. Such a graph is built on the workers,
        each of which makes or reads all edges and keeps its own rows; it may be larger than this
        process's memory, or any one worker's. Of a ``.dbfs`` file, workers map what they cut
        their rows from.
    client
        A Dask client; None takes the current one, and where there is none, starts a cluster with
        one worker inside this process.
    n_partitions
        How many partitions; None makes one for each worker.
    strategy
        How rows are dealt to partitions: ``"high"``, the highest degrees to CPU workers;
        ``"low"``, the lowest; ``"random"``; or ``"auto"``, by what is known of the graph and the
        devices (``graph.why`` tells). Among workers of one kind, ``"high"`` and ``"low"`` deal
        hubs evenly. ``"contiguous"`` cuts the rows into blocks, as they are: ``"auto"`` does
        where degrees are even, as in road networks. ``"mirror"`` gives all rows to CPU workers and
        once more to as many GPU workers, for searches that choose a device for each level
        (``direction="adaptive"``).
    cpu_share
        Of the edges, 0 to 1, for CPU workers, where there are GPU workers too; None gives these as
        much as fits them, or half where it is unknown what fits. What does not fit its GPU is
        streamed there.
    seed
        The same seed deals the same way, and generates the same graph. None is 1, and 2 for the
        edges of ``kron-reference``.
    progress
        Told how far the work has come.
    **reading
        Of a file: ``directed``, ``format``, ``columns``, ``storage_options``, as in
        :func:`read_graph`.

    Returns
    -------
    DistributedGraph
        To be searched with :func:`bfs`. With an asynchronous client, ``await distribute(...)``.

    Examples
    --------
    >>> import daskbfs
    >>> daskbfs.distribute(daskbfs.from_edges([(0, 1), (1, 2)]))
    DistributedGraph 'edges': 3 vertices, 2 edges, undirected, 548 B in 1 partition on 1 worker
    >>> graph = daskbfs.distribute("kron:8", n_partitions=2)
    >>> graph.n_vertices, graph.n_partitions
    (256, 2)
    """
    if isinstance(graph, str | os.PathLike):
        graph = open_origin(graph, seed=seed, **reading)
    elif reading:
        raise TypeError(f"{', '.join(reading)} say how to read a file, and this is a graph already")
    if client is None:
        client = current_client()
    check_scheduler(client)
    deal = 1 if seed is None else seed
    return client.sync(
        distribute_graph,
        graph,
        client,
        n_partitions,
        strategy,
        deal,
        cpu_share=cpu_share,
        progress=progress,
    )


async def distribute_graph(
    graph: Outline | Origin,
    client: Client,
    n_partitions: int | None = None,
    strategy: str = "auto",
    seed: int = 1,
    n_cpu: int | None = None,
    cpu_share: float | None = None,
    progress: Progress = silent,
) -> DistributedGraph:
    """Do what :func:`distribute` says, on the client's event loop.

    ``n_cpu`` partitions, the first, get ``cpu_share`` of the arcs: the CPU's side; None takes those
    that are on CPU workers.
    """
    start = time.perf_counter()
    if strategy != "auto":
        check_strategy(strategy, mirrors=True)
    if cpu_share is not None:
        check_share(cpu_share)
    now = await query_devices(client, await workers_now(client))
    n_partitions = n_partitions if n_partitions is not None else len(now)
    check_number(n_partitions)
    n_attempts = config.get("recovery.attempts")
    for attempt in range(1, n_attempts + 1):
        try:
            placement = place(n_partitions, _devices(now))
            devices = placement.on(_devices(now))
            if n_cpu is not None:
                devices = [Device.CPU] * n_cpu + [Device.GPU] * (n_partitions - n_cpu)
            if isinstance(graph, Origin):
                graph = await outline_on_workers(graph, client, now, progress)
            check_count(graph, n_partitions)
            wish = Wish(strategy, seed, cpu_share)
            cutting = choose_cut(graph, devices, wish, _device_bytes(placement, now))
            layout = cutting.lay_out(graph)
            placed = await place_partitions(
                graph, client, layout, placement, now, progress=progress
            )
            if isinstance(graph, RemoteGraph):
                made = graph.generation_seconds or 0.0
                graph.construction_seconds = time.perf_counter() - start - made
            return DistributedGraph(graph, client, placed, cutting)
        except WorkersLost as loss:
            if attempt == n_attempts:
                raise
            now = await some_workers(client, without=loss.silent)
    raise AssertionError("unreachable")


def _devices(now: Mapping[str, WorkerState]) -> dict[str, Device]:
    return {worker: state.device for worker, state in now.items()}


def _device_bytes(placement: Placement, now: Mapping[str, WorkerState]) -> int | None:
    """Bytes for each partition on an accelerator, where these are known and there is a CPU too."""
    on_cpu = [now[worker].device is Device.CPU for worker in placement.workers]
    known = [
        state.device_bytes // len(placement.held_by(worker))
        for worker, state in now.items()
        if state.device_bytes is not None and worker in placement.workers
    ]
    return min(known) if known and any(on_cpu) else None  # without a CPU, it is streamed


async def some_workers(client: Client, without: Collection[str] = ()) -> dict[str, WorkerState]:
    """The workers that there are; waits for a while where there are none."""
    deadline = time.monotonic() + config.get("recovery.wait-seconds")
    while True:
        now = {w: s for w, s in (await workers_now(client)).items() if w not in without}
        if now and (now := await query_devices(client, now)):
            return now
        if time.monotonic() > deadline:
            waited = config.get("recovery.wait-seconds")
            raise RuntimeError(
                f"no worker is left to hold the graph, and none came within {waited} s: start "
                "workers, or raise daskbfs.recovery.wait-seconds"
            )
        await asyncio.sleep(config.get("recovery.look-seconds"))
