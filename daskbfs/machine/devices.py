"""Whether what is installed here can run a kind of device, and what to install where it cannot."""

from __future__ import annotations

import importlib
import importlib.util
import re
from importlib import metadata
from typing import Any

from daskbfs.names import Device


class MissingPackageError(ImportError, RuntimeError):
    """A package that only some users need is not installed; also a RuntimeError, as it once was."""


def require_package(name: str, extra: str, purpose: str) -> Any:
    """A package that only some users need; an error that names its extra where it is not here."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingPackageError(
            f"{purpose} needs {package}: pip install 'daskbfs[{extra}]' ({error})"
        ) from None


def check_device(device: Device) -> None:
    """Refuse a device that is not here, or cannot be used with what is installed."""
    if device is Device.CPU:
        return
    missing = [name for name in _NEEDED[device] if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"device '{device}' needs {', '.join(missing)}: {INSTALL[device]}"
        )
    if device is Device.GPU:
        check_one_cuda()
        import cupy

        if not cupy.is_available():
            raise RuntimeError(
                "device 'gpu' is not here, CuPy sees none: 'daskbfs doctor' tells more, and "
                "'gpu-emulated' runs the same kernels on the CPU, slowly"
            )


def check_one_cuda() -> None:
    """Refuse an installation with packages for two versions of CUDA: they load each other's."""
    by_major = cuda_packages()
    if len(by_major) > 1:
        found = "; ".join(f"CUDA {major}: {', '.join(by_major[major])}" for major in by_major)
        raise RuntimeError(
            f"packages for two versions of CUDA are installed ({found}): uninstall those of one"
        )


def cuda_packages() -> dict[int, list[str]]:
    """The installed packages that are for one version of CUDA only, by that version."""
    by_major: dict[int, list[str]] = {}
    for package in metadata.distributions():
        name = (package.name or "").lower()
        found = re.fullmatch(r"cupy-cuda(\d\d)x|nvidia-.*-cu(\d\d)", name)
        major = next(filter(None, found.groups())) if found else None
        if name == "cuda-bindings":
            major = package.version.split(".")[0]
        if major is not None:
            by_major.setdefault(int(major), []).append(name)
    return {major: sorted(by_major[major]) for major in sorted(by_major)}


INSTALL = {
    Device.GPU: "pip install 'daskbfs[cuda13]', or 'daskbfs[cuda12]' for drivers before CUDA 13",
    Device.GPU_EMULATED: "pip install 'daskbfs[gpu-check]'",
}
_NEEDED = {
    Device.GPU: ("numba_cuda", "cupy"),
    Device.GPU_EMULATED: ("numba_cuda", "greenlet"),
}


def nvml() -> Any:
    """NVML, ready to be asked; an error where it is not here."""
    if importlib.util.find_spec("pynvml") is None:
        raise MissingPackageError(
            f"no GPU can be seen without NVML's package: {INSTALL[Device.GPU]}"
        )
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise RuntimeError(
            f"no GPU can be seen here ({error}): take 'gpu-emulated', which runs the same kernels "
            "on the CPU, or see 'daskbfs doctor'"
        ) from None
    return pynvml
