"""How kernels are compiled: cached on disk, without the GIL.

``kernel`` compiles a kernel, ``inlined`` a piece of one. Kernels that use several threads call
:func:`daskbfs.kernels.thread_pool.in_parallel`. Compiling is announced, on standard error or on the
progress bar: it takes seconds, and silence would look like a hang. Later processes load the
kernels from numba's cache.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numba
from numba.core import event

from daskbfs import progress
from daskbfs.kernels import threads  # noqa: F401  compiled kernels need the symbol that it defines

COMPILING = "compiling kernels, once for this machine"
_LOOK_SECONDS = 0.1
_OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel lazily, with the disk cache where a cache folder can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba found no writable cache folder
        return numba.njit(**_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a piece of a kernel: called from kernels only, and left to LLVM to inline."""
    return numba.njit(**_OPTIONS)(function)


def cache_folder() -> str | None:
    """Where compiled kernels are kept; None where no folder can be written."""
    return getattr(_probe.stats, "cache_path", None)


@kernel
def _probe() -> int:
    return 0


class _Announcer(event.Listener):  # type: ignore[misc]
    """Tells that kernels are being compiled: once on standard error, or on the progress bar."""

    def __init__(self) -> None:
        self.before_first: Callable[[], None] | None = None
        """Called once, before the next kernel is compiled."""
        self.n_compiled = 0
        self._said = False

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        if self.before_first is not None:
            before, self.before_first = self.before_first, None
            before()
        if progress.current is not None:
            progress.current(COMPILING, self.n_compiled, 0)
        elif not self._said:
            self._said = True
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # another process may show a bar
            print(
                f"{clear}daskbfs: compiling kernels for this machine (once; later runs load them)",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        self.n_compiled += _is_ours(event)


def _is_ours(event: Any) -> bool:
    """Whether a kernel is compiled, or one of its pieces."""
    module: str = event.data["dispatcher"].py_func.__module__
    return module.startswith("daskbfs.")


_announcer = _Announcer()
event.register("numba:compile", _announcer)


class CompilingAhead:
    """Other processes that compile into the disk cache what this one will need later.

    numba compiles one kernel at a time in a process, and every machine that compiles has another
    core. They start with the first kernel that is compiled here: where all are cached, none does.
    """

    def __init__(self, commands: Sequence[Sequence[str]]) -> None:
        self._commands = commands
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> CompilingAhead:
        if (os.cpu_count() or 1) > 1 and cache_folder() is not None:
            _announcer.before_first = self._start
        return self

    def _start(self) -> None:
        for command in self._commands:
            words = [sys.executable, "-m", *command]
            with contextlib.suppress(OSError):  # then all is compiled here
                nothing = subprocess.DEVNULL
                process = subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing)
                self._processes.append(process)

    def wait(self) -> None:
        """Wait until what they compile can be loaded; what they did not is compiled here."""
        _announcer.before_first = None  # from now on, a kernel is wanted at once
        for process in self._processes:
            while process.poll() is None:
                if progress.current is not None:
                    progress.current(COMPILING, _announcer.n_compiled, 0)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_SECONDS)

    def __exit__(self, *error: object) -> None:
        _announcer.before_first = None
        for process in self._processes:
            process.terminate()
            process.wait()
