"""The resident driver: a run is one task on each worker, which computes all levels.

Where one worker holds all partitions, nothing leaves it. Several go from level to level as in waves
(:mod:`daskbfs.engine.levels`): Dask has less to do, and less to show.
"""

from __future__ import annotations

from typing import Any

from daskbfs.cluster.futures import wait_all
from daskbfs.distribution.placed_partitions import PlacedPartitions
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.program import Program
from daskbfs.engine.results import RemoteResult
from daskbfs.engine.tasks import run_levels, run_program


async def run(
    placed: PlacedPartitions, program: Program, attempt: Attempt, threads: int | None
) -> RemoteResult:
    """Run a program where its partitions are."""
    shares = placed.shares(threads)
    alone = len(attempt.workers) == 1
    task: Any = run_program if alone else run_levels
    with placed.annotate():
        parts = [
            placed.client.submit(
                task,
                program,
                placed.held_by(worker),
                shares[worker],
                attempt,
                *([] if alone else [placed.sharing(worker)]),
                key=(placed.task_group(task.__name__), attempt.run, w),
                workers=[worker],
                pure=False,
            )
            for w, worker in enumerate(attempt.workers)
        ]
    found = RemoteResult(placed, parts)
    try:
        await wait_all(parts)
    except BaseException:
        found.release()  # the caller that handles the error may keep this frame alive for long
        raise
    return found
