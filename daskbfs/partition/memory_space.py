"""The memory that partitions live in, and the kernels that work there: the host's, or a device's.

Programs are written once: they put what arrives, run kernels, and get what leaves. In the host's
memory nothing moves; to and from a GPU go frontiers and counts, and arcs that did not fit it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import types
import weakref
from dataclasses import replace
from typing import Any

import numpy as np

from daskbfs import config
from daskbfs.graph.csr import Rows
from daskbfs.kernels.buffers import Recycler, ensure_owned
from daskbfs.machine.devices import check_device
from daskbfs.machine.hardware import human_bytes
from daskbfs.names import Device
from daskbfs.partition.footprint import footprint

_ID = 4  # bytes of a vertex number


@functools.cache
def kernels_of(kind: str, algorithm: str) -> types.ModuleType:
    """The module in :mod:`daskbfs.kernels` with an algorithm's kernels for CPUs or GPUs."""
    return importlib.import_module(f"daskbfs.kernels.{kind}.{algorithm}")


class HostMemory:
    """The host's memory, and the CPU's kernels."""

    device = Device.CPU

    def __init__(self, vertex: Any, mean_degree: Any, arrays: Recycler) -> None:
        self.vertex = vertex
        self.mean_degree = mean_degree
        self.take = arrays.take
        """An array with arbitrary contents, which may have served before."""

    def kernels(self, algorithm: str) -> types.ModuleType:
        """The kernels of an algorithm that work in this memory."""
        return kernels_of("cpu" if self.device is Device.CPU else "gpu", algorithm)

    def rows(self, out: Rows, into: Rows) -> tuple[Rows, Rows]:
        """Rows as kernels want them: out of a partition, and into it."""
        return out, into

    def put(self, array: np.ndarray) -> Any:
        """An array that arrived, where kernels can work with it."""
        return ensure_owned(array)

    def get(self, array: Any) -> np.ndarray:
        """An array that is to leave."""
        there: np.ndarray = array
        return there

    def active(self) -> Any:
        """Kernels started now run here."""
        return contextlib.nullcontext()


class DeviceMemory(HostMemory):
    """A GPU's memory, or what stands for it in emulation: numpy arrays, and a limit on paper."""

    def __init__(
        self, device: Device, vertex: np.ndarray, mean_degree: np.ndarray, limit: int | None
    ) -> None:
        check_device(device)
        self.device = device
        self._xp = np if device is Device.GPU_EMULATED else importlib.import_module("cupy")
        self._stream = None
        if self._xp is not np:
            from numba import config as numba_config

            numba_config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a level over few rows is small
            self._stream = self._xp.cuda.Stream(non_blocking=True)
        self._on_the_way = threading.local()  # pinned memory that a thread's copies are made from
        self._limit = device_limit(device) if limit is None else limit
        with self.active():
            super().__init__(self.put(vertex), self.put(mean_degree), Recycler(self._xp.empty))
        self._shared_bytes = vertex.nbytes + mean_degree.nbytes
        self._held: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        """Bytes of the rows that live here, by their arcs, for as long as these do."""

    @property
    def used_bytes(self) -> int:
        """What numbering and rows take of the device, without searches."""
        return self._shared_bytes + sum(self._held.values())

    def rows(self, out: Rows, into: Rows) -> tuple[Rows, Rows]:
        """Rows on the device; where they do not fit, their arcs stay here and are streamed."""
        sides = [out] if into is out else [out, into]
        buffer_arcs = None
        state = self._state_bytes(out)
        if self._limit is not None:
            columns = sum(_columns_bytes(side) for side in sides)
            room = self._limit - self.used_bytes - columns - state
            if room < sum(side.indices.nbytes for side in sides):
                buffer_arcs = self._buffer_arcs(sides, room)
        there = [self._on_device(side, buffer_arcs) for side in sides]
        self._held[there[0].indices] += state
        self._arrive()
        return there[0], there[-1]

    def _buffer_arcs(self, sides: list[Rows], room: int) -> int:
        """The size of each of two buffers for each side; others should have room too."""
        from daskbfs.kernels.gpu.arcs import largest_word

        least = max(largest_word(side.indptr) for side in sides)
        n_buffers = 2 * len(sides)
        if n_buffers * _ID * least > room:
            assert self._limit is not None
            raise MemoryError(
                f"a partition of {sides[0].n_rows} rows does not fit a device of "
                f"{human_bytes(self._limit)}: beside its arcs it needs "
                f"{human_bytes(self._limit - room)} with a search, and {n_buffers} buffers of "
                f"{human_bytes(_ID * least)} for the longest rows; give the CPU a larger share, or "
                "use more devices"
            )
        half = room // (2 * n_buffers * _ID)
        return int(max(least, min(half, config.get("gpu.buffer-bytes") // _ID)))

    def _on_device(self, rows: Rows, buffer_arcs: int | None) -> Rows:
        from daskbfs.kernels.gpu.arcs import Arcs

        with self.active():
            arcs = Arcs(rows.indptr, rows.indices, self.vertex, buffer_arcs)
            self._held[arcs] = arcs.device_bytes + _columns_bytes(rows)
            return replace(rows, indptr=self.put(rows.indptr), indices=arcs, hub=self.put(rows.hub))

    def _state_bytes(self, rows: Rows) -> int:
        """What a search takes at most."""
        return footprint(rows.n_rows, 0, None, self.vertex.size).device_state

    def put(self, array: np.ndarray) -> Any:
        if self._xp is np:
            return ensure_owned(array)
        import cupyx

        pinned = cupyx.empty_pinned(array.shape, array.dtype)
        pinned[...] = array
        self._on_the_way.__dict__.setdefault("pinned", []).append(pinned)
        with self.active():
            there = self._xp.empty(array.shape, array.dtype)
            there.set(pinned, stream=self._stream)
        return there

    def get(self, array: Any) -> np.ndarray:
        if self._xp is np:
            there: np.ndarray = array
            return there
        import cupyx

        pinned: np.ndarray = cupyx.empty_pinned(array.shape, array.dtype)
        array.get(stream=self._stream, out=pinned)
        self._arrive()
        return pinned

    def _arrive(self) -> None:
        """Wait until what this thread has put or wants to get is there."""
        if self._stream is not None:
            self._stream.synchronize()
            self._on_the_way.__dict__.clear()

    def active(self) -> Any:
        return contextlib.nullcontext() if self._stream is None else self._stream


def _columns_bytes(rows: Rows) -> int:
    """What rows take beside their arcs, the vertices of their hubs included."""
    return rows.nbytes - int(rows.indices.nbytes) + rows.hub.nbytes


def device_limit(device: Device) -> int | None:
    """Bytes that partitions may take; None where an emulated device has as much as it wants."""
    limit: int | None = config.get("gpu.memory-limit")
    if limit is None and device is Device.GPU:
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()  # what it keeps for later is free
        free, _ = cupy.cuda.Device().mem_info
        limit = int(config.get("gpu.memory-share") * free)
    return limit
