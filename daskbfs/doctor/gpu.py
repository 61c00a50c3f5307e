"""What ``daskbfs doctor`` finds out about GPUs and energy counters, and what to install."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from daskbfs.machine.devices import INSTALL, check_device, check_one_cuda, nvml
from daskbfs.machine.energy import read_counters
from daskbfs.names import Device

_PACKAGES = {"cupy": "cupy", "numba-cuda": "numba_cuda", "dask-cuda": "dask_cuda"}


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
    yield from _energy()


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


def _energy() -> Iterator[Finding]:
    """What counts energy here."""
    for reading in read_counters():
        name = f"energy of {reading.component}"
        if reading.joules is None:
            yield Finding(name, f"unavailable: {reading.problem}", False)
        else:
            yield Finding(name, "can be measured")
