"""Kernel 1 on the workers: edges are counted and rows filled where they will be held.

Workers count portions of the edges; one of them numbers the vertices. Then each makes all edges
once more and keeps the arcs of its own rows. So no edge travels, no worker holds more than its
own rows, and what a lost worker held is made again by another without the help of a third.

That costs time: W workers make all edges W times (kron:22 on two one-core workers: 15 s, where one
process with both cores takes 6). Exchanging arcs instead would be faster for many workers; it would
need flow control, and a way to replay what a lost worker had sent. Text files are counted by one
worker, because their blocks depend on the number of threads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from distributed import Client, Future

from daskbfs import config
from daskbfs.cluster.futures import new_run, wait_all
from daskbfs.cluster.liveness import wait_unless_lost
from daskbfs.cluster.threads import Share, machine_shares
from daskbfs.cluster.workers import WorkerState
from daskbfs.graph.build import Selection, fill_rows, outline_of
from daskbfs.graph.csr import Rows
from daskbfs.graph.degrees import (
    Counts,
    check_vertices,
    choose_ids,
    merge_counts,
    name_errors,
    tally,
)
from daskbfs.graph.edge_stream import EdgeStream, Origin, split_stream
from daskbfs.graph.graph import RemoteGraph
from daskbfs.graph.ordering import Locality
from daskbfs.graph.prebuilt import outline_stored, stored_graph
from daskbfs.graph.vertex_ids import Ids, collect_ids
from daskbfs.kernels.buffers import ensure_owned
from daskbfs.kernels.threads import threads
from daskbfs.machine import hardware
from daskbfs.partition.layout import Layout
from daskbfs.partition.partition import cut_rows_of
from daskbfs.partition.pinned import Pinned
from daskbfs.progress import JoinedProgress, Progress, publish_progress, published_progress, silent

_COUNT_BYTES = 12  # of a vertex: its arcs, out and in, and its loops


class BuiltRows(Pinned):
    """Rows of some partitions, out of them and into them, on the worker that will hold them."""

    __slots__ = ("by_partition", "making_seconds")

    def __init__(
        self, by_partition: dict[int, tuple[Rows, Rows]], making_seconds: float | None
    ) -> None:
        self.by_partition = by_partition
        self.making_seconds = making_seconds
        """Of the pass, those in which edges were made."""

    def __sizeof__(self) -> int:
        pairs = self.by_partition.values()
        return sum(out.nbytes + (into.nbytes if into is not out else 0) for out, into in pairs)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What a worker needs to know to build its rows."""

    outline: RemoteGraph
    layout: Layout


async def outline_on_workers(
    origin: Origin, client: Client, now: Mapping[str, WorkerState], progress: Progress
) -> RemoteGraph:
    """The outline of a graph, counted and numbered on the workers; of a stored one, as it is."""
    stored = stored_graph(origin)
    if stored is not None:
        return outline_stored(stored, origin)
    processes = {worker: state.process for worker, state in now.items()}
    with name_errors(origin.name):
        return await wait_unless_lost(
            client, processes, _count_and_number(origin, client, sorted(now), progress)
        )


@contextlib.asynccontextmanager
async def report_progress(
    client: Client, run: str, workers: Sequence[str], progress: Progress
) -> AsyncIterator[None]:
    """Report how far tasks on workers have come, which publish it under a run's name."""
    if progress is silent:
        yield
        return
    polling = asyncio.ensure_future(_poll_progress(client, run, list(workers), progress))
    try:
        yield
    finally:
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)  # awaiting the tasks raises the error


async def _poll_progress(client: Client, run: str, workers: list[str], progress: Progress) -> None:
    joined = JoinedProgress(len(workers), progress)
    while True:
        await asyncio.sleep(config.get("progress-seconds"))
        standings_by_worker = await client.run(
            published_progress, run, workers=workers, on_error="ignore"
        )
        for standings in standings_by_worker.values():
            for work, now in standings.items():
                joined.update(work, now)


async def _count_and_number(
    origin: Origin, client: Client, workers: Sequence[str], progress: Progress
) -> RemoteGraph:
    locality = Locality.from_config()
    shares = machine_shares(workers)
    streams = dict(zip(workers, split_stream(origin.stream, len(workers)), strict=False))

    async def on_workers(function: Any, *arguments: Any) -> list[Future]:
        run = new_run()
        futures = [
            client.submit(
                function,
                stream,
                shares[worker],
                f"{run} {worker}",
                *arguments,
                key=(function.__name__, run, worker),
                workers=[worker],
                pure=False,
            )
            for worker, stream in streams.items()
        ]
        async with report_progress(client, run, list(streams), progress):
            await wait_all(futures)
        return futures

    def on_first(function: Any, *arguments: Any) -> Future:
        key = (function.__name__, new_run())
        return client.submit(function, *arguments, key=key, workers=[workers[0]], pure=False)

    tallies = await on_workers(count_edges, origin.directed, None)
    outline = await on_first(number_vertices, tallies, origin, locality)
    if outline is None:
        ids = on_first(merge_ids, await on_workers(collect_vertices))
        tallies = await on_workers(count_edges, origin.directed, ids)
        outline = await on_first(number_vertices, tallies, origin, locality)
    result: RemoteGraph = owned_outline(outline)
    return result


