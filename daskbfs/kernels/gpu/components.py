"""Connected components over the rows of one partition, on a GPU: a thread for each row, or lanes.

The functions have the names and arguments of those in :mod:`daskbfs.kernels.cpu.components`;
arrays, ``indices`` and lanes are as in :mod:`daskbfs.kernels.gpu.bfs`. What is above a vertex is
lowered by an atomic minimum, which tells what was there: if that was not the vertex itself, this
thread goes on to link the two. So nothing is tried again, and an old value in a cache does no harm.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numba import cuda

from daskbfs.kernels.gpu.launch import array_module, launch


@cuda.jit
def hook_vertices(out_hub, into_hub, first, label):
    """Hook each own row to its first neighbour, if that has a lower id."""
    for row in range(cuda.grid(1), out_hub.size, cuda.gridsize(1)):
        label[first + row] = min(np.uint32(first + row), min(out_hub[row], into_hub[row]))


@cuda.jit
def compress_vertices(first, n_rows, label):
    """Put the root of its tree directly above each of some vertices."""
    for vertex in range(first + cuda.grid(1), first + n_rows, cuda.gridsize(1)):
        root = np.int64(label[vertex])
        above = np.int64(label[root])
        while above < root:
            root = above
            above = np.int64(label[root])
        label[vertex] = root


@cuda.jit
def link_arcs(
    indptr,
    indices,
    first_arc,
    hub,
    first,
    first_row,
    last_row,
    width,
    most,
    skipped,
    label,
    examined,
):
    """The lanes of each row link it to some of its neighbours."""
    lane = cuda.grid(1) & (width - 1)
    looked_at = 0
    for row in range(first_row + cuda.grid(1) // width, last_row, cuda.gridsize(1) // width):
        vertex = first + row
        if hub.size > 0 and hub[row] < vertex:
            continue
        begin = np.int64(indptr[row])
        end = min(np.int64(indptr[row + 1]), begin + most)
        for e in range(begin + lane, end, width):
            high = np.int64(label[vertex])
            if high == skipped:
                break
            looked_at += 1
            low = np.int64(label[np.int64(indices[e - first_arc])])
            while high != low:
                if high < low:
                    high, low = low, high
                above = np.int64(cuda.atomic.min(label, high, np.uint32(low)))
                if above == high:
                    break
                high = above
    if looked_at > 0:
        cuda.atomic.add(examined, 0, looked_at)


KERNELS = (hook_vertices, compress_vertices, link_arcs)


def hook_rows(out_hub: Any, into_hub: Any, first: int, label: Any, n_threads: int) -> None:
    """Begin a forest: hook each own row to its first neighbour, if that has a lower id."""
    launch(hook_vertices, out_hub.size, out_hub, into_hub, first, label)


def compress_rows(first: int, n_rows: int, label: Any, n_threads: int) -> None:
    """Put the root of its tree directly above each of some vertices that follow each other."""
    launch(compress_vertices, n_rows, first, n_rows, label)


def link_rows(
    indptr: Any,
    indices: Any,
    hub: Any,
    first: int,
    most: int,
    skipped: int,
    label: Any,
    n_threads: int,
) -> int:
    """Link own rows to their first neighbours, so many of each; returns how many arcs that were.

    A row that is, or comes to be, directly below the vertex ``skipped`` is left as it is; so are
    rows whose first neighbour in ``hub``, if that is not empty, has a lower id.
    """
    examined = array_module(label).zeros(1, np.int64)
    with contextlib.closing(indices.all_blocks()) as blocks:
        for block, arcs, first_arc in blocks:
            for begin, end, width in block.spans:
                launch(
                    link_arcs, (end - begin) * width, indptr, arcs, first_arc, hub, first, begin,
                    end, width, most, skipped, label, examined,
                )  # fmt: skip
    return int(examined[0])
