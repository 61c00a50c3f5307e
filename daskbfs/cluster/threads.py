"""How many threads a worker's kernels may use: workers of one machine share its cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daskbfs.kernels.threads import n_threads
from daskbfs.machine import hardware
from daskbfs.partition.placement import workers_per_machine


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a machine a worker's kernels may take."""

    threads: int | None = None
    """As told by the user; None divides the machine's cores among its workers."""
    n_workers: int = 1
    """Workers on this machine."""
    name: str | None = None
    """What records call the worker."""

    @property
    def kernel_threads(self) -> int:
        """Threads that kernels may use here."""
        if self.threads is not None:
            return self.threads
        return min(n_threads(), max(1, hardware.n_cores() // self.n_workers))


def machine_shares(workers: Sequence[str], n_threads: int | None = None) -> dict[str, Share]:
    """How much of its machine each worker's kernels may take."""
    sizes = workers_per_machine(workers)
    return {worker: Share(n_threads, n, worker) for worker, n in sizes.items()}
