"""What pictures show of records: plain numbers, for whatever draws them."""

from __future__ import annotations

from dataclasses import dataclass

from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import LevelTable, slowest_seconds

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Okabe and Ito's, which colour-blind people can tell apart."""

DEVICE_COLOURS = dict(zip(Device, ("#0072B2", "#E69F00", "#CC79A7"), strict=True))
BUSY_COLOUR, WAIT_COLOUR, SHADE = "#009E73", "#BBBBBB", "#888888"


@dataclass(frozen=True, slots=True)
class LevelView:
    """One level of a run, over all partitions."""

    level: int
    direction: Direction | None
    frontier_vertices: int
    mean_degree: float
    seconds: dict[Device, float]
    """Kernels, summed over the workers of each kind of device."""
    slowest_seconds: float
    """Kernels of the slowest worker: what the others waited for."""


def levels_of(levels: LevelTable) -> list[LevelView]:
    """The levels of a run, in order."""
    views = []
    for level, records in levels.by_level().items():
        seconds: dict[Device, float] = {}
        for record in records:
            seconds[record.device] = seconds.get(record.device, 0.0) + record.kernel_seconds
        first = records[0]
        views.append(
            LevelView(
                level,
                first.direction,
                first.frontier_vertices,
                first.mean_degree,
                seconds,
                slowest_seconds(records),
            )
        )
    return views


def devices_of(levels: LevelTable) -> list[Device]:
    """The kinds of devices that took part."""
    there = {record.device for record in levels}
    return [device for device in Device if device in there]


@dataclass(frozen=True, slots=True)
class WorkerView:
    """What one worker did in a run."""

    worker: str
    device: Device
    partitions: tuple[int, ...]
    busy_seconds: float
    """In kernels."""
    wait_seconds: float
    """While the slowest worker of a level was still in its kernels."""
    edges_examined: int
    exchanged_bytes: int


def workers_of(levels: LevelTable) -> list[WorkerView]:
    """The workers of a run, by their first partition."""
    mine: dict[str, LevelTable] = {}
    for worker in dict.fromkeys(record.worker for record in levels):
        mine[worker or "here"] = LevelTable([r for r in levels if r.worker == worker])
    total = levels.kernel_seconds
    views = []
    for worker, records in mine.items():
        busy = sum(record.kernel_seconds for record in records)
        views.append(
            WorkerView(
                worker=worker,
                device=records[0].device,
                partitions=tuple(sorted({record.partition for record in records})),
                busy_seconds=busy,
                wait_seconds=max(0.0, total - busy),
                edges_examined=sum(record.edges_examined for record in records),
                exchanged_bytes=sum(record.exchanged_bytes for record in records),
            )
        )
    return sorted(views, key=lambda view: view.partitions)
