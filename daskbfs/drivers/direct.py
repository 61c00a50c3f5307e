"""The direct driver: a plain loop over the levels in the calling process, without Dask."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daskbfs.direction import Policy, Summary
from daskbfs.graph import Graph
from daskbfs.kernels.compiling import n_threads
from daskbfs.kernels.ids import forget_unvisited
from daskbfs.lease import LeasePool
from daskbfs.superstep import expand_level
from daskbfs.telemetry import LevelRecord, LevelTable
from daskbfs.types import Device, Direction


def search(
    graph: Graph,
    source_row: int,
    policy: Policy,
    *,
    depth_limit: int | None = None,
    target_rows: Sequence[int] = (),
) -> tuple[np.ndarray, LevelTable]:
    """Search from a row; returns each row's parent as a vertex index, and what was measured.

    Stops after ``depth_limit`` levels, or when all targets are reached.
    """
    pool = LeasePool.of(graph)
    lease = pool.acquire(graph)
    parent = pool.arrays.take(graph.original_index.size, np.uint32)
    try:
        frontier = lease.begin(graph, source_row, parent)
        summary = Summary.at_source(graph.n_rows, graph.n_arcs, graph.out.degree(source_row))
        direction = Direction.TOP_DOWN
        records: list[LevelRecord] = []
        wanted = [row for row in target_rows if row != source_row]
        while frontier.size and len(records) != depth_limit:
            if target_rows and not wanted:
                break
            direction = policy(direction, summary)
            reply = expand_level(graph, lease, frontier, direction, summary.scout_count)
            records.append(
                LevelRecord(
                    level=len(records),
                    direction=direction,
                    device=Device.CPU,
                    partition=0,
                    worker=None,
                    frontier_vertices=frontier.size,
                    edges_examined=reply.edges_examined,
                    kernel_seconds=reply.kernel_seconds,
                    exchanged_bytes=0,
                )
            )
            summary = summary.after(direction, reply.awake_count, reply.scout_count)
            frontier = reply.frontier
            wanted = [row for row in wanted if not lease.is_visited(row)]
        forget_unvisited(parent, lease.visited, n_threads())
    finally:
        pool.release(lease)
    return parent, LevelTable(records)
