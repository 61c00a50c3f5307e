"""A stand-in for CuPy that is strict: arrays of the device and of the host do not mix.

Kernels run in the emulator. It shows that the host's side keeps the two apart, and gives kernels
and copies a stream of their own; nothing of what a GPU does with them.
"""

from __future__ import annotations

import importlib.machinery
import sys
import threading
from types import ModuleType, SimpleNamespace

import numpy as np

from daskbfs.kernels.gpu import emulator
from daskbfs.kernels.gpu import launch as grid


def on_host(value):
    """Whether something is an array that a GPU cannot see."""
    return isinstance(value, np.ndarray) and not isinstance(value, ndarray) and value.ndim > 0


def unwrapped(value):
    return value.view(np.ndarray) if isinstance(value, ndarray) else value


class ndarray(np.ndarray):
    """An array on the device."""

    def __array_ufunc__(self, function, method, *inputs, out=None, **more):
        if any(on_host(value) for value in (*inputs, *(out or ()))):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if out:
            more["out"] = tuple(map(unwrapped, out))
        result = getattr(function, method)(*map(unwrapped, inputs), **more)
        return out[0] if out else np.asarray(result).view(ndarray)

    def __getitem__(self, key):
        if on_host(key):
            raise IndexError("an index in the host's memory")
        return np.asarray(unwrapped(self)[unwrapped(key)]).view(ndarray)

    def __setitem__(self, key, value):
        if on_host(key) or on_host(value):
            raise TypeError("values in the host's memory")
        unwrapped(self)[unwrapped(key)] = unwrapped(value)

    def get(self, stream=None, out=None):
        assert stream is current_stream()
        out[...] = unwrapped(self)
        return out

    def set(self, values, stream=None):
        assert type(values) is np.ndarray
        assert stream is current_stream()
        assert (values.dtype, values.shape) == (self.dtype, self.shape)
        unwrapped(self)[...] = values


class Stream:
    """One of many; only which is current counts here."""

    _active = threading.local()

    def __init__(self, non_blocking=False):
        assert non_blocking

    def __enter__(self):
        self._active.__dict__.setdefault("streams", []).append(self)
        return self

    def __exit__(self, *exception):
        assert self._active.streams.pop() is self

    def synchronize(self):
        pass

    def record(self):
        return self

    def wait_event(self, event):
        pass


NULL = object.__new__(Stream)


def current_stream():
    return (Stream._active.__dict__.get("streams") or [NULL])[-1]


def made(function):
    """Something that makes arrays: on the device, on a stream of ours."""

    def make(*arguments):
        assert current_stream() is not NULL
        assert not any(on_host(argument) for argument in arguments[1:])
        return function(*map(unwrapped, arguments)).view(ndarray)

    return make


def searchsorted(array, values):
    if on_host(array) or on_host(values):
        raise NotImplementedError("Only int or ndarray are supported for a")
    return np.searchsorted(unwrapped(array), unwrapped(values)).view(ndarray)


def launch(kernel, n_blocks, n_threads, arguments):
    assert current_stream() is not NULL, kernel
    assert not any(on_host(argument) for argument in arguments), kernel
    emulator.launch(kernel, n_blocks, n_threads, *map(unwrapped, arguments))


def install(monkeypatch, n_bytes=2**30):
    """Have ``import cupy`` find this."""
    cupy, cupyx = ModuleType("cupy"), ModuleType("cupyx")
    for name in ("empty", "zeros", "ones", "zeros_like"):
        setattr(cupy, name, made(getattr(np, name)))
    cupy.asarray = lambda array: np.array(unwrapped(array)).view(ndarray)
    cupy.ndarray, cupy.searchsorted, cupy.is_available = ndarray, searchsorted, lambda: True
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    cupy.cuda = SimpleNamespace(
        Stream=Stream,
        get_current_stream=current_stream,
        Device=lambda: SimpleNamespace(mem_info=(n_bytes, n_bytes)),
    )
    cupyx.empty_pinned = np.empty
    for module in (cupy, cupyx):
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(grid, "_launch_on_gpu", launch)
