"""What ``daskbfs doctor`` finds out about GPUs and energy counters, and what to install."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from daskbfs.installed import INSTALL, check_device, check_one_cuda, nvml
from daskbfs.types import Device

_PACKAGES = {"cupy": "cupy", "numba-cuda": "numba_cuda", "dask-cuda": "dask_cuda"}
_POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    value: str
    good: bool = True
    advice: str = ""


def examine() -> Iterator[Finding]:
    """Look at GPUs, the packages for them, and what counts energy."""
    yield _gpus()
    yield from (_package(name, module) for name, module in _PACKAGES.items())
    yield _one_cuda()
    yield _usable(Device.GPU, "GPU workers", "can be started here")
    yield _usable(Device.GPU_EMULATED, "emulated GPUs", "can be started here, to try without a GPU")
    yield _cpu_energy(_POWERCAP)
    yield _gpu_energy()


def _gpus() -> Finding:
    try:
        counters = nvml()
    except RuntimeError as error:
        return Finding("gpus", str(error).partition(":")[0], False)
    handles = [counters.nvmlDeviceGetHandleByIndex(i) for i in range(counters.nvmlDeviceGetCount())]
    names = ", ".join(str(counters.nvmlDeviceGetName(handle)) for handle in handles)
    driver = counters.nvmlSystemGetDriverVersion()
    return Finding("gpus", f"{len(handles)} ({names or 'none'}), driver {driver}")


def _package(name: str, module: str) -> Finding:
    if importlib.util.find_spec(module) is None:
        return Finding(name, "not installed", False)
    names = metadata.packages_distributions().get(module, [name])
    return Finding(name, ", ".join(f"{n} {metadata.version(n)}" for n in sorted(set(names))))


def _one_cuda() -> Finding:
    try:
        check_one_cuda()
    except RuntimeError as error:
        return Finding("cuda", str(error), False, "keep one of the extras cuda12 and cuda13")
    return Finding("cuda", "no packages for two versions at once")


def _usable(device: Device, name: str, what: str) -> Finding:
    try:
        check_device(device)
    except RuntimeError as error:
        why = str(error).partition(":")[0]
        advice = INSTALL[device] if " needs " in why else ""
        return Finding(name, f"cannot be started here: {why}", False, advice)
    return Finding(name, what)


def _cpu_energy(powercap: Path) -> Finding:
    counters = sorted(powercap.glob("intel-rapl:*/energy_uj"))
    if not counters:
        return Finding("cpu energy", "unavailable: this machine shows no RAPL counters", False)
    try:
        for counter in counters:
            int(counter.read_text())
    except (OSError, ValueError) as error:
        advice = f"let this user read {powercap}/intel-rapl:*/energy_uj"
        return Finding("cpu energy", f"unavailable: {error}", False, advice)
    return Finding("cpu energy", f"{len(counters)} RAPL counters")


def _gpu_energy() -> Finding:
    try:
        counters = nvml()
    except RuntimeError as error:
        return Finding("gpu energy", f"unavailable: {error}".rpartition(":")[0], False)
    n = counters.nvmlDeviceGetCount()
    try:
        for i in range(n):
            counters.nvmlDeviceGetTotalEnergyConsumption(counters.nvmlDeviceGetHandleByIndex(i))
    except (counters.NVMLError, AttributeError) as error:
        return Finding("gpu energy", f"unavailable: {error}", False)
    return Finding("gpu energy", f"{n} NVML counters" if n else "unavailable: no GPU", n > 0)
