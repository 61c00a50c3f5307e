"""One Dask cluster of CPU workers and GPU workers, on this machine."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Sequence
from typing import Any

import dask
from distributed import Nanny, Scheduler, Security, SpecCluster
from distributed.diagnostics.plugin import WorkerPlugin

from daskbfs.cluster.devices import RESOURCES
from daskbfs.cluster.local import LOOPBACK, WORKER_SETUP, on_host, with_our_page
from daskbfs.cluster.tuning import TunedClients, exempt_from_collection, fastest_event_loop
from daskbfs.machine.devices import INSTALL, MissingPackageError, check_device, nvml
from daskbfs.names import Device


class HybridCluster(TunedClients, SpecCluster):  # type: ignore[misc]
    """CPU workers and GPU workers in one cluster, each on cores of its own.

    Parameters
    ----------
    n_cpu_workers
        Workers that run the CPU's kernels, with all cores but one for each GPU among them.
    gpus
        ``"all"``, how many, or which: a GPU worker for each, started the way dask-cuda does.
    emulated_gpus
        Workers that run the GPU's kernels on the CPU, slowly: to try a hybrid cluster without GPUs.
    host
        Where scheduler, workers and dashboards listen. Any program that reaches a port of a Dask
        cluster can run code there: name another than this machine's own address only with
        ``security``, or on a network that is yours alone.
    security
        A :class:`distributed.Security` with TLS certificates; None is plain TCP.
    dashboard_address
        Host and port of the dashboard; a port alone is on ``host``.

    Examples
    --------
    >>> import daskbfs
    >>> with daskbfs.HybridCluster(gpus=0, emulated_gpus=1) as cluster:
    ...     with cluster.get_client() as client:
    ...         graph = daskbfs.distribute(daskbfs.kronecker(scale=8), client)
    ...         sorted(graph.devices().values())
    [<Device.CPU: 'cpu'>, <Device.GPU_EMULATED: 'gpu-emulated'>]
    """

    def __init__(
        self,
        n_cpu_workers: int = 1,
        gpus: str | int | Sequence[int] = "all",
        emulated_gpus: int = 0,
        *,
        host: str = LOOPBACK,
        security: Security | None = None,
        dashboard_address: str = ":0",
        **options: Any,
    ) -> None:
        which = choose_gpus(gpus)
        if emulated_gpus:
            check_device(Device.GPU_EMULATED)
        cpu_cores, gpu_cores = split_cores(_cores(), [_near(gpu) for gpu in which])
        workers: dict[str, Any] = {
            f"cpu-{i}": _worker(cores=cpu_cores) for i in range(n_cpu_workers)
        }
        for i, gpu in enumerate(which):
            workers[f"gpu-{gpu}"] = _gpu_worker(gpu, gpu_cores[i])
        for i in range(emulated_gpus):
            workers[f"gpu-emulated-{i}"] = _worker(
                cores=None, resources={RESOURCES[Device.GPU_EMULATED]: 1}
            )
        if not workers:
            raise ValueError("a cluster without CPU workers and without GPUs has no workers")
        scheduler: dict[str, Any] = {
            "cls": Scheduler,
            "options": {
                "port": 0,
                "dashboard": True,
                **with_our_page({}),
            },
        }
        listens: dict[str, Any] = {"host": host}
        if security is not None:
            listens |= {"security": security, "protocol": "tls://"}
        for spec in workers.values():
            spec["options"] |= {**listens, "dashboard_address": on_host(host, ":0")}
        scheduler["options"] |= {**listens, "dashboard_address": on_host(host, dashboard_address)}
        with dask.config.set({"distributed.admin.event-loop": fastest_event_loop()}):
            super().__init__(
                workers=workers,
                scheduler=scheduler,
                silence_logs=logging.WARNING,
                security=security,
                **options,
            )
        exempt_from_collection()


def choose_gpus(gpus: str | int | Sequence[int]) -> list[int]:
    """The numbers of the GPUs that were asked for; an error where they are not there."""
    if gpus == 0:
        return []
    there = _visible(int(nvml().nvmlDeviceGetCount()))
    if gpus == "all":
        which = there
    elif isinstance(gpus, str):
        raise ValueError(f"gpus {gpus!r} cannot be read: 'all', a number, or numbers of GPUs")
    elif isinstance(gpus, int):
        which = there[:gpus] if 0 < gpus <= len(there) else []
    else:
        which = [int(gpu) for gpu in gpus]
    if not which or not set(which) <= set(there):
        raise ValueError(f"gpus {gpus!r} are not there: GPUs to be seen here are {there}")
    if importlib.util.find_spec("dask_cuda") is None:
        raise MissingPackageError(f"GPU workers need dask_cuda: {INSTALL[Device.GPU]}")
    return which


def _visible(n: int) -> list[int]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves of so many."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return list(range(n))
    try:
        return [int(word) for word in visible.split(",") if word.strip()]
    except ValueError:
        raise ValueError(
            f"CUDA_VISIBLE_DEVICES {visible!r} cannot be read: write numbers, for example 0,1"
        ) from None


def split_cores(
    cores: Sequence[int], near: Sequence[Sequence[int]]
) -> tuple[list[int] | None, list[list[int] | None]]:
    """Cores for CPU workers, and one for each GPU, near it where one is free.

    None where there are too few cores: then no worker is pinned to any.
    """
    free = sorted(cores)
    if len(free) <= len(near):
        return None, [None] * len(near)
    taken: list[list[int] | None] = []
    for close in near:
        core = max([core for core in close if core in free] or free)
        free.remove(core)
        taken.append([core])
    return free if near else None, taken


class Affinity(WorkerPlugin):  # type: ignore[misc]
    """Keeps a worker, and the threads that it starts later, on some cores."""

    def __init__(self, cores: Sequence[int]) -> None:
        self.cores = list(cores)

    def setup(self, worker: Any) -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, self.cores)


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _near(gpu: int) -> list[int]:
    """The cores that dask-cuda would give a GPU's worker."""
    from dask_cuda.utils import get_cpu_affinity

    return [int(core) for core in get_cpu_affinity(gpu)]


def _worker(cores: Sequence[int] | None, **options: Any) -> dict[str, Any]:
    """A worker process; partitions are pinned, so that it must neither pause nor spill."""
    common = {
        "nthreads": 1,
        "memory_limit": 0,
        "preload": [WORKER_SETUP],
        "silence_logs": logging.WARNING,
    }
    plugins = [] if cores is None else [Affinity(cores)]
    return {"cls": Nanny, "options": common | {"plugins": plugins} | options}


def _gpu_worker(gpu: int, cores: Sequence[int] | None) -> dict[str, Any]:
    """A worker as dask-cuda starts it, which says that it has a GPU, on cores of its own."""
    from dask_cuda.worker_spec import worker_spec

    ((_, spec),) = worker_spec(CUDA_VISIBLE_DEVICES=[gpu]).items()
    ours: dict[str, Any] = {
        "memory_limit": 0,
        "silence_logs": logging.WARNING,
        "resources": {RESOURCES[Device.GPU]: 1},
        "preload": [spec["options"]["preload"], WORKER_SETUP],
        "preload_argv": [[spec["options"]["preload_argv"]], []],
    }
    if cores is not None:
        ours["plugins"] = [*spec["options"]["plugins"], Affinity(cores)]
    return {"cls": spec["cls"], "options": spec["options"] | ours}
