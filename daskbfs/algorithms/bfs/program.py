"""Breadth-first search as a program: direction-optimized, over any number of partitions.

Every partition keeps a bitmap of all visited vertices and takes each merged frontier into it. A
top-down step finds vertices of other partitions too, and keeps their parents to itself until the
end: only visited bits travel during a search. A bottom-up step finds own rows only. Where
accelerators mirror the CPU's partitions, either these search a level or the mirrors do; those
that wait merge the frontier, and mirrors owe what they found to the owners.
Method: Sallinen, Gharaibeh, Ripeanu (Accelerating Direction-Optimized BFS on Hybrid Architectures).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from daskbfs.algorithms.bfs.direction import Choice, Implementation, Policy, Summary
from daskbfs.algorithms.bfs.frontier import Frontier, count_arcs, join_found, unite_found
from daskbfs.algorithms.bfs.sliding import (
    begin_exact,
    can_slide,
    leave_exact,
    make_exact,
    search_levels,
    unreached,
)
from daskbfs.algorithms.bfs.state import SearchState
from daskbfs.engine.program import Part
from daskbfs.graph.graph import Outline
from daskbfs.kernels.frontier import first_orphan, outsiders
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device, Direction
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.levels import LevelTable, SpanWork, Work


@dataclass(frozen=True, slots=True)
class SearchMessage:
    """What starts a level: the frontier, the way to search it, and how the search stands."""

    level: int
    frontier: Frontier
    direction: Direction
    summary: Summary
    wanted: tuple[int, ...] | None
    """Targets not yet reached; None when there are none to wait for."""
    implementation: Implementation | None = None
    """None: all partitions search, each on its device."""


class LastSearchMessage(SearchMessage):
    """The message of a search that is done: its type tells, without a look inside."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SearchReply:
    """What one partition, or all of one worker, found in a level."""

    found: tuple[Frontier, ...]
    scout_count: float
    n_levels: int = 1
    """Levels that were searched: several where the partition is alone."""
    searched_arcs: float | None = None
    """Arcs that left the frontiers of all these levels; None: those of the message."""
    wanted: tuple[int, ...] | None = None
    """Targets that none of these levels reached; None: those of the message."""


