"""The resident driver: a search is one task on each worker, which runs all levels.

Where one worker holds all partitions, nothing leaves it. Several exchange frontiers by mail
(:mod:`daskbfs.post`), as in waves: Dask has less to do, and less to show.
"""

from __future__ import annotations

from typing import Any

from daskbfs.cluster import new_run, settled
from daskbfs.drivers.common import Placed
from daskbfs.holding import Holding
from daskbfs.post import Attempt
from daskbfs.programs import Program
from daskbfs.superstep import run_search
from daskbfs.wave import run_levels


async def search(holding: Holding, program: Program, threads: int | None) -> Placed:
    """Run a program where its partitions are."""
    workers = holding.placement.workers
    attempt = Attempt(new_run(), workers)
    shares = holding.shares(threads)
    task: Any = run_search
    exchange: tuple[Attempt, ...] = ()
    if len(workers) > 1:
        task, exchange = run_levels, (attempt,)
    parts = [
        holding.client.submit(
            task,
            program,
            holding.held_by(worker),
            shares[worker],
            *exchange,
            key=(task.__name__, attempt.run, w),
            workers=[worker],
            pure=False,
        )
        for w, worker in enumerate(workers)
    ]
    try:
        await settled(parts)
    except BaseException:
        for part in parts:
            part.release()  # whoever handles the error may hold this frame for long
        raise
    return Placed(holding, parts)
