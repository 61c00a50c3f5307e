"""Where partitions live: pure functions of the workers that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Placement:
    """Which worker holds which partitions; workers are addresses."""

    holders: tuple[str, ...]
    """The worker of each partition."""

    @property
    def workers(self) -> tuple[str, ...]:
        """Workers that hold anything, in order of their first partition."""
        return tuple(dict.fromkeys(self.holders))

    @property
    def coordinator(self) -> str:
        """The worker that gathers: the one that holds partition 0."""
        return self.holders[0]

    @property
    def in_this_process(self) -> bool:
        """Whether all workers live in this process, so that nothing needs to be sent."""
        return all(worker.startswith("inproc://") for worker in self.holders)

    def held_by(self, worker: str) -> list[int]:
        """Numbers of the partitions that a worker holds."""
        return [p for p, holder in enumerate(self.holders) if holder == worker]


def place(n_partitions: int, workers: Sequence[str]) -> Placement:
    """Deal partitions to workers in turn."""
    if not workers:
        raise ValueError("the cluster has no workers: start some, or wait for them")
    return Placement(tuple(workers[p % len(workers)] for p in range(n_partitions)))


def workers_per_machine(workers: Sequence[str]) -> Mapping[str, int]:
    """For each worker, how many of these workers share its machine."""
    machines = {worker: machine(worker) for worker in workers}
    sizes = Counter(machines.values())
    return {worker: sizes[machines[worker]] for worker in workers}


def machine(worker: str) -> str:
    """The host part of a worker's address."""
    parts = urlsplit(worker)
    return parts.hostname or worker
