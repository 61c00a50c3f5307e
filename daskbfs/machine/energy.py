"""Energy counters: RAPL for CPUs and memory, NVML for GPUs; what is missing is said to be missing.

What these count is *component energy*: of packages, memory and GPUs, idle power included. It is not
that of a whole system at the outlet, which Green Graph500 wants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from daskbfs.machine.devices import nvml

POWERCAP = Path("/sys/class/powercap")
NO_CPU, NO_GPU = "cpu", "gpu"
"""Components of machines that show no counter at all."""

_ZONE = re.compile(r"intel-rapl:\d+(:\d+)?")
"""A package, or a part of one. intel-rapl-mmio has the same counters once more."""


class Reading(NamedTuple):
    """What a counter shows; None where it cannot be read, and why."""

    component: str
    joules: float | None
    range_joules: float | None = None
    """Where it begins at 0 again."""
    problem: str = ""


def read_counters(powercap: Path = POWERCAP) -> list[Reading]:
    """All counters of this machine; one process of each machine is to ask."""
    return [*_cpus(powercap), *_gpus()]


def _cpus(powercap: Path) -> list[Reading]:
    """Packages, and memory where that has a counter of its own.

    Cores and graphics are parts of a package; the platform (psys) is more than the packages, and
    counting both would count them twice.
    """
    found = []
    for zone in sorted(powercap.glob("intel-rapl:*"), key=lambda zone: zone.name):
        if not _ZONE.fullmatch(zone.name):
            continue
        try:
            name = (zone / "name").read_text().strip()
        except OSError:
            name = zone.name
        if name.startswith("package"):
            found.append(_counter(zone, name))
        elif name == "dram":
            package = zone.name.split(":")[1]
            found.append(_counter(zone, f"dram-{package}"))
    return found or [Reading(NO_CPU, None, None, "this machine shows no RAPL counters")]


def _counter(zone: Path, component: str) -> Reading:
    try:
        joules = int((zone / "energy_uj").read_text()) / 1e6
        limit = int((zone / "max_energy_range_uj").read_text()) / 1e6
    except PermissionError:
        reason = f"only root may read {zone / 'energy_uj'}: run as root, or allow it"
        return Reading(component, None, None, reason)
    except (OSError, ValueError) as error:
        return Reading(component, None, None, f"{zone} cannot be read ({error})")
    return Reading(component, joules, limit)


def _gpus() -> list[Reading]:
    try:
        counters = nvml()
    except RuntimeError as error:
        return [Reading(NO_GPU, None, None, str(error).rpartition(":")[0])]
    try:
        n = int(counters.nvmlDeviceGetCount())
    except counters.NVMLError as error:
        return [Reading("gpus", None, None, f"NVML cannot tell ({error})")]
    found = []
    for i in range(n):
        try:
            handle = counters.nvmlDeviceGetHandleByIndex(i)
            joules = counters.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3
            found.append(Reading(f"gpu-{i}", joules))
        except (counters.NVMLError, AttributeError) as error:
            found.append(Reading(f"gpu-{i}", None, None, f"NVML cannot tell ({error})"))
    return found


@dataclass(slots=True)
class _Count:
    """How far a counter has come since the first look."""

    last: float
    joules: float = 0.0


class EnergyMeter:
    """Adds up what counters show from look to look, by machine.

    Looks must come more often than counters begin anew: minutes apart are fine, hours are not.
    """

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}
        self.problems: dict[str, str] = {}
        """Of components that cannot be measured, the reason."""

    def look(self, readings: Mapping[str, Sequence[Reading]]) -> None:
        """Take in what the counters of each machine show now."""
        for machine, counters in readings.items():
            for reading in counters:
                name = f"{machine} {reading.component}" if len(readings) > 1 else reading.component
                self._take(name, reading)

    def _take(self, name: str, now: Reading) -> None:
        if now.joules is None:
            self.problems[name] = now.problem
            self._counts.pop(name, None)  # a gap in the middle cannot be filled
            return
        if name in self.problems:
            return
        count = self._counts.setdefault(name, _Count(now.joules))
        passed = now.joules - count.last
        if passed < 0:
            if now.range_joules is None:
                self._take(name, Reading(name, None, None, "its counter began anew"))
                return
            passed += now.range_joules
        count.joules += passed
        count.last = now.joules

    @property
    def joules(self) -> dict[str, float]:
        """By component, since the first look."""
        return {name: count.joules for name, count in self._counts.items()}
