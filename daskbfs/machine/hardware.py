"""What this machine is and has: for records, for ``doctor``, and for refusing what cannot fit."""

from __future__ import annotations

import os
import platform
import re
import resource
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def describe() -> dict[str, Any]:
    """The ``machine`` part of the JSON contract."""
    return {
        "cpu": cpu_name(),
        "cores": n_cores(),
        "memory_bytes": memory_bytes(),
        "python": platform.python_version(),
        "numba": metadata.version("numba"),
        "dask": metadata.version("dask"),
    }


def cpu_name() -> str:
    """The processor's name as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float:
    """Processes that ran or wanted to, on average over the last minute."""
    return os.getloadavg()[0]


def memory_bytes() -> int:
    """Memory of the machine, or of the container where that is less."""
    import psutil

    return min(int(psutil.virtual_memory().total), *_container_limits(), sys.maxsize)


def available_bytes() -> int:
    """Memory that can still be had here."""
    import psutil

    used = int(psutil.Process().memory_info().rss)
    limits = [limit - used for limit in _container_limits()]
    return max(0, min(int(psutil.virtual_memory().available), *limits, sys.maxsize))


def _container_limits() -> list[int]:
    limits = []
    for path in _CGROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return limits


def last_level_cache_bytes() -> int | None:
    """The largest cache of a core; None where the system does not tell."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            sizes.append(1024 * int(path.read_text().strip().removesuffix("K")))
        except (OSError, ValueError):
            continue
    return max(sizes, default=None)


def peak_bytes_of(pid: int | str) -> int | None:
    """The most memory that a running process has held so far; None where the system is silent."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return 1024 * int(found[1]) if found else None


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    if (peak := peak_bytes_of("self")) is not None:
        return (
            peak  # what getrusage tells includes the parent's, from before the program was loaded
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def require_memory(needed: int, what: str, way_out: str) -> None:
    """Raise MemoryError, with numbers, when ``needed`` bytes are not there."""
    there = available_bytes()
    if needed > there:
        raise MemoryError(
            f"{what} needs about {human_bytes(needed)} and {human_bytes(there)} are free: {way_out}"
        )


def human_bytes(n: float) -> str:
    """A size that people read: 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"


def human_count(n: int, noun: str) -> str:
    """A number of things: 1 worker, 2 workers."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def human_rate(teps: float) -> str:
    """Edges per second as people read them: 5.43 GTEPS."""
    for factor, unit in ((1e9, "GTEPS"), (1e6, "MTEPS"), (1e3, "kTEPS")):
        if teps >= factor:
            return f"{teps / factor:.3g} {unit}"
    return f"{teps:.3g} TEPS"
