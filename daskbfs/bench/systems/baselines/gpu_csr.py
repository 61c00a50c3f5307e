"""A search on one GPU as a wavefront: two kernels for each level, a thread for each vertex.

Method: SEI's "Single GPU, CSR", after Harish and Narayanan (HiPC 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from daskbfs.bench.systems.baselines import Edges, cpu_csr
from daskbfs.kernels.gpu.launch import launch


@dataclass(frozen=True, slots=True)
class OnDevice:
    """Packed rows, and a copy of them in a GPU's memory."""

    rows: cpu_csr.Packed
    indptr: Any
    indices: Any
    arrays: Any
    """CuPy or, emulated, numpy."""


def kernel1(edges: Edges, arrays: Any) -> OnDevice:
    """The rows of the CPU's baseline, copied to the GPU."""
    rows = cpu_csr.kernel1(edges)
    return OnDevice(rows, arrays.asarray(rows.indptr), arrays.asarray(rows.indices), arrays)


def kernel2(there: OnDevice, source: int) -> np.ndarray:
    """Run waves until one finds no unvisited vertex."""
    xp, n_rows = there.arrays, there.rows.vertex.size
    parent = xp.full(n_rows, -1, np.int64)
    wave, updated, visited = (xp.zeros(n_rows, np.int8) for _ in range(3))
    start = there.rows.start(source)
    if start is not None:
        parent[start] = start
        wave[start] = visited[start] = 1
    going = xp.ones(1, np.int8)
    while int(going[0]) and n_rows:
        going[0] = 0
        launch(spread_wave, n_rows, there.indptr, there.indices, wave, visited, parent, updated)
        launch(settle_wave, n_rows, wave, visited, updated, going)
    return there.rows.unpacked(source, parent if xp is np else parent.get())


@cuda.jit
def spread_wave(indptr, indices, wave, visited, parent, updated):
    """Phase one: every vertex of the wave updates its neighbours."""
    for row in range(cuda.grid(1), wave.size, cuda.gridsize(1)):
        if wave[row] != 0:
            wave[row] = 0
            for e in range(indptr[row], indptr[row + 1]):
                neighbour = np.int64(indices[e])
                if visited[neighbour] == 0:
                    parent[neighbour] = row
                    updated[neighbour] = 1


@cuda.jit
def settle_wave(wave, visited, updated, going):
    """Phase two: what was updated is visited, and is the next wave."""
    for row in range(cuda.grid(1), wave.size, cuda.gridsize(1)):
        if updated[row] != 0:
            wave[row] = 1
            visited[row] = 1
            updated[row] = 0
            going[0] = 1


KERNELS = (spread_wave, settle_wave)
"""All kernels, for code that compiles or checks them."""
