"""A search on one GPU over rows that need not fit it: blocks of edges, and levels that only fall.

A block has the arcs of some rows, or a part of a long one's, and is copied to the GPU whenever it
is its turn. A row takes the lowest level that any neighbour offers; passes over all blocks go on
until none changes anything.
Method: SEI's "Single GPU, Out-of-Core CSR". Its figure 10 never ends: a neighbour is better only
where its level is lower by more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from daskbfs.bench.systems.baselines import Edges, cpu_csr
from daskbfs.kernels.gpu.launch import launch

BLOCK_ARCS = 2**22
_FAR = np.iinfo(np.int32).max - 1


@dataclass(frozen=True, slots=True)
class EdgeBlock:
    """Arcs of consecutive rows, of the first and the last perhaps not all."""

    rows: np.ndarray
    indptr: np.ndarray
    """Where the arcs of each of the rows begin in ``indices``, and end."""
    indices: np.ndarray


@dataclass(frozen=True, slots=True)
class Blocks:
    """Packed rows, in blocks that stay in the host's memory."""

    rows: cpu_csr.Packed
    blocks: Sequence[EdgeBlock]
    arrays: Any
    """CuPy or, emulated, numpy."""


def kernel1(edges: Edges, arrays: Any, block_arcs: int = BLOCK_ARCS) -> Blocks:
    """The rows of the CPU's baseline, cut into blocks of so many arcs."""
    rows = cpu_csr.kernel1(edges)
    n_arcs = rows.indices.size
    blocks = []
    for begin in range(0, n_arcs, block_arcs):
        end = min(begin + block_arcs, n_arcs)
        first = int(np.searchsorted(rows.indptr, begin, side="right")) - 1
        last = int(np.searchsorted(rows.indptr, end, side="left"))
        indptr = np.clip(rows.indptr[first : last + 1], begin, end) - begin
        numbers = np.arange(first, last, dtype=np.uint32)
        blocks.append(EdgeBlock(numbers, indptr, rows.indices[begin:end]))
    return Blocks(rows, blocks, arrays)


def kernel2(made: Blocks, source: int) -> np.ndarray:
    """Pass over all blocks until no level falls."""
    xp, n_rows = made.arrays, made.rows.vertex.size
    parent = xp.full(n_rows, -1, np.int64)
    level = xp.full(n_rows, _FAR, np.int32)
    start = made.rows.start(source)
    if start is not None:
        parent[start] = start
        level[start] = 0
    changed = xp.ones(1, np.int8)
    while int(changed[0]):
        changed[0] = 0
        for block in made.blocks:
            arrays = [xp.asarray(array) for array in (block.rows, block.indptr, block.indices)]
            launch(relax_rows, block.rows.size, *arrays, level, parent, changed)
    return made.rows.unpacked(source, parent if xp is np else parent.get())


@cuda.jit
def relax_rows(rows, indptr, indices, level, parent, changed):
    """Every row looks for a neighbour that is nearer to the source."""
    for i in range(cuda.grid(1), rows.size, cuda.gridsize(1)):
        row = np.int64(rows[i])
        best = level[row]
        for e in range(indptr[i], indptr[i + 1]):
            neighbour = np.int64(indices[e])
            offered = np.int32(level[neighbour] + 1)
            if offered < best:
                best = offered
                parent[row] = neighbour
        if best < level[row]:
            level[row] = best
            changed[0] = 1


KERNELS = (relax_rows,)
"""All kernels, for code that compiles or checks them."""
