"""The resident driver: a search is one task on each worker, which runs all levels.

Where one worker holds all partitions, nothing leaves it. Several exchange frontiers by mail
(:mod:`daskbfs.engine.exchange.mail`), as in waves: Dask has less to do, and less to show.
"""

from __future__ import annotations

from typing import Any

from daskbfs.cluster.futures import wait_all
from daskbfs.distribution.placed_partitions import Holding
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.program import Program
from daskbfs.engine.remote_result import Placed
from daskbfs.engine.tasks import run_levels, run_search


async def search(
    holding: Holding, program: Program, attempt: Attempt, threads: int | None
) -> Placed:
    """Run a program where its partitions are."""
    shares = holding.shares(threads)
    task: Any = run_levels if len(attempt.workers) > 1 else run_search
    with holding.annotated():
        parts = [
            holding.client.submit(
                task,
                program,
                holding.held_by(worker),
                shares[worker],
                attempt,
                key=(holding.task_group(task.__name__), attempt.run, w),
                workers=[worker],
                pure=False,
            )
            for w, worker in enumerate(attempt.workers)
        ]
    found = Placed(holding, parts)
    try:
        await wait_all(parts)
    except BaseException:
        found.release()  # the caller that handles the error may keep this frame alive for long
        raise
    return found
