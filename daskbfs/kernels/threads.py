"""How many threads kernels use, and the helper threads behind them.

Helpers are plain threads of the system, started when a kernel that can use them is about to run:
importing starts none. They hold no Python state and no lock, so a process may fork: the child
starts helpers of its own. They end with their process.

Without work, a helper spins for ``daskbfs.kernels.spin-microseconds`` and then sleeps. Where the
user has set ``OMP_WAIT_POLICY=passive``, as for any program that computes with threads, it sleeps
at once.

OpenMP's threads were not taken. Beside two busy processes on two cores, the 90th percentile of a
search of kron:20 was 43 to 80 ms with libgomp, whose barrier waits for threads that have no core,
and is 13 to 16 ms with these threads (quiet: 6 to 10 ms). A region costs 0.2 µs while helpers spin,
5 µs with libgomp. Measured by ``python -m daskbfs.bench.beside --busy 2``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm
import numba

from daskbfs import config
from daskbfs.kernels import thread_pool

_ALIGNMENT = 128
_CALIBRATION_SPINS = 2000


class _Pool:
    """The memory behind the symbol that compiled kernels know, and the helpers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_helpers = 0
        self._libc = ctypes.CDLL(None, use_errno=True)
        n_bytes = 8 * thread_pool.N_WORDS
        allocate = self._libc.aligned_alloc
        allocate.restype = ctypes.c_void_p
        self._address = allocate(ctypes.c_size_t(_ALIGNMENT), ctypes.c_size_t(n_bytes))
        words = ctypes.c_int64 * thread_pool.N_WORDS
        self._words = words.from_address(self._address)  # never freed: helpers outlive Python
        self._clear()
        llvm.add_symbol(thread_pool.SYMBOL, self._address)
        os.register_at_fork(after_in_child=self._clear)

    def _clear(self) -> None:
        """Begin without helpers, as a process does that was just forked."""
        self._lock = threading.Lock()
        self._n_helpers = 0
        ctypes.memset(self._address, 0, ctypes.sizeof(self._words))
        for word in thread_pool.DONE_SEMAPHORES:
            self._make_semaphore(word)

    def _make_semaphore(self, word: int) -> bool:
        there = ctypes.c_void_p(self._address + 8 * word)
        return bool(self._libc.sem_init(there, 0, 0) == 0)

    def have(self, n_helpers: int) -> None:
        """Start helpers until there are so many."""
        if n_helpers <= self._n_helpers:
            return
        with self._lock:
            if self._n_helpers == 0:
                self._words[thread_pool.SPINS] = spins(spin_seconds())
                self._words[thread_pool.RUN] = _runner().address
            for number in range(self._n_helpers, min(n_helpers, thread_pool.MOST_HELPERS)):
                if not self._start(number):
                    break  # kernels run all the same, on the helpers that there are
                self._n_helpers += 1
                self._words[thread_pool.N_HELPERS] = self._n_helpers

    def _start(self, number: int) -> bool:
        if not self._make_semaphore(thread_pool.WAKE_SEMAPHORES[number]):
            return False
        thread = ctypes.c_ulong()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # not for helpers
        try:
            begun = self._libc.pthread_create(
                ctypes.byref(thread),
                None,
                ctypes.c_void_p(_server().address),
                ctypes.c_void_p(number),
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if begun == 0 and hasattr(self._libc, "pthread_setname_np"):
            self._libc.pthread_setname_np(thread, f"daskbfs-{number + 1}".encode())
        return bool(begun == 0)


def _compile(function: Callable[..., Any], signature: str) -> Any:
    """A function that other threads and languages can call."""
    try:
        return numba.cfunc(signature, nopython=True, cache=True)(function)
    except RuntimeError:  # numba found no writable cache folder
        return numba.cfunc(signature, nopython=True)(function)


@functools.cache
def _server() -> Any:
    """What helpers run."""
    return _compile(_serve, "int64(int64)")


@functools.cache
def _runner() -> Any:
    """What kernels call."""
    return _compile(_run, "int64(int64,int64,int64)")


def _serve(number):  # type: ignore[no-untyped-def]
    thread_pool.serve(number)
    return 0


def _spin(n):  # type: ignore[no-untyped-def]
    thread_pool.spin(n)
    return 0


def _run(task, data, n_parts):  # type: ignore[no-untyped-def]
    thread_pool.run(task, data, n_parts)
    return 0


@functools.cache
def spins(seconds: float) -> int:
    """How many pauses of a core take so long."""
    pause = _compile(_spin, "int64(int64)").ctypes
    taken = []
    for _ in range(4):
        start = time.perf_counter()
        pause(_CALIBRATION_SPINS)
        taken.append(time.perf_counter() - start)
    return int(seconds * _CALIBRATION_SPINS / min(taken))


def spin_seconds() -> float:
    """How long threads without work spin before they sleep."""
    if os.environ.get("OMP_WAIT_POLICY", "").strip().lower() == "passive":
        return 0.0
    return 1e-6 * float(config.get("kernels.spin-microseconds"))


def describe_waiting() -> str:
    """How threads wait, for people."""
    seconds = spin_seconds()
    return f"spin for {1e6 * seconds:.0f} µs, then sleep" if seconds else "sleep at once"


_POOL = _Pool()
_chosen = threading.local()


def _most_threads() -> int:
    most: int = numba.config.NUMBA_NUM_THREADS
    return most


def n_threads() -> int:
    """How many threads a kernel called from this thread may use; there are as many from now on."""
    n: int = getattr(_chosen, "n", None) or _most_threads()
    _POOL.have(n - 1)
    return n


def check_threads(n: int | None) -> None:
    """Refuse a number of threads that kernels cannot have here."""
    most = _most_threads()
    if n is not None and not 1 <= n <= most:
        raise ValueError(
            f"threads={n}: kernels can use 1 to {most} threads here; "
            "set NUMBA_NUM_THREADS before the process starts to raise the limit"
        )


@contextlib.contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Let kernels called from this thread use ``n`` threads (None: as many as before)."""
    check_threads(n)
    before = getattr(_chosen, "n", None)
    _chosen.n = before if n is None else n
    try:
        yield
    finally:
        _chosen.n = before
