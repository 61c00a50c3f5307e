"""What the kernels of each worker run on.

A worker is a GPU worker when dask-cuda started it or when it offers the resource ``GPU``; one that
offers ``GPU-EMULATED`` runs the GPU's kernels on its CPU, and so does a GPU worker where
``daskbfs.gpu.emulate`` is set. All others are CPU workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from distributed import Client

from daskbfs import config
from daskbfs.cluster.liveness import WorkersLost, wait_unless_lost
from daskbfs.cluster.workers import WorkerState
from daskbfs.machine.devices import check_device
from daskbfs.names import Device
from daskbfs.partition.memory_space import device_limit

RESOURCES = {Device.GPU: "GPU", Device.GPU_EMULATED: "GPU-EMULATED"}
"""What workers offer that have such a device."""


async def query_devices(client: Client, now: Mapping[str, WorkerState]) -> dict[str, WorkerState]:
    """The workers that answer, with their devices; those that are lost meanwhile are left out."""
    while now:
        processes = {worker: state.process for worker, state in now.items()}
        asking = client.run(_device_here, workers=list(now), on_error="return")
        try:
            return _match_answers(now, await wait_unless_lost(client, processes, asking))
        except WorkersLost as loss:
            now = {worker: s for worker, s in now.items() if worker not in loss.workers}
    return {}


def _match_answers(
    now: Mapping[str, WorkerState], answers: Mapping[str, Any]
) -> dict[str, WorkerState]:
    found = {}
    for worker, answer in answers.items():
        if isinstance(answer, OSError):  # it has left since
            continue
        if isinstance(answer, BaseException):
            if "No module named 'daskbfs" in str(answer):  # Dask sends the text of such an error
                raise ImportError(f"worker {worker} has no daskbfs: install it there") from answer
            raise answer
        found[worker] = replace(now[worker], device=answer[0], device_bytes=answer[1])
    return found


def _device_here(dask_worker: Any) -> tuple[Device, int | None]:
    """The device of a worker, and its memory where that is known; an error where it has none."""
    offered = dask_worker.state.total_resources
    device = Device.CPU
    if RESOURCES[Device.GPU_EMULATED] in offered:
        device = Device.GPU_EMULATED
    elif RESOURCES[Device.GPU] in offered or _by_dask_cuda(dask_worker):
        device = Device.GPU_EMULATED if config.get("gpu.emulate") else Device.GPU
    if device is Device.CPU:
        return device, None
    try:
        check_device(device)
    except RuntimeError as error:
        raise type(error)(f"worker {dask_worker.address}: {error}") from None
    return device, device_limit(device)


def _by_dask_cuda(worker: Any) -> bool:
    """Whether dask-cuda started a worker: it leaves its plug-ins there."""
    return any(type(p).__module__.startswith("dask_cuda.") for p in worker.plugins.values())
