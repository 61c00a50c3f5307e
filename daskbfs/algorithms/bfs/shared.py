"""A search whose partitions share memory: one ``visited``, one frontier and one ``parent``.

What is found is in place at once: nothing is merged between levels, and nothing is owed at the end.
A message tells only how many vertices the frontier has and whether they are in the queue or in a
bitmap; where that is, each partition knows. A bottom-up level wants a bitmap: each partition makes
its own words of it, of the queue, and waits for the others.

On a device, a partition keeps copies of its own (:class:`SearchState`): it takes the frontier in,
as it does one that comes by mail, and publishes what it found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daskbfs.algorithms.bfs import steps
from daskbfs.algorithms.bfs.frontier import Frontier
from daskbfs.algorithms.bfs.state import SearchState
from daskbfs.algorithms.bfs.steps import run_bottom_up, run_top_down
from daskbfs.cluster.segment import Column
from daskbfs.engine.exchange.shared_memory import Columns, MeetingPlace
from daskbfs.engine.state import LevelState
from daskbfs.kernels.cpu import bfs as cpu_kernels
from daskbfs.kernels.cpu import shared_search as kernels
from daskbfs.kernels.frontier import weigh
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device, Direction
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.levels import SpanWork

_MOST_LEVELS = 4096  # of one call


def share(numbering: Numbering) -> Columns:
    """What the partitions of a search share."""
    n_global, n_words = numbering.n_global, numbering.n_words
    work = (
        Column("visited", n_words, np.uint64),
        Column("bitmap-0", n_words, np.uint64),
        Column("bitmap-1", n_words, np.uint64),
        Column("queue", n_global, np.uint32),
        Column("end", 1, np.int64),
    )
    return Columns(work, (Column("parent", n_global, np.uint32),))


class SharedSearchState(LevelState):
    """What a partition knows of a search that it shares; arrays are over all global ids."""

    __slots__ = (
        "bitmaps", "copied_bytes", "current", "degree", "device", "end", "found", "head", "parent",
        "published", "queue", "rows", "tail", "visited",
    )  # fmt: skip

    def __init__(self, partition: Partition, columns: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        numbering = partition.numbering
        self.visited = columns["visited"]
        self.bitmaps = [columns["bitmap-0"], columns["bitmap-1"]]
        self.queue = columns["queue"]
        self.end = columns["end"]
        self.parent = columns["parent"]
        self.current = 0
        """Which of the bitmaps is the frontier, where that is one."""
        self.head = self.tail = 0
        """Where the frontier begins and ends in the queue, where it is there."""
        self.copied_bytes = 0
        """What a device was sent of the last frontier."""
        take = numbering.arrays.take
        on_device = partition.memory.device is not Device.CPU
        self.device = SearchState(partition) if on_device else None
        """What a device keeps for itself."""
        self.published = self.queue[:0]
        """What a device has just found top-down, before any other partition."""
        self.rows = take(partition.n_padded, np.uint32)
        self.found = take(0 if on_device else numbering.n_global, np.uint32)
        self.degree = numbering.degree if numbering.degree is not None else np.empty(0, np.uint32)

    @property
    def nbytes(self) -> int:
        """What is not shared."""
        device = 0 if self.device is None else self.device.nbytes
        return self.rows.nbytes + self.found.nbytes + device

    @property
    def listed(self) -> np.ndarray:
        """The frontier, where it is in the queue."""
        return self.queue[self.head : self.tail]

    @property
    def bitmap(self) -> np.ndarray:
        """The frontier, where it is a bitmap."""
        return self.bitmaps[self.current]


def open_state(
    partition: Partition, columns: Mapping[str, np.ndarray], source: int
) -> SharedSearchState:
    """Only the source and the padding rows are visited."""
    state = SharedSearchState(partition, columns)
    if state.device is not None:
        _open_on_device(partition, state.device, source)
    if partition.mirror:  # the rows are their owner's
        return state
    words = state.visited[partition.words]
    words[:] = 0
    words[-1] = ~np.uint64(0) << np.uint64(partition.n_rows % 64)
    state.parent[partition.first + partition.n_rows : partition.rows.stop] = NONE
    if partition.rows.start <= source < partition.rows.stop:
        state.visited[source >> 6] |= np.uint64(1) << np.uint64(source & 63)
        state.parent[source] = partition.numbering.vertex[source]
    if partition.number == 0:
        state.queue[0] = source
        state.end[0] = 1
    return state


def _open_on_device(partition: Partition, state: SearchState, source: int) -> None:
    """A device's ``parent`` has only what it finds bottom-up."""
    state.visited[:] = 0
    state.visited[partition.words.stop - 1] = ~np.uint64(0) << np.uint64(partition.n_rows % 64)
    state.visited[source >> 6] |= np.uint64(1) << np.uint64(source & 63)
    state.parent[:] = NONE


