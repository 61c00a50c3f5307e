"""Where partitions live: pure functions of the workers that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from daskbfs.names import Device


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
        return in_this_process(self.holders)

    def on(self, devices: Mapping[str, Device]) -> list[Device]:
        """The device of each partition, given those of the workers."""
        return [devices[worker] for worker in self.holders]

    def held_by(self, worker: str) -> list[int]:
        """Numbers of the partitions that a worker holds."""
        return [p for p, holder in enumerate(self.holders) if holder == worker]


def place(n_partitions: int, devices: Mapping[str, Device]) -> Placement:
    """Deal partitions to workers, given by their devices, in turn; the CPU's partitions first."""
    _some(devices)
    on_cpu = sorted(w for w, device in devices.items() if device is Device.CPU)
    others = sorted(w for w, device in devices.items() if device is not Device.CPU)
    rounds, rest = divmod(n_partitions, len(devices))
    n_cpu = rounds * len(on_cpu) + min(rest, len(on_cpu))
    holders = [on_cpu[p % len(on_cpu)] for p in range(n_cpu)]
    holders += [others[p % len(others)] for p in range(n_partitions - n_cpu)]
    return Placement(tuple(holders))


def place_again(
    before: Placement,
    devices: Mapping[str, Device],
    weights: Sequence[int],
    wanted: Sequence[Device],
    *,
    level: bool = False,
) -> Placement:
    """Leave partitions where they are; give those whose worker is gone to the least loaded.

    Each goes to a device of the kind it is wanted on, as long as there is one. With ``level``, also
    take partitions from workers that have more than their share.
    """
    _some(devices)
    workers = sorted(devices)
    most = -(-len(before.holders) // len(workers)) if level else len(before.holders)
    holders: list[str | None] = []
    for worker in before.holders:
        stays = worker in workers and holders.count(worker) < most
        holders.append(worker if stays else None)
    load = Counter(dict.fromkeys(workers, 0))
    for p, holder in enumerate(holders):
        if holder is not None:
            load[holder] += weights[p]
    for p in sorted(range(len(holders)), key=lambda p: -weights[p]):
        if holders[p] is None:
            free = [w for w in workers if holders.count(w) < most]
            alike = [w for w in free if devices[w] is wanted[p]]
            holders[p] = min(alike or free, key=load.__getitem__)
            load[holders[p]] += weights[p]  # type: ignore[index]
    return Placement(tuple(holders))  # type: ignore[arg-type]


def _some(workers: Collection[str]) -> None:
    if not workers:
        raise ValueError("the cluster has no workers: start some, or wait for them")


def in_this_process(workers: Iterable[str]) -> bool:
    """Whether all of some workers live in this process."""
    return all(worker.startswith("inproc://") for worker in workers)


def workers_per_machine(workers: Sequence[str]) -> Mapping[str, int]:
    """For each worker, how many of these workers share its machine."""
    machines = {worker: machine(worker) for worker in workers}
    sizes = Counter(machines.values())
    return {worker: sizes[machines[worker]] for worker in workers}


def machine(worker: str) -> str:
    """The host part of a worker's address."""
    parts = urlsplit(worker)
    return parts.hostname or worker
