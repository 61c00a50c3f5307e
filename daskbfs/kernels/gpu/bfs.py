"""Breadth-first steps over the rows of one partition, on a GPU.

The functions have the names and arguments of those in :mod:`daskbfs.kernels.cpu.bfs`; arrays are
CuPy's or, emulated, numpy's, and ``indices`` is :class:`daskbfs.kernels.gpu.arcs.Arcs`.
``n_threads`` is the CPU's: a grid has as many as it needs. Bitmaps are seen as 32-bit words. The
lanes of a virtual warp share a row: many for the long rows, which come first, one for each of the
short ones. A vertex is won by an atomic test-and-set, so every vertex is found once; lanes need no
barrier and no vote.
Method: Sallinen, Gharaibeh, Ripeanu; virtual warps after Hong, Kim, Oguntebi, Olukotun (PPoPP
2011).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from daskbfs.kernels.gpu.launch import array_module, launch, launch_blocks
from daskbfs.kernels.vertex_numbers import NONE

SCAN_THREADS = 64
SCAN_WORDS = 8  # of 32 bits, that a thread of a scan counts
_BLOCK_WORDS = SCAN_THREADS * SCAN_WORDS
CACHE_WORDS = 4096  # of 32 bits: 16 KiB of a block's shared memory
_ONE = np.uint32(1)


@cuda.jit
def expand_rows(
    indptr,
    indices,
    first_arc,
    vertex,
    own_first,
    parent,
    elsewhere,
    visited,
    queue,
    begin,
    end,
    width,
    found,
    examined,
):
    """Top-down: the lanes of each row of the queue look for unvisited vertices."""
    lane = cuda.grid(1) & (width - 1)
    looked_at = 0
    for i in range(begin + cuda.grid(1) // width, end, cuda.gridsize(1) // width):
        row = np.int64(queue[i])
        first, last = np.int64(indptr[row]), np.int64(indptr[row + 1])
        for e in range(first + lane, last, width):
            looked_at += 1
            u = np.int64(indices[e - first_arc])
            bit = np.uint32(_ONE << np.uint32(u & 31))
            if visited[u >> 5] & bit == 0 and cuda.atomic.or_(visited, u >> 5, bit) & bit == 0:
                own = u - own_first
                if 0 <= own < parent.size:
                    parent[own] = vertex[row]
                else:
                    elsewhere[u] = vertex[row]
                cuda.atomic.or_(found, u >> 5, bit)
    if looked_at > 0:
        cuda.atomic.add(examined, 0, looked_at)


@cuda.jit
def test_hubs(hub, hub_vertex, parent, visited, frontier, next_frontier, examined):
    """Bottom-up: every unvisited row asks whether its hub is in the frontier."""
    looked_at = 0
    for row in range(cuda.grid(1), hub.size, cuda.gridsize(1)):
        bit = np.uint32(_ONE << np.uint32(row & 31))
        if visited[row >> 5] & bit == 0:
            looked_at += 1
            u = np.int64(hub[row])
            if (frontier[u >> 5] >> np.uint32(u & 31)) & _ONE != 0:
                parent[row] = hub_vertex[row]
                cuda.atomic.or_(next_frontier, row >> 5, bit)
    if looked_at > 0:
        cuda.atomic.add(examined, 0, looked_at)


@cuda.jit(device=True, inline="always")
def _look_behind_hubs(
    indptr, indices, first_arc, vertex, parent, visited, frontier, next_frontier, first_row,
    last_row, width, examined, cache, n_cached,
):  # fmt: skip
    """The lanes of rows that are still unvisited look for a parent behind the hub.

    The first ``n_cached`` words of the frontier are in ``cache`` too.
    """
    lane = cuda.grid(1) & (width - 1)
    looked_at = 0
    for row in range(first_row + cuda.grid(1) // width, last_row, cuda.gridsize(1) // width):
        w = row >> 5
        bit = np.uint32(_ONE << np.uint32(row & 31))
        if (visited[w] | next_frontier[w]) & bit == 0:
            first, last = np.int64(indptr[row]), np.int64(indptr[row + 1])
            for e in range(first + 1 + lane, last, width):
                if next_frontier[w] & bit != 0:  # another lane was faster
                    break
                looked_at += 1
                u = np.int64(indices[e - first_arc])
                word = cache[u >> 5] if u >> 5 < n_cached else frontier[u >> 5]
                if (word >> np.uint32(u & 31)) & _ONE != 0:
                    if cuda.atomic.or_(next_frontier, w, bit) & bit == 0:
                        parent[row] = vertex[u]
                    break
    if looked_at > 0:
        cuda.atomic.add(examined, 0, looked_at)


@cuda.jit
def search_rows(
    indptr, indices, first_arc, vertex, parent, visited, frontier, next_frontier, first_row,
    last_row, width, examined,
):  # fmt: skip
    """Bottom-up: rows that are still unvisited look for a parent behind the hub."""
    _look_behind_hubs(
        indptr, indices, first_arc, vertex, parent, visited, frontier, next_frontier, first_row,
        last_row, width, examined, frontier, 0,
    )  # fmt: skip


@cuda.jit
def search_rows_cached(
    indptr, indices, first_arc, vertex, parent, visited, frontier, next_frontier, first_row,
    last_row, width, examined,
):  # fmt: skip
    """The same, with the frontier's first words, where the hubs are, in each block's own memory."""
    cache = cuda.shared.array(CACHE_WORDS, np.uint32)
    n_cached = min(CACHE_WORDS, frontier.size)
    for w in range(cuda.threadIdx.x, n_cached, cuda.blockDim.x):
        cache[w] = frontier[w]
    cuda.syncthreads()
    _look_behind_hubs(
        indptr, indices, first_arc, vertex, parent, visited, frontier, next_frontier, first_row,
        last_row, width, examined, cache, n_cached,
    )  # fmt: skip


@cuda.jit
def scan_words(words, mean_degree, places, block_counts, block_arcs):
    """Where the vertices of each word go within their block's; counts and arcs of each block.

    A scan over the block's threads, after Hillis and Steele.
    """
    counts = cuda.shared.array(SCAN_THREADS, np.int64)
    arcs = cuda.shared.array(SCAN_THREADS, np.float64)
    t = cuda.threadIdx.x
    first = (cuda.blockIdx.x * SCAN_THREADS + t) * SCAN_WORDS
    last = min(first + SCAN_WORDS, words.size)
    count = 0
    weight = 0.0
    for w in range(first, last):
        n = np.int64(cuda.popc(words[w]))
        count += n
        weight += n * mean_degree[w >> 1]
    counts[t] = count
    arcs[t] = weight
    cuda.syncthreads()
    distance = 1
    while distance < SCAN_THREADS:
        count_before = 0
        arcs_before = 0.0
        if t >= distance:
            count_before = counts[t - distance]
            arcs_before = arcs[t - distance]
        cuda.syncthreads()
        counts[t] += count_before
        arcs[t] += arcs_before
        cuda.syncthreads()
        distance *= 2
    place = counts[t] - count
    for w in range(first, last):
        places[w] = place
        place += np.int64(cuda.popc(words[w]))
    if t == SCAN_THREADS - 1:
        block_counts[cuda.blockIdx.x] = counts[t]
        block_arcs[cuda.blockIdx.x] = arcs[t]


@cuda.jit
def write_vertices(words, places, block_places, queue):
    """Every vertex of a bitmap writes itself to its place in the queue."""
    for v in range(cuda.grid(1), 32 * words.size, cuda.gridsize(1)):
        w = v >> 5
        bit = np.uint32(_ONE << np.uint32(v & 31))
        if words[w] & bit != 0:
            before = np.int64(cuda.popc(np.uint32(words[w] & np.uint32(bit - _ONE))))
            queue[block_places[w // _BLOCK_WORDS] + places[w] + before] = v


@cuda.jit
def mark_vertices(ids, words):
    """Set the bits of some vertices."""
    for i in range(cuda.grid(1), ids.size, cuda.gridsize(1)):
        u = np.int64(ids[i])
        cuda.atomic.or_(words, u >> 5, np.uint32(_ONE << np.uint32(u & 31)))


@cuda.jit
def enter_rows(words, visited, parent, missing):
    """Rows of a bitmap that were not visited here before get no parent yet."""
    n = 0
    for row in range(cuda.grid(1), parent.size, cuda.gridsize(1)):
        bit = np.uint32(_ONE << np.uint32(row & 31))
        if words[row >> 5] & bit != 0 and visited[row >> 5] & bit == 0:
            parent[row] = NONE
            n += 1
    if n > 0:
        cuda.atomic.add(missing, 0, n)


@cuda.jit
def enter_vertices(ids, own_first, visited, parent, missing):
    """Visit some vertices; own rows not visited here before get no parent yet."""
    n = 0
    for i in range(cuda.grid(1), ids.size, cuda.gridsize(1)):
        u = np.int64(ids[i])
        bit = np.uint32(_ONE << np.uint32(u & 31))
        own = u - own_first
        if cuda.atomic.or_(visited, u >> 5, bit) & bit == 0 and 0 <= own < parent.size:
            parent[own] = NONE
            n += 1
    if n > 0:
        cuda.atomic.add(missing, 0, n)


@cuda.jit
def forget_rows(parent, visited):
    """The parents of rows that were not visited become NONE."""
    for row in range(cuda.grid(1), parent.size, cuda.gridsize(1)):
        if (visited[row >> 5] >> np.uint32(row & 31)) & _ONE == 0:
            parent[row] = NONE


@cuda.jit
def adopt_parents(ids, vertices, own_first, parent, adopted):
    """Own rows without a parent take the one that another partition found; no id is there twice."""
    n = 0
    for i in range(cuda.grid(1), ids.size, cuda.gridsize(1)):
        own = np.int64(ids[i]) - own_first
        if 0 <= own < parent.size and parent[own] == NONE:
            parent[own] = vertices[i]
            n += 1
    if n > 0:
        cuda.atomic.add(adopted, 0, n)


@cuda.jit
def find_work(visited, next_frontier, first_words, busy):
    """Which blocks of rows have rows that still look for a parent; 32 lanes for each block."""
    lane = cuda.grid(1) & 31
    for b in range(cuda.grid(1) >> 5, busy.size, cuda.gridsize(1) >> 5):
        for w in range(first_words[b] + lane, first_words[b + 1], 32):
            if np.uint32(visited[w] | next_frontier[w]) != np.uint32(0xFFFFFFFF):
                busy[b] = 1


KERNELS = (
    expand_rows, test_hubs, search_rows, scan_words, write_vertices, mark_vertices, enter_rows,
    enter_vertices, forget_rows, adopt_parents, find_work, search_rows_cached,
)  # fmt: skip
"""All kernels, for code that compiles or checks them."""


def _narrow(words: Any) -> Any:
    """A bitmap as 32-bit words."""
    return words.view(np.uint32)


def _counter(array: Any) -> Any:
    return array_module(array).zeros(1, np.int64)


def top_down(
    indptr: Any,
    indices: Any,
    vertex: Any,
    mean_degree: Any,
    own_first: int,
    parent: Any,
    elsewhere: Any,
    visited: Any,
    queue: Any,
    size: int,
    next_queue: Any,
    n_threads: int,
) -> tuple[int, float, int]:
    """Let every row of the queue look for unvisited neighbours."""
    found = array_module(visited).zeros_like(visited)
    examined = _counter(visited)
    with contextlib.closing(indices.with_rows_of(queue[:size])) as blocks:
        for block, arcs, first_arc in blocks:
            for begin, end, width in block.spans:
                launch(
                    expand_rows,
                    (end - begin) * width,
                    indptr,
                    arcs,
                    first_arc,
                    vertex,
                    int(own_first),
                    parent,
                    elsewhere,
                    _narrow(visited),
                    queue,
                    begin,
                    end,
                    width,
                    _narrow(found),
                    examined,
                )
    awake_count, scout_count = _to_queue(found, mean_degree, next_queue)
    return awake_count, scout_count, int(examined[0])


def _bottom_up(
    search: Callable[[], Any],
    indptr: Any,
    indices: Any,
    hub: Any,
    hub_vertex: Any,
    vertex: Any,
    mean_degree: Any,
    n_long_rows: int,
    parent: Any,
    visited: Any,
    frontier: Any,
    next_frontier: Any,
    n_threads: int,
) -> tuple[int, float, int]:
    """Let every unvisited row look for a parent in the frontier, by one of two kernels."""
    next_frontier[:] = 0
    examined = _counter(visited)
    bitmaps = _narrow(visited), _narrow(frontier), _narrow(next_frontier)
    launch(test_hubs, hub.size, hub, hub_vertex, parent, *bitmaps, examined)
    with contextlib.closing(indices.with_work(visited, next_frontier)) as blocks:
        for block, arcs, first_arc in blocks:
            for first_row, last_row, width in block.spans:
                last_row = min(last_row, n_long_rows)
                launch(
                    search(),
                    (last_row - first_row) * width,
                    indptr,
                    arcs,
                    first_arc,
                    vertex,
                    parent,
                    *bitmaps,
                    first_row,
                    last_row,
                    width,
                    examined,
                )
    visited |= next_frontier
    _, block_counts, block_arcs = _scan(next_frontier, mean_degree)
    return int(block_counts.sum()), float(block_arcs.sum()), int(examined[0])


bottom_up = functools.partial(_bottom_up, lambda: search_rows)  # by name, as other kernels are
bottom_up_cached = functools.partial(_bottom_up, lambda: search_rows_cached)
"""The same, with a cache in software for the frontier."""


def _scan(words: Any, mean_degree: Any) -> tuple[Any, Any, Any]:
    """The place of each word within its block; vertices and arcs of each block."""
    xp, narrow = array_module(words), _narrow(words)
    n_blocks = -(-narrow.size // _BLOCK_WORDS)
    places = xp.empty(narrow.size, np.int64)
    block_counts, block_arcs = xp.empty(n_blocks, np.int64), xp.empty(n_blocks, np.float64)
    launch_blocks(
        scan_words, n_blocks, SCAN_THREADS, narrow, mean_degree, places, block_counts, block_arcs
    )
    return places, block_counts, block_arcs


def _to_queue(words: Any, mean_degree: Any, queue: Any) -> tuple[int, float]:
    """Write a bitmap's vertices to the queue, ascending; how many, and about how many arcs."""
    places, block_counts, block_arcs = _scan(words, mean_degree)
    block_places = block_counts.cumsum() - block_counts
    launch(write_vertices, 64 * words.size, _narrow(words), places, block_places, queue)
    return int(block_counts.sum()), float(block_arcs.sum())


