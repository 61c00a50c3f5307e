"""How kernels are compiled: cached on disk, without the GIL, safe to call from several threads.

``kernel`` compiles a serial kernel, ``parallel_kernel`` one that uses ``prange``, ``inlined`` a
piece of either. The first compilation in a process is announced on standard error: it takes
seconds, and silence would look like a hang. Later processes load the result from numba's cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import event

_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """Compile lazily, with the disk cache where a cache folder can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS, **options)(function)
    except RuntimeError:  # numba found no writable cache folder
        return numba.njit(**_OPTIONS, **options)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a piece of a kernel: called from kernels only, and left to LLVM to inline."""
    return _compile(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a serial kernel."""
    return _compile(function)


def parallel_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that uses ``prange``; two threads may call such kernels at once."""
    compiled = _compile(function, parallel=True)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with _TEAM.entered():
            return compiled(*args)

    return call


def n_threads() -> int:
    """How many threads a parallel kernel called from this thread may use."""
    return numba.get_num_threads()


def check_threads(n: int | None) -> None:
    """Refuse a number of threads that kernels cannot have here."""
    most = numba.config.NUMBA_NUM_THREADS
    if n is not None and not 1 <= n <= most:
        raise ValueError(
            f"threads={n}: kernels can use 1 to {most} threads here; "
            "set NUMBA_NUM_THREADS before the process starts to raise the limit"
        )


@contextlib.contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Let kernels called from this thread use ``n`` threads (None: as many as before)."""
    check_threads(n)
    before = numba.get_num_threads()
    numba.set_num_threads(before if n is None else n)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def disband() -> None:
    """Let go of the threads that kernels called from this thread have used.

    libgomp keeps such a team for every thread that ever called a parallel kernel. Where the teams
    of a process are larger than the machine, it puts their threads to sleep after every kernel, and
    to wake them takes longer than a small kernel. So a thread disbands that leaves work to another.
    """
    if _TEAM.started and (gomp := _gomp()) is not None:
        gomp.omp_pause_resource_all(_OMP_PAUSE_SOFT)


_OMP_PAUSE_SOFT = 1


@functools.cache
def _gomp() -> Any:
    """The libgomp that numba has loaded, if it has; others keep one team for all threads."""
    if numba.threading_layer() != "omp" or not sys.platform.startswith("linux"):
        return None
    loaded = Path("/proc/self/maps").read_text()
    match = re.search(r"\S*/libgomp[^/\s]*$", loaded, re.MULTILINE)
    gomp = ctypes.CDLL(match.group()) if match else None
    return gomp if hasattr(gomp, "omp_pause_resource_all") else None


def cache_folder() -> str | None:
    """Where compiled kernels are kept; None where no folder can be written."""
    return getattr(_touch_every_thread.stats, "cache_path", None)


class _Team:
    """Entry to numba's thread pool: one caller at a time where the pool demands it.

    The ``workqueue`` layer aborts the process when two threads enter parallel kernels at once;
    ``omp`` and ``tbb`` allow it. Which layer there is shows only after the first kernel ran.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = contextlib.nullcontext()
        self._shared: bool | None = None
        self._forked = False
        os.register_at_fork(after_in_child=self._note_fork)

    @property
    def started(self) -> bool:
        """Whether a parallel kernel has run in this process."""
        return self._shared is not None

    def _note_fork(self) -> None:
        self._forked = self.started and numba.threading_layer() == "omp"

    def refuse_fork(self) -> None:
        if self._forked:
            raise RuntimeError(
                "kernels cannot run in a process that was forked after others ran, since OpenMP's "
                "threads are gone; start processes with the method 'spawn' or 'forkserver'"
            )

    def entered(self) -> contextlib.AbstractContextManager[Any]:
        self.refuse_fork()
        if self._shared:
            return self._open
        if self._shared is None:
            self._shared = self._layer_allows_sharing()
            return self.entered()
        return self._lock

    def _layer_allows_sharing(self) -> bool:
        with self._lock:
            if self._shared is None:
                _touch_every_thread(n_threads())
                return numba.threading_layer() != "workqueue"
            return self._shared


def refuse_fork() -> None:
    """Raise RuntimeError where kernels cannot run because this process was forked too late."""
    _TEAM.refuse_fork()


def _touch(n: int) -> int:
    total = 0
    for _ in numba.prange(n):
        total += 1
    return total


_touch_every_thread = _compile(_touch, parallel=True)
_TEAM = _Team()


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once per process that kernels are being compiled."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self._said and module.startswith("daskbfs."):
            self._said = True
            print(
                "daskbfs: compiling kernels for this machine (once; later runs load them)",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        """Nothing to say: loading and running follow at once."""


event.register("numba:compile", _Announcer())