def prepare(partition: Partition, state: SharedSearchState, frontier: Frontier) -> None:
    """Make own words of the frontier's bitmap of what is in the queue."""
    if not partition.mirror:
        listed = state.queue[state.tail : state.tail + frontier.size]
        kernels.mark_own(listed, np.uint32(partition.first), state.bitmap[partition.words])


def search_level(
    partition: Partition,
    state: SharedSearchState,
    frontier: Frontier,
    targets: Sequence[int],
    *,
    top_down: bool,
    waits: bool,
    cached: bool,
    threads: int,
) -> tuple[int, float, int, int]:
    """Search a level.

    Returns the vertices found, the arcs that leave them, the arcs examined, and the targets found.
    """
    if frontier.listed:
        state.head, state.tail = state.tail, state.tail + frontier.size
    found = (0, 0.0, 0)
    if state.device is not None:
        found = _search_on_device(
            partition, state, state.device, frontier, top_down, waits, cached, threads
        )
    elif top_down and not waits:
        found = _top_down(partition, state, frontier, threads)
    elif not waits:
        found = _bottom_up(partition, state, threads)
    if not top_down:
        state.current = 1 - state.current
    n_reached = 0
    if targets and not waits:
        n_reached = _count_targets(partition, state, np.array(targets), found[0], top_down)
    return *found, n_reached


def _count_targets(
    partition: Partition, state: SharedSearchState, targets: np.ndarray, n: int, top_down: bool
) -> int:
    """How many targets this partition has just found."""
    if not top_down:
        targets = targets[(targets >= partition.rows.start) & (targets < partition.rows.stop)]
        bits = state.bitmap[targets >> 6] >> (targets & 63).astype(np.uint64)
        return int(np.count_nonzero(bits & np.uint64(1)))
    found = state.found if state.device is None else state.published
    return int(np.count_nonzero(np.isin(targets, found[:n])))


def _top_down(
    partition: Partition, state: SharedSearchState, frontier: Frontier, threads: int
) -> tuple[int, float, int]:
    """Let own rows of the frontier look for neighbours, on a CPU."""
    if frontier.listed:
        n_rows = kernels.pick_own(state.listed, np.uint32(partition.first), state.rows)
    else:
        mine = state.bitmap[partition.words]
        n_rows = cpu_kernels.bitmap_to_queue(mine, state.rows, threads)
    # no row is written to by its place in the partition: all are, by their global ids, elsewhere
    awake_count, scout_count, examined = run_top_down(
        partition, state.parent[:0], state.parent, state.visited, state.rows, n_rows, state.found,
        threads,
    )  # fmt: skip
    kernels.append_found(state.found, awake_count, state.queue, state.end)
    if state.degree.size:
        scout_count = float(state.degree[state.found[:awake_count]].sum(dtype=np.int64))
    return awake_count, scout_count, examined


def _bottom_up(
    partition: Partition, state: SharedSearchState, threads: int
) -> tuple[int, float, int]:
    """Let own rows look for a parent in the frontier, on a CPU."""
    mine = partition.words
    found = state.bitmaps[1 - state.current][mine]
    awake_count, scout_count, examined = run_bottom_up(
        partition, state.parent[partition.rows], state.visited[mine], state.bitmap, found, threads
    )
    if state.degree.size:
        _, scout_count = _weigh(found, partition, state)
    return awake_count, scout_count, examined