def queue_to_bitmap(queue: Any, size: int, bitmap: Any, n_threads: int) -> None:
    """Make the bitmap hold just the vertices of the queue."""
    bitmap[:] = 0
    launch(mark_vertices, size, queue[:size], _narrow(bitmap))


def bitmap_to_queue(bitmap: Any, queue: Any, n_threads: int) -> int:
    """Write the vertices of a bitmap to the queue, ascending; returns how many."""
    weightless = array_module(bitmap).zeros(bitmap.size, np.float32)
    return _to_queue(bitmap, weightless, queue)[0]


def enter(words: Any, visited: Any, parent: Any) -> int:
    """Visit the rows of a bitmap; returns how many were not visited here: they have no parent."""
    missing = _counter(words)
    launch(enter_rows, parent.size, _narrow(words), _narrow(visited), parent, missing)
    visited |= words
    return int(missing[0])


def enter_ids(ids: Any, first: int, visited: Any, parent: Any) -> int:
    """Visit some vertices; returns how many own rows were not visited here before."""
    missing = _counter(ids)
    launch(enter_vertices, ids.size, ids, int(first), _narrow(visited), parent, missing)
    return int(missing[0])


def forget_unvisited(parent: Any, visited: Any, n_threads: int) -> None:
    """Set the parents of rows that were not visited to NONE."""
    launch(forget_rows, parent.size, parent, _narrow(visited))


def adopt(ids: Any, vertices: Any, first: int, parent: Any) -> int:
    """Take parents that others found, for own rows that have none; returns how many."""
    adopted = _counter(ids)
    launch(adopt_parents, ids.size, ids, vertices, int(first), parent, adopted)
    return int(adopted[0])
