"""Small inputs that several tests share."""

from __future__ import annotations

import gzip

from daskbfs.algorithms.bfs.direction import (
    Summary,
)
from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import LevelRecord, LevelTable


def summary(**changes):
    facts = {
        "n_rows": 1800,
        "n_arcs": 30_000,
        "awake_count": 10,
        "scout_count": 100,
        "edges_to_check": 30_000,
        "edges_left": 29_900,
    }
    return Summary(**facts | changes)


EMULATED_WORKER = ("--resources", "GPU-EMULATED=1")


TRIANGLE = [(0, 1), (1, 2), (2, 0)]

KONECT = "% sym unweighted\n"
MTX = "%%MatrixMarket matrix coordinate pattern general\n"
"""Heads of files of these formats."""


def written(folder, name, content):
    path = folder / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
    return path


def record(level, worker, device, seconds, partition=0, frontier=10, scouts=40):
    direction = Direction.BOTTOM_UP if level == 1 else Direction.TOP_DOWN
    return LevelRecord(
        level, direction, device, partition, worker, frontier, 5, seconds, 100, scouts
    )


CPU, EMULATED = Device.CPU, Device.GPU_EMULATED
TABLE = LevelTable(
    [
        record(0, "a", CPU, 1.0),
        record(0, "a", CPU, 2.0, partition=2),
        record(0, "b", EMULATED, 2.5, partition=1),
        record(1, "a", CPU, 1.0, frontier=0, scouts=0),
        record(1, "b", EMULATED, 4.0, partition=1, frontier=0, scouts=0),
    ]
)
