"""Top-down levels of a partition that is alone: many in one call, over a queue that slides.

Between calls either ``parent`` tells what is visited, and the state is *exact*, or the bitmap
``visited`` does. Graphs that are small or have even degrees begin exact. Others begin with the
bitmap, since clearing their parents would cost more than few small levels can gain, and become
exact after their last bottom-up level, when nearly all rows have a parent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daskbfs.algorithms.bfs.frontier import Frontier
from daskbfs.algorithms.bfs.state import SearchState
from daskbfs.kernels.cpu.bfs import bitmap_to_queue, forget_unvisited
from daskbfs.kernels.cpu.sliding_queue import forget_all, mark_visited, top_down_levels
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device, Direction
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.levels import SpanWork

_MOST_LEVELS = 4096  # of one call: their records take 100 kB


def can_slide(partition: Partition) -> bool:
    """Whether levels of a partition can run in one call: it is alone, and on a CPU."""
    return partition.numbering.n_partitions == 1 and partition.memory.device is Device.CPU


def begin_exact(partition: Partition, state: SearchState, source: int) -> None:
    """Begin a search whose parents tell what is visited."""
    forget_all(state.parent, n_threads())
    state.parent[source] = partition.numbering.vertex[source]
    state.queues[0][0] = source
    state.head, state.tail, state.marked = 0, 1, 1
    state.exact = True


def make_exact(state: SearchState, found: Frontier) -> None:
    """Let parents tell what is visited, from what a bottom-up level found on."""
    forget_unvisited(state.parent, state.visited, n_threads())
    state.head, state.tail = 0, bitmap_to_queue(found.words, state.queues[0], n_threads())
    state.marked = state.tail
    state.exact = True


def leave_exact(state: SearchState) -> None:
    """Let the bitmap tell what is visited: bottom-up levels write to parents as they like."""
    mark_visited(state.queues[0], state.marked, state.tail, state.visited, n_threads())
    state.exact = False


def search_levels(
    partition: Partition,
    state: SearchState,
    *,
    most_levels: int | None,
    most_arcs: float,
    serial_arcs: int,
    targets: Sequence[int],
) -> tuple[Frontier, float, SpanWork]:
    """Run levels until ``most_arcs`` leave the frontier; returns it, its arcs, and the work."""
    numbering, rows, queue = partition.numbering, partition.out, state.queues[0]
    n = _MOST_LEVELS if most_levels is None else min(_MOST_LEVELS, most_levels)
    sizes, examined, seconds = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    n_levels, state.head, state.tail, scout_count = top_down_levels(
        rows.indptr,
        rows.indices,
        partition.memory.vertex,
        state.parent,
        queue,
        state.head,
        state.tail,
        float(most_arcs),
        serial_arcs,
        numbering.n_arcs / numbering.n_rows if numbering.even else 0.0,
        np.array(targets, np.uint32),
        sizes,
        examined,
        seconds,
        n_threads(),
    )
    work = SpanWork(
        sizes[:n_levels].copy(),
        examined[:n_levels].copy(),
        seconds[:n_levels].copy(),
        Direction.TOP_DOWN,
    )
    found = Frontier(state.tail - state.head, ids=queue[state.head : state.tail])
    return found, scout_count, work


def count_unreached(state: SearchState, targets: Sequence[int]) -> int:
    """How many of some rows an exact state has not visited."""
    return sum(state.parent[row] == NONE for row in targets)
