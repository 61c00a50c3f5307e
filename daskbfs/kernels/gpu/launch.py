"""How GPU kernels are started: on a GPU, by the host emulator, or in numba's CUDA simulator.

The arrays tell which: CuPy's are on a GPU, numpy's are for the emulator, or for the simulator where
the environment asks for it (NUMBA_ENABLE_CUDASIM=1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config

THREADS = 128  # of a block
MOST_BLOCKS = 2048  # threads take several items each where there are more
_FEW_BLOCKS, _FEW_THREADS = 2, 32  # every simulated thread is one of Python's
_EMULATED_BLOCKS = 64


def array_module(array: Any) -> Any:
    """numpy, or cupy for arrays on a GPU."""
    if type(array) is np.ndarray:
        return np
    import cupy

    return cupy


def launch(kernel: Any, n_items: int, *arguments: Any) -> None:
    """Run a kernel that strides over the grid, with a thread for each item, or for several."""
    if n_items <= 0:
        return
    emulated = array_module(_first_array(arguments)) is np
    threads, most = THREADS, _EMULATED_BLOCKS if emulated else MOST_BLOCKS
    if config.ENABLE_CUDASIM:
        threads, most = _FEW_THREADS, _FEW_BLOCKS
    launch_blocks(kernel, min(most, -(-n_items // threads)), threads, *arguments)


def launch_blocks(kernel: Any, n_blocks: int, n_threads: int, *arguments: Any) -> None:
    """Run a kernel over so many blocks of so many threads."""
    if config.ENABLE_CUDASIM:
        kernel[n_blocks, n_threads](*arguments)
    elif array_module(_first_array(arguments)) is np:
        from daskbfs.kernels.gpu import emulator

        emulator.launch(kernel, n_blocks, n_threads, *arguments)
    else:
        _launch_on_gpu(kernel, n_blocks, n_threads, arguments)


def _launch_on_gpu(kernel: Any, n_blocks: int, n_threads: int, arguments: tuple[Any, ...]) -> None:
    import cupy
    from numba import cuda

    stream = cuda.external_stream(cupy.cuda.get_current_stream().ptr)
    views = [
        cuda.as_cuda_array(argument, sync=False)  # one stream: it is in order anyway
        if isinstance(argument, cupy.ndarray)
        else argument
        for argument in arguments
    ]
    kernel[n_blocks, n_threads, stream](*views)


def _first_array(arguments: tuple[Any, ...]) -> Any:
    return next(argument for argument in arguments if hasattr(argument, "dtype") and argument.ndim)
