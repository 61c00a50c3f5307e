"""How kernels are compiled: cached on disk, without the GIL.

``kernel`` compiles a kernel, ``inlined`` a piece of one. Kernels that use several threads call
:func:`daskbfs.kernels.thread_pool.in_parallel`. Compiling is announced, on standard error or on the
progress bar: it takes seconds, and silence would look like a hang. Later processes load the
kernels from numba's cache.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from daskbfs import progress
from daskbfs.kernels import threads  # noqa: F401  compiled kernels need the symbol that it defines

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
        self._n_compiled = 0
        self._said = False

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        if progress.current is not None:
            progress.current("compiling kernels, once for this machine", self._n_compiled, 0)
        elif not self._said:
            self._said = True
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # another process may show a bar
            print(
                f"{clear}daskbfs: compiling kernels for this machine (once; later runs load them)",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        self._n_compiled += _is_ours(event)


def _is_ours(event: Any) -> bool:
    """Whether a kernel is compiled, or one of its pieces."""
    module: str = event.data["dispatcher"].py_func.__module__
    return module.startswith("daskbfs.")


event.register("numba:compile", _Announcer())
