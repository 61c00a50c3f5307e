"""The resident driver: all partitions on one worker, so a search is one task."""

from __future__ import annotations

from daskbfs.cluster import machine_shares, new_run, settled
from daskbfs.drivers.common import Placed
from daskbfs.holding import Holding
from daskbfs.programs import Program
from daskbfs.superstep import run_search


async def search(holding: Holding, program: Program, threads: int | None) -> Placed:
    """Run a program where its partitions are."""
    (worker,) = holding.placement.workers
    outcome = holding.client.submit(
        run_search,
        program,
        holding.held_by(worker),
        machine_shares([worker], threads)[worker],
        key=("run_search", new_run()),
        workers=[worker],
        pure=False,
    )
    try:
        await settled([outcome])
    except BaseException:
        outcome.release()  # whoever handles the error may hold this frame for long
        raise
    return Placed(holding, [outcome])
