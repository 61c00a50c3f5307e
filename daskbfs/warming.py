"""Kernels and memory made ready outside of anybody's clock."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daskbfs.construction import construct
from daskbfs.direction import Implementation, policy
from daskbfs.edges import ArrayEdges
from daskbfs.graph import Graph
from daskbfs.home import HostHome
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.ids import by_vertex, ids_by_vertex
from daskbfs.lease import Lease
from daskbfs.memory import RESULTS
from daskbfs.partition import Partition, cut, lay_out, mirrored, number
from daskbfs.programs.bfs import BFS
from daskbfs.superstep import Share, run_search
from daskbfs.types import Device, Direction


@functools.cache
def warm(indptr_dtype: str, n_partitions: int = 1, device: Device = Device.CPU) -> None:
    """Load or compile the search kernels, once per process."""
    path = np.arange(8)
    graph = construct(ArrayEdges(path[:-1], path[1:]))
    graph.out = graph.into = replace(graph.out, indptr=graph.out.indptr.astype(indptr_dtype))
    for n in {1, min(2, n_partitions)}:
        _search(graph, n, device)
    _take_bitmap_in(number(graph, lay_out(graph, 1)).on(device).home, alone=n_partitions == 1)


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
    path = np.arange(8)
    graph = construct(ArrayEdges(path[:-1], path[1:]))
    layout = mirrored(lay_out(graph, 1))
    numbering = number(graph, layout).on(device)
    partitions = [cut(graph, layout, p, numbering) for p in range(2)]
    program = BFS(0, 1, policy("bottom_up"), choice=_with_cache)
    run_search(program, partitions, Share())


def touch(partitions: Sequence[Partition]) -> None:
    """Have the memory of one search in place: the first to write to a page waits for it."""
    with partitions[0].home.active():
        leases = [Lease(partition, None) for partition in partitions]
        arrays = [array for lease in leases for array in lease.arrays]
        earlier = (RESULTS - 1) * list(partitions)
        arrays += [p.home.take(p.n_padded, np.uint32) for p in earlier]
        for array in arrays:
            array.fill(0)


def _search(graph: Graph, n_partitions: int, device: Device) -> None:
    """A search that takes every turn."""
    layout = lay_out(graph, n_partitions)
    numbering = number(graph, layout).on(device)
    partitions = [cut(graph, layout, p, numbering) for p in range(n_partitions)]
    source = int(layout.global_id[graph.order[0]])
    for choose in (_turn, policy("top_down"), policy("bottom_up")):
        run_search(BFS(source, 1, choose), partitions, Share())


def _take_bitmap_in(home: HostHome, *, alone: bool) -> None:
    """What becomes of a frontier that is no list; on tiny graphs all are."""
    with home.active():
        words, visited = (home.put(np.zeros(1, np.uint64)) for _ in range(2))
        parent = home.put(np.zeros(WORD_BITS, np.uint32))
        if not alone:
            home.kernels.enter(words, visited, parent)
        home.kernels.bitmap_to_queue(words, parent, 1)


def _with_cache(direction: Direction, summary: object) -> Implementation:
    """A choice that no level escapes."""
    return Implementation.BGC


def _turn(now: Direction, summary: object) -> Direction:
    """A policy that visits every kernel."""
    return Direction.BOTTOM_UP if now is Direction.TOP_DOWN else Direction.TOP_DOWN
