"""The steps of a search level on one partition, in whatever memory it lives.

What arrives is put there, kernels run, and what leaves is got from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskbfs.algorithms.bfs.frontier import Frontier
from daskbfs.algorithms.bfs.state import SearchState
from daskbfs.kernels.frontier import outsiders
from daskbfs.names import Device
from daskbfs.partition.partition import Partition


def search_kernels(partition: Partition) -> Any:
    """The kernels of a search, for the memory that a partition lives in."""
    return partition.memory.kernels("bfs")


def is_alone(partition: Partition) -> bool:
    """Whether there is no other partition."""
    return partition.numbering.n_partitions == 1


def receive(partition: Partition, frontier: Frontier, level: int) -> Frontier:
    """The frontier in the partition's memory; alone, only the first comes from elsewhere."""
    put = partition.memory.put
    if is_alone(partition) and level > 0:
        return frontier
    if frontier.words is None:
        return Frontier(frontier.size, ids=put(frontier.ids[: frontier.size]))  # type: ignore[index]
    return Frontier(frontier.size, words=put(frontier.words))


def run_top_down(
    partition: Partition,
    parent: np.ndarray,
    elsewhere: np.ndarray,
    visited: np.ndarray,
    queue: np.ndarray,
    size: int,
    found: np.ndarray,
    threads: int,
) -> tuple[int, float, int]:
    """Run the kernel over own rows; parents of rows that are not in ``parent`` go elsewhere."""
    memory = partition.memory
    counts: tuple[int, float, int] = search_kernels(partition).top_down(
        partition.out.indptr,
        partition.out.indices,
        memory.vertex[partition.rows],
        memory.mean_degree,
        partition.first,
        parent,
        elsewhere,
        visited,
        queue,
        size,
        found,
        threads,
    )
    return counts


def top_down(
    partition: Partition, state: SearchState, queue: np.ndarray, size: int, threads: int
) -> tuple[Frontier, float, int]:
    """Let the first ``size`` rows of a queue look for neighbours."""
    memory, numbering = partition.memory, partition.numbering
    ids = state.spare_queue(queue)
    awake_count, scout_count, examined = run_top_down(
        partition, state.parent, state.elsewhere, state.visited, queue, size, ids, threads
    )
    if numbering.n_partitions == 1:
        return Frontier(awake_count, ids=ids), scout_count, examined
    found = memory.get(ids[:awake_count])
    claims = numbering.arrays.take(numbering.n_global, np.uint32)
    first, n_rows = np.uint32(partition.first), np.uint32(partition.n_padded)
    state.claims.append(claims[: outsiders(found, first, n_rows, claims)].copy())
    return Frontier(awake_count, ids=found), scout_count, examined


def run_bottom_up(
    partition: Partition,
    parent: np.ndarray,
    visited: np.ndarray,
    frontier: np.ndarray,
    found: np.ndarray,
    threads: int,
    cached: bool = False,
) -> tuple[int, float, int]:
    """Run the kernel: arrays are of own rows but for the frontier."""
    memory, into = partition.memory, partition.into
    kernels = search_kernels(partition)
    search = kernels.bottom_up_cached if cached else kernels.bottom_up
    hub = into.hub
    if partition.numbering.even and memory.device is Device.CPU:
        hub = hub[:0]  # the first of a row's neighbours is no better than the next
    counts: tuple[int, float, int] = search(
        into.indptr,
        into.indices,
        hub,
        partition.hub_vertex,
        memory.vertex,
        memory.mean_degree[partition.words],
        into.n_long_rows,
        parent,
        visited,
        frontier,
        found,
        threads,
    )
    return counts


def bottom_up(
    partition: Partition, state: SearchState, here: Frontier, threads: int, cached: bool
) -> tuple[Frontier, float, int]:
    """Let own rows look for a parent in the frontier."""
    alone = is_alone(partition)
    bitmap = as_bitmap(partition, state, here, threads)
    words = state.spare_bitmap(bitmap)
    if not alone:
        words = words[: partition.n_padded // 64]
    awake_count, scout_count, examined = run_bottom_up(
        partition, state.parent, state.visited[partition.words], bitmap, words, threads, cached
    )
    if not alone:
        words = partition.memory.get(words)
    found = Frontier(awake_count, words=words, first_word=partition.words.start)
    return found, scout_count, examined


def enter(partition: Partition, state: SearchState, here: Frontier) -> None:
    """Take a merged frontier in: what others found is visited here too."""
    if is_alone(partition):
        return
    kernels = search_kernels(partition)
    if here.words is None:
        first = np.uint32(partition.first)
        state.missing += kernels.enter_ids(here.ids, first, state.visited, state.parent)
        return
    mine = partition.words
    state.missing += kernels.enter(here.words[mine], state.visited[mine], state.parent)
    state.visited |= here.words


def own_rows(
    partition: Partition,
    state: SearchState,
    frontier: Frontier,
    here: Frontier,
    threads: int,
) -> tuple[np.ndarray, int]:
    """The frontier's rows in this partition, as a queue."""
    memory = partition.memory
    if is_alone(partition):
        if here.ids is None:
            here.ids = state.queues[0]
            search_kernels(partition).bitmap_to_queue(here.words, here.ids, threads)
        return here.ids, here.size
    queue = state.queues[0]
    if frontier.words is None:
        ids = frontier.as_list()
        mine = ids[(ids >= partition.first) & (ids < partition.rows.stop)]
        mine = np.sort(mine - np.uint32(partition.first))
        queue[: mine.size] = memory.put(mine)
        return queue, mine.size
    mine = here.words[partition.words]  # type: ignore[index]
    return queue, search_kernels(partition).bitmap_to_queue(mine, queue, threads)


def as_bitmap(partition: Partition, state: SearchState, here: Frontier, threads: int) -> np.ndarray:
    """The frontier as a bitmap over all vertices."""
    if here.words is None:
        queue_to_bitmap = search_kernels(partition).queue_to_bitmap
        queue_to_bitmap(here.ids, here.size, state.bitmaps[0], threads)
        here.words = state.bitmaps[0]
    return here.words