@dataclass(frozen=True, slots=True)
class BFS:
    """A search from one source; vertices are global ids."""

    algorithm: ClassVar[str] = "bfs"

    source: int
    degree: int
    policy: Policy
    depth_limit: int | None = None
    targets: tuple[int, ...] | None = None
    top_down_below: float = 0.0
    """A top-down search stays so, without asking the policy, while fewer arcs leave a frontier."""
    serial_arcs: int = 4096
    clear_rows: int = 0
    """Graphs of at most so many rows begin with cleared parents: levels can run in one call."""
    choice: Choice | None = None
    """Between partitions and their mirrors; None leaves these idle."""
    subject: str = ""
    """The source by the user's own id."""

    @property
    def variant(self) -> str:
        """All searches run the same kernels."""
        return self.algorithm

    def warm_kernels(
        self, indptr_dtype: str, n_partitions: int, partitions: Sequence[Partition]
    ) -> None:
        """Load the kernels of a search."""
        from daskbfs.algorithms.bfs.warmup import warm_kernels, warm_mirror

        device = partitions[0].memory.device
        warm_kernels(indptr_dtype, n_partitions, device)
        if any(partition.mirror for partition in partitions):
            warm_mirror(device)

    def touch_memory(self, partitions: Sequence[Partition]) -> None:
        """Touch the memory of one search, and of results."""
        from daskbfs.algorithms.bfs.warmup import touch

        touch(partitions)

    def first_message(self, numbering: Numbering) -> SearchMessage:
        """The source alone is the frontier."""
        frontier = Frontier(1, ids=np.array([self.source], np.uint32))
        summary = Summary.at_source(numbering.n_rows, numbering.n_arcs, self.degree)
        return self._decide(numbering, 0, frontier, Direction.TOP_DOWN, summary, self.targets)

    def _decide(
        self,
        numbering: Numbering,
        level: int,
        frontier: Frontier,
        direction: Direction,
        summary: Summary,
        wanted: tuple[int, ...] | None,
    ) -> SearchMessage:
        """The message for a level: which way, or not at all."""
        if wanted is not None:
            wanted = tuple(v for v in wanted if not frontier.holds(v))
        done = not frontier.size or level == self.depth_limit or wanted == ()
        kind = LastSearchMessage if done else SearchMessage
        small = summary.scout_count < self.top_down_below
        if not done and not (small and direction is Direction.TOP_DOWN):
            direction = self.policy(direction, summary)
        implementation = None
        if numbering.mirrored and self.choice is not None:
            implementation = self.choice(direction, summary)
        return kind(level, frontier, direction, summary, wanted, implementation)

    def open_state(self, partition: Partition) -> SearchState:
        """Only the source and the padding rows are visited."""
        state = SearchState(partition)
        padding = ~np.uint64(0) << np.uint64(partition.n_rows % 64)
        state.visited[:] = 0
        state.visited[partition.words.stop - 1] = padding
        state.visited[self.source >> 6] |= np.uint64(1) << np.uint64(self.source & 63)
        state.parent[partition.n_rows :] = NONE
        if partition.rows.start <= self.source < partition.rows.stop:
            vertex = partition.numbering.vertex[self.source]
            state.parent[self.source - partition.first] = vertex
        if can_slide(partition) and (
            partition.numbering.even or partition.n_rows <= self.clear_rows
        ):
            begin_exact(partition, state, self.source)
        return state

    def compute(
        self, partition: Partition, state: SearchState, message: SearchMessage
    ) -> tuple[SearchReply, Work | SpanWork]:
        """Search one level, or where the partition is alone as many as stay small."""
        frontier = message.frontier
        if message.direction is Direction.TOP_DOWN and can_slide(partition):
            if not state.exact and frontier.words is not None:
                make_exact(state, frontier)
            if state.exact:
                return self._search_levels(partition, state, message)
        if state.exact:
            leave_exact(state)
        here = self._receive(partition, message)
        self._enter(partition, state, here)
        if _waits(partition, message):
            found, scout_count, examined = None, 0.0, 0
        elif message.direction is Direction.TOP_DOWN:
            few = message.summary.scout_count < self.serial_arcs
            threads = 1 if few else n_threads()
            rows = self._own_rows(partition, state, frontier, here, threads)
            found, scout_count, examined = self._top_down(partition, state, *rows, threads)
        else:
            cached = message.implementation is Implementation.BGC
            found, scout_count, examined = self._bottom_up(
                partition, state, here, n_threads(), cached
            )
        work = Work(
            frontier_vertices=frontier.size,
            edges_examined=examined,
            scout_count=round(message.summary.scout_count),
            exchanged_bytes=0 if _alone(partition) else frontier.nbytes,
            direction=message.direction,
        )
        return SearchReply(() if found is None else (found,), scout_count), work

    def _search_levels(
        self, partition: Partition, state: SearchState, message: SearchMessage
    ) -> tuple[SearchReply, SpanWork]:
        """Search top-down until many arcs leave the frontier, or the search is over."""
        limit, wanted = self.depth_limit, message.wanted
        found, scout_count, work = search_levels(
            partition,
            state,
            most_levels=None if limit is None else limit - message.level,
            most_arcs=self.top_down_below,
            serial_arcs=self.serial_arcs,
            wanted=wanted,
        )
        if wanted is not None:
            wanted = unreached(state, wanted)
        searched = float(work.edges_examined.sum())
        return SearchReply((found,), scout_count, work.n_levels, searched, wanted), work

    def _receive(self, partition: Partition, message: SearchMessage) -> Frontier:
        """The frontier in the partition's memory; alone, only the first comes from elsewhere."""
        frontier, put = message.frontier, partition.memory.put
        if _alone(partition) and message.level > 0:
            return frontier
        if frontier.words is None:
            return Frontier(frontier.size, ids=put(frontier.ids[: frontier.size]))  # type: ignore[index]
        return Frontier(frontier.size, words=put(frontier.words))

    def _top_down(
        self, partition: Partition, state: SearchState, queue: np.ndarray, size: int, threads: int
    ) -> tuple[Frontier, float, int]:
        """Let the first ``size`` rows of a queue look for neighbours."""
        memory, numbering = partition.memory, partition.numbering
        ids = state.spare_queue(queue)
        awake_count, scout_count, examined = _kernels(partition).top_down(
            partition.out.indptr,
            partition.out.indices,
            memory.vertex[partition.rows],
            memory.mean_degree,
            partition.first,
            state.parent,
            state.elsewhere,
            state.visited,
            queue,
            size,
            ids,
            threads,
        )
        if numbering.n_partitions == 1:
            return Frontier(awake_count, ids=ids), scout_count, examined
        found = memory.get(ids[:awake_count])
        claims = numbering.arrays.take(numbering.n_global, np.uint32)
        first, n_rows = np.uint32(partition.first), np.uint32(partition.n_padded)
        state.claims.append(claims[: outsiders(found, first, n_rows, claims)].copy())
        return Frontier(awake_count, ids=found), scout_count, examined

    def _bottom_up(
        self, partition: Partition, state: SearchState, here: Frontier, threads: int, cached: bool
    ) -> tuple[Frontier, float, int]:
        """Let own rows look for a parent in the frontier."""
        memory, alone = partition.memory, _alone(partition)
        bitmap = self._bitmap(partition, state, here, threads)
        words = state.spare_bitmap(bitmap)
        if not alone:
            words = words[: partition.n_padded // 64]
        kernels = _kernels(partition)
        search = kernels.bottom_up_cached if cached else kernels.bottom_up
        hub = partition.into.hub
        if partition.numbering.even and memory.device is Device.CPU:
            hub = hub[:0]  # the first of a row's neighbours is no better than the next
        awake_count, scout_count, examined = search(
            partition.into.indptr,
            partition.into.indices,
            hub,
            partition.hub_vertex,
            memory.vertex,
            memory.mean_degree[partition.words],
            partition.into.n_long_rows,
            state.parent,
            state.visited[partition.words],
            bitmap,
            words,
            threads,
        )
        if not alone:
            words = memory.get(words)
        found = Frontier(awake_count, words=words, first_word=partition.words.start)
        return found, scout_count, examined

    def _enter(self, partition: Partition, state: SearchState, here: Frontier) -> None:
        """Take a merged frontier in: what others found is visited here too."""
        if _alone(partition):
            return
        kernels = _kernels(partition)
        if here.words is None:
            first = np.uint32(partition.first)
            state.missing += kernels.enter_ids(here.ids, first, state.visited, state.parent)
            return
        mine = partition.words
        state.missing += kernels.enter(here.words[mine], state.visited[mine], state.parent)
        state.visited |= here.words

    def _own_rows(
        self,
        partition: Partition,
        state: SearchState,
        frontier: Frontier,
        here: Frontier,
        threads: int,
    ) -> tuple[np.ndarray, int]:
        """The frontier's rows in this partition, as a queue."""
        memory = partition.memory
        if _alone(partition):
            if here.ids is None:
                here.ids = state.queues[0]
                _kernels(partition).bitmap_to_queue(here.words, here.ids, threads)
            return here.ids, here.size
        queue = state.queues[0]
        if frontier.words is None:
            ids = frontier.as_list()
            mine = ids[(ids >= partition.first) & (ids < partition.rows.stop)]
            mine = np.sort(mine - np.uint32(partition.first))
            queue[: mine.size] = memory.put(mine)
            return queue, mine.size
        mine = here.words[partition.words]  # type: ignore[index]
        return queue, _kernels(partition).bitmap_to_queue(mine, queue, threads)

    def _bitmap(
        self, partition: Partition, state: SearchState, here: Frontier, threads: int
    ) -> np.ndarray:
        """The frontier as a bitmap over all vertices."""
        if here.words is None:
            queue_to_bitmap = _kernels(partition).queue_to_bitmap
            queue_to_bitmap(here.ids, here.size, state.bitmaps[0], threads)
            here.words = state.bitmaps[0]
        return here.words

    def combine(self, numbering: Numbering, replies: Sequence[SearchReply]) -> SearchReply:
        """One reply for a worker's partitions; alone, a partition speaks for itself."""
        if numbering.n_partitions == 1:
            return replies[0]
        pieces = [piece for reply in replies for piece in reply.found]
        if len(pieces) > 1 and pieces[0].ids is not None:  # found top-down, perhaps twice
            union, _ = unite_found(numbering, pieces)  # less to send
            pieces = [union]
        found = tuple(
            piece.smaller(numbering.n_words if piece.words is None else piece.words.size)
            for piece in pieces
        )
        return SearchReply(found, sum(reply.scout_count for reply in replies))

    def reduce(
        self, numbering: Numbering, message: SearchMessage, replies: Sequence[SearchReply]
    ) -> SearchMessage:
        """Merge what all workers found, count it, and choose the direction."""
        pieces = [piece for reply in replies for piece in reply.found]
        scout_count = sum(reply.scout_count for reply in replies)
        if numbering.n_partitions == 1:
            (found,) = pieces
        elif message.direction is Direction.TOP_DOWN:
            found, scout_count = unite_found(numbering, pieces)
        else:
            found = join_found(numbering, pieces)
        if numbering.degree is not None:
            scout_count = count_arcs(numbering, numbering.degree, found)
        first = replies[0]
        level, wanted = message.level + first.n_levels, message.wanted
        if first.wanted is not None:
            wanted = first.wanted
        summary = message.summary.after(
            message.direction, found.size, scout_count, first.searched_arcs
        )
        return self._decide(numbering, level, found, message.direction, summary, wanted)

    def is_done(self, message: SearchMessage) -> bool:
        """Whether the frontier is empty, or a limit or all targets are reached."""
        return isinstance(message, LastSearchMessage)

    def close(self, partition: Partition, state: SearchState, message: SearchMessage) -> None:
        """Visit what others found last, and forget what never was a parent."""
        if state.exact:
            return
        self._enter(partition, state, self._receive(partition, message))
        _kernels(partition).forget_unvisited(
            state.parent, state.visited[partition.words], n_threads()
        )

    def collect_owed(
        self, partition: Partition, state: SearchState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of other partitions, and the parents that were found for them here."""
        ids = np.concatenate([np.empty(0, np.uint32), *state.claims])
        memory = partition.memory
        found = memory.get(state.elsewhere[memory.put(ids)])
        if not partition.mirror:
            return ids, found
        parent = memory.get(state.parent)  # of rows that are another's, all of them
        rows = np.flatnonzero(parent != NONE)
        mine = (rows + partition.first).astype(np.uint32)
        return np.concatenate([ids, mine]), np.concatenate([found, parent[rows]])

    def settle(
        self,
        partition: Partition,
        state: SearchState,
        owed: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> Part:
        """By row, the parent as a vertex index; where no own step found one, another's did."""
        if partition.mirror:
            return Part(partition.first, np.empty(0, np.uint32))
        memory, missing, first = partition.memory, state.missing, np.uint32(partition.first)
        adopt = _kernels(partition).adopt
        for ids, found in owed:
            missing -= adopt(memory.put(ids), memory.put(found), first, state.parent)
        parent = memory.get(state.parent)
        if missing:
            visited = memory.get(state.visited[partition.words])
            row = first_orphan(visited, parent, partition.n_rows)
            which = f", row {row} among them," if row >= 0 else ""
            raise RuntimeError(
                f"{missing} rows of partition {partition.number}{which} have no parent: no "
                "partition found them"
            )
        return Part(partition.first, parent)

    def count_edges(self, graph: Outline, numbering: Numbering, levels: LevelTable) -> int:
        """Input edges of what was reached, going by the arcs that left the frontiers."""
        share = min(1.0, levels.totals.scout_count / numbering.n_arcs)
        return round(graph.n_input_edges * share)


def _kernels(partition: Partition) -> Any:
    """The kernels of a search, for the memory that a partition lives in."""
    return partition.memory.kernels("bfs")


def _alone(partition: Partition) -> bool:
    """Whether there is no other partition."""
    return partition.numbering.n_partitions == 1


def _waits(partition: Partition, message: SearchMessage) -> bool:
    """Whether this level is for a partition's mirror to search, or for its owner."""
    chosen = message.implementation
    return partition.mirror is not (chosen is not None and chosen.on_mirrors)