def count_edges(
    stream: EdgeStream, share: Share, work: str, directed: bool, ids: Ids | None
) -> Counts | None:
    """Count a portion of the edges; None where ids must be collected first."""
    if stream.n_vertices is not None:
        n = stream.n_vertices
        check_vertices(n)
        hardware.require_memory(_COUNT_BYTES * n, f"counting {n} vertices", "use larger workers")
    with threads(share.kernel_threads), publish_progress(work) as progress:
        return tally(stream, directed, progress, ids)


def collect_vertices(stream: EdgeStream, share: Share, work: str) -> tuple[np.ndarray, int]:
    """The vertex ids of a portion of the edges, and how many edges it has."""
    with threads(share.kernel_threads), publish_progress(work) as progress:
        return collect_ids(stream, progress)


def merge_ids(collected: Sequence[tuple[np.ndarray, int]]) -> Ids:
    """The ids of a whole stream."""
    values = np.unique(np.concatenate([ids for ids, _ in collected]))
    return choose_ids(values, sum(n for _, n in collected))


def number_vertices(
    tallies: Sequence[Counts | None], origin: Origin, locality: Locality
) -> RemoteGraph | None:
    """The outline of a graph from what workers have counted; None where ids must be collected.

    ``locality`` is the client's: workers may be configured otherwise.
    """
    known = [counts for counts in tallies if counts is not None]
    if len(known) < len(tallies):
        return None
    counts = merge_counts(known)
    if counts.too_sparse:
        return None
    check_vertices(counts.ids.n_vertices)
    outline = outline_of(counts, origin, locality)
    outline.generation_seconds = _least([counts.making_seconds for counts in known])
    return outline


def _least(seconds: Sequence[float | None]) -> float | None:
    """What the quickest worker took to make edges: no other can say that it took less."""
    return min((s for s in seconds if s is not None), default=None)


def owned_outline(outline: RemoteGraph) -> RemoteGraph:
    """An outline that came over the wire, with arrays that kernels know."""
    values = {f.name: getattr(outline, f.name) for f in fields(outline) if f.name != "_derived"}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            values[name] = ensure_owned(value)
    for name in ("input_lengths", "lengths"):
        out, into = values[name]
        out = ensure_owned(out)
        values[name] = (out, ensure_owned(into) if outline.directed else out)
    if not outline.filled:  # the same, and in memory once
        values["lengths"] = values["input_lengths"]
    return RemoteGraph(**values)


def build_rows(blueprint: Blueprint, share: Share, work: str, numbers: Sequence[int]) -> BuiltRows:
    """Build the rows of some partitions, where they will stay."""
    layout, outline = blueprint.layout.owned_copy(), blueprint.outline
    stored = stored_graph(Origin(outline.stream, outline.directed, outline.name))
    if stored is not None:
        with threads(share.kernel_threads):
            return BuiltRows({p: cut_rows_of(stored, layout, p) for p in numbers}, None)
    selections = [
        Selection(layout.rows[p], layout.global_id, int(layout.first[p]) + layout.rows[p].size)
        for p in numbers
    ]
    stream = outline.stream
    before = stream.seconds
    with threads(share.kernel_threads), publish_progress(work) as progress:
        pairs = fill_rows(owned_outline(outline), selections, progress)
    made = None if before is None else (stream.seconds or 0.0) - before
    return BuiltRows(dict(zip(numbers, pairs, strict=True)), made)


@dataclass(frozen=True, slots=True)
class Built:
    """What the client must know of rows that one worker has built."""

    lengths: dict[int, tuple[np.ndarray, np.ndarray]]
    """How long they became, by partition."""
    making_seconds: float | None


def describe_built(built: BuiltRows) -> Built:
    """What the client must know of these rows."""
    lengths = {
        p: (np.diff(out.indptr).astype(np.uint32), np.diff(into.indptr).astype(np.uint32))
        for p, (out, into) in built.by_partition.items()
    }
    return Built(lengths, built.making_seconds)


def fill_lengths(graph: RemoteGraph, layout: Layout, built: Sequence[Built]) -> None:
    """Give the outline the lengths that its rows became, and what it took to make their edges."""
    out = np.empty(graph.n_rows, np.uint32)
    into = np.empty(graph.n_rows, np.uint32) if graph.directed else out
    for held in built:
        for p, pair in held.lengths.items():
            out[layout.rows[p]], into[layout.rows[p]] = pair
    graph.lengths, graph.filled = (out, into), True
    if graph.generation_seconds is not None:
        graph.generation_seconds += _least([held.making_seconds for held in built]) or 0.0
