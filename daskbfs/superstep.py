"""One level on one partition: choose the kernel, convert the frontier, measure."""

from __future__ import annotations

import time
from dataclasses import dataclass

from daskbfs import config
from daskbfs.graph import Graph
from daskbfs.kernels import cpu
from daskbfs.kernels.compiling import n_threads
from daskbfs.lease import Frontier, Lease
from daskbfs.types import Direction


@dataclass(frozen=True, slots=True)
class Reply:
    """What a partition found in one level."""

    frontier: Frontier
    awake_count: int
    scout_count: float
    edges_examined: int
    kernel_seconds: float


def expand_level(
    graph: Graph, lease: Lease, frontier: Frontier, direction: Direction, scout_count: float
) -> Reply:
    """Search one level; ``scout_count`` tells how much work a top-down step will be."""
    start = time.perf_counter()
    threads = n_threads()
    if direction is Direction.TOP_DOWN:
        queue, size = _queue(lease, frontier, threads)
        found = lease.spare_queue(queue)
        if scout_count < config.get("kernels.serial-arcs"):
            threads = 1
        rows = graph.out
        awake_count, scout_count, examined = cpu.top_down(
            rows.indptr,
            rows.indices,
            graph.original_index,
            rows.mean_degree,
            lease.parent,
            lease.visited,
            queue,
            size,
            found,
            threads,
        )
        reached = Frontier(awake_count, queue=found)
    else:
        bitmap = _bitmap(lease, frontier, threads)
        found = lease.spare_bitmap(bitmap)
        rows = graph.into
        awake_count, scout_count, examined = cpu.bottom_up(
            rows.indptr,
            rows.indices,
            rows.hub,
            graph.hub_vertex,
            graph.original_index,
            graph.out.mean_degree,
            rows.n_long_rows,
            lease.parent,
            lease.visited,
            bitmap,
            found,
            threads,
        )
        reached = Frontier(awake_count, bitmap=found)
    return Reply(reached, awake_count, scout_count, examined, time.perf_counter() - start)


def _queue(lease: Lease, frontier: Frontier, threads: int):  # type: ignore[no-untyped-def]
    """The frontier as a queue, in any order."""
    if frontier.queue is None:
        frontier.queue = lease.queues[0]
        cpu.bitmap_to_queue(frontier.bitmap, frontier.queue, threads)
    return frontier.queue, frontier.size


def _bitmap(lease: Lease, frontier: Frontier, threads: int):  # type: ignore[no-untyped-def]
    """The frontier as a bitmap."""
    if frontier.bitmap is None:
        frontier.bitmap = lease.bitmaps[0]
        cpu.queue_to_bitmap(frontier.queue, frontier.size, frontier.bitmap, threads)
    return frontier.bitmap
