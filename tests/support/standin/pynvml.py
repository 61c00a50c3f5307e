"""A stand-in for NVML: INVENTED_GPUS tells how many GPUs it invents for dask-cuda's workers.

It answers only what dask-cuda and distributed ask; whatever else is asked is an error.
"""

import os
from types import SimpleNamespace

NVML_ERROR_NOT_SUPPORTED = 3
NVML_DEVICE_MIG_DISABLE, NVML_DEVICE_MIG_ENABLE = 0, 1
_GIB = 2**30


class NVMLError(Exception):
    """What NVML raises."""

    def __init__(self, value=NVML_ERROR_NOT_SUPPORTED):
        super().__init__(f"invented GPUs do not know this ({value})")
        self.value = value


NVMLError_DriverNotLoaded = NVMLError_LibraryNotFound = NVMLError_NotSupported = NVMLError
NVMLError_Unknown = NVMLError_FunctionNotFound = NVMLError_NoPermission = NVMLError
NVMLError_InvalidArgument = NVMLError_NotFound = NVMLError


def nvmlInit():
    pass


nvmlInit_v2 = nvmlShutdown = nvmlInit


def nvmlSystemGetDriverVersion():
    return "0.0-invented"


def nvmlDeviceGetCount():
    return int(os.environ.get("INVENTED_GPUS", "2"))


def nvmlDeviceGetHandleByIndex(index):
    if not 0 <= int(index) < nvmlDeviceGetCount():
        raise NVMLError()
    return int(index)


def nvmlDeviceGetHandleByUUID(uuid):
    return int((uuid.decode() if isinstance(uuid, bytes) else uuid).rsplit("-", 1)[1])


def nvmlDeviceGetIndex(handle):
    return handle


def nvmlDeviceGetUUID(handle):
    return f"GPU-00000000-0000-0000-0000-{handle:012d}"


def nvmlDeviceGetName(handle):
    return "invented GPU"


def nvmlDeviceGetMigMode(handle):
    raise NVMLError()


def nvmlDeviceIsMigDeviceHandle(handle):
    return False


def nvmlDeviceGetMemoryInfo(handle):
    return SimpleNamespace(total=8 * _GIB, used=0, free=8 * _GIB)


def nvmlDeviceGetUtilizationRates(handle):
    return SimpleNamespace(gpu=0, memory=0)


def nvmlDeviceGetCpuAffinity(handle, n_words):
    return [sum(1 << core for core in os.sched_getaffinity(0)), *[0] * (n_words - 1)]


def nvmlDeviceGetComputeRunningProcesses(handle):
    return []


nvmlDeviceGetComputeRunningProcesses_v2 = nvmlDeviceGetComputeRunningProcesses
