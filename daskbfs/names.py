"""The only lists of what has a name: devices, drivers, strategies, algorithms, policies, formats.

The command line completes and checks words by them, so nothing heavy is imported here; what stands
behind a name is found by a table in the package that has it, and tests compare the two.
"""

from __future__ import annotations

import enum

DRIVERS = ("auto", "direct", "resident", "waves")
"""What runs the levels: :mod:`daskbfs.engine.drivers`."""

EXCHANGES = ("mail", "shared memory")
"""How levels go from worker to worker: :mod:`daskbfs.engine.levels`."""

STRATEGIES = ("high", "low", "random", "contiguous", "mirror")
"""How rows are dealt to partitions: :mod:`daskbfs.partition.strategy`."""

ALGORITHMS = ("bfs", "pagerank")
"""What strategy ``auto`` chooses for: :mod:`daskbfs.partition.strategy`."""

POLICIES = ("beamer", "coordinator", "adaptive", "top_down", "bottom_up")
"""How a level's direction is chosen: :mod:`daskbfs.algorithms.bfs.direction`."""

GENERATORS = ("kron", "kron-reference", "uniform")
"""Random graphs: :mod:`daskbfs.graph.generators`."""

FORMATS = (
    "edge-list", "konect", "matrix-market", "dimacs", "metis", "csv", "parquet", "npz", "npy",
    "gap", "gap-weighted", "graph500", "graph500-unpacked", "dbfs",
)  # fmt: skip
"""Of files: :mod:`daskbfs.io.formats`."""

READ_ONLY_FORMATS = ("konect", "npy", "gap-weighted")


class Direction(enum.StrEnum):
    """Which way a level is searched."""

    TOP_DOWN = "top_down"
    BOTTOM_UP = "bottom_up"


class Device(enum.StrEnum):
    """What ran a kernel; emulated devices never pass for real ones."""

    CPU = "cpu"
    GPU = "gpu"
    GPU_EMULATED = "gpu-emulated"


def parse_devices(text: str) -> list[Device]:
    """Devices from words such as ``cpu=1,gpu=2``: a kind without a number means one, CPUs first."""
    counts = dict.fromkeys(Device, 0)
    for word in text.split(","):
        kind, _, number = word.strip().partition("=")
        try:
            counts[Device(kind)] += int(number or 1)
        except ValueError:
            raise ValueError(
                f"devices {text!r} cannot be read at {word!r}: write kinds and numbers, for "
                f"example cpu=1,gpu=2; kinds are {', '.join(Device)}"
            ) from None
    if min(counts.values()) < 0 or not any(counts.values()):
        raise ValueError(f"devices {text!r} are none: at least one is needed, for example cpu=1")
    return [device for device in Device for _ in range(counts[device])]
