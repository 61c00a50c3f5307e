"""The resident driver: all partitions on one worker, so a search is one task."""

from __future__ import annotations

from daskbfs.cluster import settled
from daskbfs.distribution import DistributedGraph
from daskbfs.drivers.common import Placed, new_run, shares
from daskbfs.programs import Program
from daskbfs.superstep import run_search


async def search(graph: DistributedGraph, program: Program, threads: int | None) -> Placed:
    """Run a program where its partitions are."""
    (worker,) = graph.placement.workers
    run = new_run()
    outcome = graph.client.submit(
        run_search,
        program,
        graph.held_by(worker),
        shares(graph, threads)[worker],
        key=f"run_search-{run}",
        workers=[worker],
        pure=False,
    )
    await settled([outcome])
    return Placed(graph, [outcome])