def _search_on_device(
    partition: Partition,
    state: SharedSearchState,
    device: SearchState,
    frontier: Frontier,
    top_down: bool,
    waits: bool,
    cached: bool,
    threads: int,
) -> tuple[int, float, int]:
    """Take the frontier in, search, and publish what was found."""
    memory = partition.memory
    if frontier.listed:
        there = Frontier(frontier.size, ids=state.listed)
    else:
        there = Frontier(frontier.size, words=state.bitmap)
    state.copied_bytes = there.nbytes
    here = steps.receive(partition, there, 0)
    steps.enter(partition, device, here)
    if waits:
        return 0, 0.0, 0
    if not top_down:
        found, _, examined = steps.bottom_up(partition, device, here, threads, cached)
        return *_publish_bitmap(partition, state, found), examined
    rows, n_rows = steps.own_rows(partition, device, there, here, threads)
    ids = device.spare_queue(rows)
    awake_count, _, examined = run_top_down(
        partition, device.parent[:0], device.elsewhere, device.visited, rows, n_rows, ids, threads
    )
    ids = ids[:awake_count]
    numbering = partition.numbering
    state.published = memory.get(ids)
    published: tuple[int, float] = kernels.publish(
        state.published, memory.get(device.elsewhere[ids]), state.parent, state.visited,
        state.queue, state.end, numbering.mean_degree, state.degree,
    )  # fmt: skip
    return *published, examined


def _weigh(words: np.ndarray, partition: Partition, state: SharedSearchState) -> tuple[int, float]:
    """How many own rows a bitmap holds, and how many arcs leave them."""
    if not state.degree.size:
        return weigh(words, partition.numbering.mean_degree[partition.words])
    n = cpu_kernels.bitmap_to_queue(words, state.rows, 1)
    return n, float(state.degree[partition.rows][state.rows[:n]].sum(dtype=np.int64))


def _publish_bitmap(
    partition: Partition, state: SharedSearchState, found: Frontier
) -> tuple[int, float]:
    """Put what a device found bottom-up where all find it."""
    mine = partition.words
    state.bitmaps[1 - state.current][mine] = found.words
    state.visited[mine] |= found.words  # type: ignore[arg-type]
    return _weigh(found.words, partition, state)  # type: ignore[arg-type]


def settle(partition: Partition, state: SharedSearchState) -> np.ndarray:
    """The parents of own rows, in place."""
    mine = state.parent[partition.rows]
    if state.device is not None:
        found = partition.memory.get(state.device.parent)
        np.copyto(mine, found, where=found != NONE)
    if partition.mirror:
        return mine[:0]
    cpu_kernels.forget_unvisited(mine, state.visited[partition.words], n_threads())
    return mine


def search_together(
    partition: Partition,
    state: SharedSearchState,
    meeting: MeetingPlace,
    *,
    size: int,
    scout_count: float,
    most_levels: int | None,
    most_arcs: float,
) -> tuple[Frontier, float, list[SpanWork]]:
    """Run top-down levels with all others; returns the frontier, its arcs, and what each did."""
    numbering, n_partitions = partition.numbering, partition.numbering.n_partitions
    n = _MOST_LEVELS if most_levels is None else min(_MOST_LEVELS, most_levels)
    sizes, scout_counts = np.empty(n, np.int64), np.empty(n)
    examined = np.empty((n, n_partitions), np.int64)
    seconds = np.empty((n, n_partitions))
    progress, arcs = np.zeros(kernels.N_PROGRESS, np.int64), np.array([scout_count])
    state.tail += size
    progress[kernels.BEGIN], progress[kernels.END] = state.tail - size, state.tail
    progress[kernels.TURN] = meeting.turn

    def search(patience_seconds: float) -> int:
        ended: int = kernels.top_down_together(
            partition.out.indptr, partition.out.indices,
            partition.memory.vertex[partition.rows], numbering.mean_degree, state.degree,
            partition.first, partition.n_padded, state.parent, state.visited, state.queue,
            state.end, meeting.place, partition.number, n_partitions, meeting.n_spins,
            patience_seconds, meeting.deadline, float(most_arcs), progress, arcs, sizes,
            scout_counts, examined, seconds,
        )  # fmt: skip
        return ended

    meeting.wait(search)
    meeting.turn = int(progress[kernels.TURN])
    meeting.is_over = bool(progress[kernels.IS_OVER])
    n_levels = int(progress[kernels.LEVEL])
    state.tail = int(progress[kernels.BEGIN])
    works = [
        SpanWork(
            sizes[:n_levels].copy(),
            examined[:n_levels, p].copy(),
            seconds[:n_levels, p].copy(),
            Direction.TOP_DOWN,
            scout_counts[:n_levels].copy(),
        )
        for p in range(n_partitions)
    ]
    found = Frontier(int(progress[kernels.END]) - state.tail, listed=True)
    return found, float(arcs[0]), works
