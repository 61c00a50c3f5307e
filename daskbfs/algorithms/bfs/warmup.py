"""The kernels and the memory of searches, made ready before a clock runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from daskbfs.algorithms.bfs.direction import Implementation, policy
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.algorithms.bfs.state import SearchState
from daskbfs.cluster.threads import Share
from daskbfs.engine.levels import run_as_shared
from daskbfs.engine.superstep import run_in_place
from daskbfs.engine.warmup import partitions_on, tiny_graph
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.ids import by_vertex, ids_by_vertex
from daskbfs.names import Device, Direction
from daskbfs.partition.footprint import RESULTS
from daskbfs.partition.layout import lay_out, mirrored
from daskbfs.partition.memory_space import HostMemory
from daskbfs.partition.partition import Partition


@functools.cache
def warm_kernels(indptr_dtype: str, n_partitions: int = 1, device: Device = Device.CPU) -> None:
    """Load or compile the kernels of a search, once per process."""
    graph = tiny_graph(indptr_dtype)
    kinds = {(1, True), (1, False), (min(2, n_partitions), False)}
    for n, even in kinds:
        partitions = partitions_on(graph, n, device, even=even)
        source = int(lay_out(graph, n).global_id[graph.order[0]])
        for choose in (_turn, policy("top_down"), policy("bottom_up")):
            run_in_place(BFS(source, 1, choose), partitions, Share())
    _warm_bitmaps(partitions_on(graph, 1, device)[0].memory, alone=n_partitions == 1)


@functools.cache
def warm_shared(indptr_dtype: str, device: Device) -> None:
    """Load or compile what searches run over memory that workers share."""
    graph = tiny_graph(indptr_dtype)
    for n in (1, 2) if device is Device.CPU else (2,):
        partitions = partitions_on(graph, n, device)
        source = int(lay_out(graph, n).global_id[graph.order[0]])
        small = BFS(source, 1, policy("top_down"), top_down_below=2.0**40)
        for program in (small, BFS(source, 1, _turn), BFS(source, 1, policy("bottom_up"))):
            run_as_shared(program, partitions, Share())


@functools.cache
def warm_result(parent_dtype: Any, dense: bool) -> None:
    """Load or compile what brings results to the user's vertices, in the process that asks."""
    found, order = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    parent: np.ndarray = np.empty(1, parent_dtype)
    ids = np.zeros(1, np.int64)
    if not dense:
        ids_by_vertex(found, order, ids, parent, 1)
    elif parent.dtype == np.int32:
        by_vertex(found.view(np.int32), order, parent, 1)
    else:
        by_vertex(found, order, parent, 1)


@functools.cache
def warm_mirror(device: Device) -> None:
    """Load or compile what only mirrors run."""
    graph = tiny_graph("uint32")
    partitions = partitions_on(graph, 2, device, mirrored(lay_out(graph, 1)))
    program = BFS(0, 1, policy("bottom_up"), choice=_with_cache)
    run_in_place(program, partitions, Share())


def touch(partitions: Sequence[Partition]) -> None:
    """Have the memory of one search in place: the first to write to a page waits for it."""
    with partitions[0].memory.active():
        states = [SearchState(partition) for partition in partitions]
        arrays = [array for state in states for array in state.arrays]
        earlier = (RESULTS - 1) * list(partitions)
        arrays += [p.memory.take(p.n_padded, np.uint32) for p in earlier]
        for array in arrays:
            array.fill(0)


def _warm_bitmaps(memory: HostMemory, *, alone: bool) -> None:
    """Run what takes in a frontier that is no list; on tiny graphs all are lists."""
    with memory.active():
        words, visited = (memory.put(np.zeros(1, np.uint64)) for _ in range(2))
        parent = memory.put(np.zeros(WORD_BITS, np.uint32))
        kernels = memory.kernels("bfs")
        if not alone:
            kernels.enter(words, visited, parent)
        kernels.bitmap_to_queue(words, parent, 1)


def _with_cache(direction: Direction, summary: object) -> Implementation:
    """A choice that no level escapes."""
    return Implementation.BGC


def _turn(now: Direction, summary: object) -> Direction:
    """A policy that visits every kernel."""
    return Direction.BOTTOM_UP if now is Direction.TOP_DOWN else Direction.TOP_DOWN
