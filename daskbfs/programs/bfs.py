"""Breadth-first search as a program: direction-optimized, over any number of partitions.

Every partition keeps a bitmap of all visited vertices and takes each merged frontier into it. A
top-down step finds vertices of other partitions too, and keeps their parents to itself until the
end: only visited bits travel during a search. A bottom-up step finds own rows only.
Method: Sallinen, Gharaibeh, Ripeanu (Accelerating Direction-Optimized BFS on Hybrid Architectures).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daskbfs.arrays import owned
from daskbfs.direction import Policy, Summary
from daskbfs.kernels import cpu
from daskbfs.kernels.compiling import n_threads
from daskbfs.kernels.frontier import (
    adopt,
    enter,
    enter_ids,
    first_orphan,
    list_bits,
    mark,
    weigh,
)
from daskbfs.kernels.ids import forget_unvisited
from daskbfs.lease import Frontier, Lease, StaleLease
from daskbfs.partition import Numbering, Partition
from daskbfs.telemetry import NO_PHASES, LevelRecord, Phases
from daskbfs.types import NONE, Device, Direction


@dataclass(frozen=True, slots=True)
class Message:
    """What starts a level: the frontier, the way to search it, and how the search stands."""

    level: int
    frontier: Frontier
    direction: Direction
    summary: Summary
    wanted: tuple[int, ...] | None
    """Targets not yet reached; None when there are none to wait for."""
    records: tuple[LevelRecord, ...] = ()
    phases: Phases = NO_PHASES
    gathered_at: float | None = None
    """When the gather ended, by its own clock; None before the first."""


class LastMessage(Message):
    """The message of a search that is done: its type tells, without a look inside."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What one partition, or all of one worker, found in a level."""

    found: Frontier
    scout_count: float
    records: tuple[LevelRecord, ...]
    partition: Partition | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A partition's part of the result: by row, the parent as a vertex index, NONE if unreached."""

    first: int
    parent: np.ndarray


@dataclass(frozen=True, slots=True)
class BFS:
    """A search from one source; vertices are global ids."""

    last_message: ClassVar[type] = LastMessage

    source: int
    degree: int
    policy: Policy
    depth_limit: int | None = None
    targets: tuple[int, ...] | None = None
    serial_arcs: int = 4096

    def first(self, numbering: Numbering) -> Message:
        """The source alone is the frontier."""
        frontier = Frontier(1, ids=np.array([self.source], np.uint32))
        summary = Summary.at_source(numbering.n_rows, numbering.n_arcs, self.degree)
        return self._decide(0, frontier, Direction.TOP_DOWN, summary, self.targets, (), NO_PHASES)

    def _decide(
        self,
        level: int,
        frontier: Frontier,
        direction: Direction,
        summary: Summary,
        wanted: tuple[int, ...] | None,
        records: tuple[LevelRecord, ...],
        phases: Phases,
        gathered_at: float | None = None,
    ) -> Message:
        """The message for a level: which way, or not at all."""
        if wanted is not None:
            wanted = tuple(v for v in wanted if not frontier.holds(v))
        done = not frontier.size or level == self.depth_limit or wanted == ()
        kind = LastMessage if done else Message
        if not done:
            direction = self.policy(direction, summary)
        return kind(level, frontier, direction, summary, wanted, records, phases, gathered_at)

    def open(self, partition: Partition, worker: str | None) -> Lease:
        """Only the source and the padding rows are visited."""
        lease = Lease(partition, worker)
        numbering = partition.numbering
        lease.visited[:] = 0
        lease.visited[partition.words.stop - 1] = ~np.uint64(0) << np.uint64(partition.n_rows % 64)
        mark(lease.visited, np.array([self.source], np.uint32))
        lease.parent[partition.first + partition.n_rows : partition.rows.stop] = NONE
        lease.parent[self.source] = numbering.vertex[self.source]
        return lease

    def compute(self, partition: Partition, lease: Lease, message: Message) -> Reply:
        """Search one level."""
        start = time.perf_counter()
        if lease.next_level != message.level:
            raise StaleLease(f"a lease for level {lease.next_level} met level {message.level}")
        lease.next_level = -1  # in the middle of a level: nobody may use it
        numbering, frontier = partition.numbering, message.frontier
        alone = numbering.n_partitions == 1
        threads = n_threads()
        if not alone:
            self._enter(partition, lease, frontier)
        if message.direction is Direction.TOP_DOWN:
            if message.summary.scout_count < self.serial_arcs:
                threads = 1
            queue, size = self._own_rows(partition, lease, frontier, threads)
            ids = lease.spare_queue(queue)
            awake_count, scout_count, examined = cpu.top_down(
                partition.out.indptr,
                partition.out.indices,
                numbering.vertex[partition.rows],
                numbering.mean_degree,
                lease.parent,
                lease.visited,
                queue,
                size,
                ids,
                threads,
            )
            found = Frontier(awake_count, ids=ids)
            if not alone:
                mine = ids[:awake_count]
                remote = (mine < partition.first) | (mine >= partition.rows.stop)
                lease.claims.append(mine[remote])
        else:
            bitmap = self._bitmap(lease, frontier, alone, threads)
            words = lease.spare_bitmap(bitmap)[: partition.n_padded // 64]
            awake_count, scout_count, examined = cpu.bottom_up(
                partition.into.indptr,
                partition.into.indices,
                partition.into.hub,
                partition.hub_vertex,
                numbering.vertex,
                numbering.mean_degree[partition.words],
                partition.into.n_long_rows,
                lease.parent[partition.rows],
                lease.visited[partition.words],
                bitmap,
                words,
                threads,
            )
            found = Frontier(awake_count, words=lease.spare_bitmap(bitmap) if alone else words)
        lease.next_level = message.level + 1
        record = LevelRecord(
            level=message.level,
            direction=message.direction,
            device=Device.CPU,
            partition=partition.number,
            worker=lease.worker,
            frontier_vertices=frontier.size,
            edges_examined=examined,
            kernel_seconds=time.perf_counter() - start,
            exchanged_bytes=0 if alone else frontier.nbytes,
        )
        return Reply(found, scout_count, (record,), None if alone else partition)

    def _enter(self, partition: Partition, lease: Lease, frontier: Frontier) -> None:
        """Take a merged frontier in: what others found is visited here too."""
        if frontier.words is None:
            ids = owned(frontier.ids)
            enter_ids(ids, partition.first, partition.n_padded, lease.visited, lease.parent)
            return
        words = owned(frontier.words)
        mine = partition.words
        enter(words[mine], lease.visited[mine], lease.parent[partition.rows])
        np.bitwise_or(lease.visited, words, out=lease.visited)

    def _own_rows(
        self, partition: Partition, lease: Lease, frontier: Frontier, threads: int
    ) -> tuple[np.ndarray, int]:
        """The frontier's rows in this partition, as a queue."""
        if partition.numbering.n_partitions == 1:
            if frontier.ids is None:
                frontier.ids = lease.queues[0]
                cpu.bitmap_to_queue(frontier.words, frontier.ids, threads)
            return frontier.ids, frontier.size
        queue = lease.queues[0]
        if frontier.words is None:
            ids = owned(frontier.ids)
            mine = ids[(ids >= partition.first) & (ids < partition.rows.stop)]
            queue[: mine.size] = mine - np.uint32(partition.first)
            return queue, mine.size
        mine = owned(frontier.words)[partition.words]
        return queue, cpu.bitmap_to_queue(mine, queue, threads)

    def _bitmap(self, lease: Lease, frontier: Frontier, alone: bool, threads: int) -> np.ndarray:
        """The frontier as a bitmap over all vertices, in an array that kernels know."""
        if frontier.words is not None:
            if alone:
                return frontier.words
            lease.bitmaps[0][:] = frontier.words
        else:
            ids = owned(frontier.ids)
            cpu.queue_to_bitmap(ids, frontier.size, lease.bitmaps[0], threads)
            if alone:
                frontier.words = lease.bitmaps[0]
        return lease.bitmaps[0]

    def message(self, numbering: Numbering, replies: Sequence[Reply]) -> Reply:
        """One reply for a worker's partitions; alone, a partition speaks for itself."""
        if numbering.n_partitions == 1:
            return replies[0]
        found = _merged(numbering, replies)
        records = tuple(record for reply in replies for record in reply.records)
        return Reply(found, 0.0, records)

    def reduce(self, numbering: Numbering, message: Message, replies: Sequence[Reply]) -> Message:
        """Merge what all workers found, count it, and choose the direction."""
        start = time.perf_counter()
        alone = numbering.n_partitions == 1
        if alone:
            (reply,) = replies
            found, scout_count = reply.found, reply.scout_count
        else:
            found = _merged(numbering, replies)
            scout_count = _scout_count(numbering, found)
        summary = message.summary.after(message.direction, found.size, scout_count)
        fresh = tuple(record for reply in replies for record in reply.records)
        slowest = max(record.kernel_seconds for record in fresh)
        now = time.perf_counter()
        phases = message.phases.plus(compute=slowest, gather=now - start)
        if message.gathered_at is not None and not alone:
            exchange = max(0.0, start - message.gathered_at - slowest)
            top_down = message.direction is Direction.TOP_DOWN
            phases = phases.plus(**{"push" if top_down else "pull": exchange})
        return self._decide(
            message.level + 1,
            found,
            message.direction,
            summary,
            message.wanted,
            message.records + fresh,
            phases,
            now,
        )

    def done(self, message: Message) -> bool:
        """Whether the frontier is empty, or a limit or all targets are reached."""
        return isinstance(message, LastMessage)

    def close(self, partition: Partition, lease: Lease, message: Message) -> None:
        """Visit what others found last; forget what never was a parent."""
        if lease.next_level != message.level:
            raise StaleLease(f"a lease for level {lease.next_level} met the end at {message.level}")
        if partition.numbering.n_partitions > 1:
            self._enter(partition, lease, message.frontier)
        mine = lease.parent[partition.rows]
        forget_unvisited(mine, lease.visited[partition.words], n_threads())

    def owed(self, lease: Lease) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of other partitions, and the parents that were found for them here."""
        ids = np.concatenate([np.empty(0, np.uint32), *lease.claims])
        return ids, lease.parent[ids]

    def settle(
        self,
        partition: Partition,
        lease: Lease,
        owed: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> Part:
        """Parents of own rows; where no own step found one, another partition's did."""
        if partition.numbering.n_partitions == 1:
            return Part(partition.first, lease.parent)
        parent = lease.parent[partition.rows].copy()
        for ids, found in owed:
            adopt(owned(ids), owned(found), np.uint32(partition.first), parent)
        row = first_orphan(lease.visited[partition.words], parent, partition.n_rows)
        if row >= 0:
            raise RuntimeError(f"row {row} of partition {partition.number} was visited by nobody")
        return Part(partition.first, parent)


def _merged(numbering: Numbering, replies: Sequence[Reply]) -> Frontier:
    """The union of what was found, without duplicates, as a list or a bitmap."""
    lists, dense = [], []
    for reply in replies:
        found, where = reply.found, reply.partition
        if found.words is None:
            lists.append(owned(found.ids)[: found.size])
        elif where is not None and 4 * found.size <= 8 * numbering.n_words:
            ids = np.empty(found.size, np.uint32)
            list_bits(found.words, where.first, ids)
            lists.append(ids)
        else:
            dense.append((where, found.words))
    if not dense and 4 * sum(ids.size for ids in lists) <= 8 * numbering.n_words:
        ids = np.unique(np.concatenate(lists)) if len(lists) > 1 else lists[0].copy()
        return Frontier(ids.size, ids=ids)
    words = np.zeros(numbering.n_words, np.uint64)
    for where, found_words in dense:
        into = words if where is None else words[where.words]
        np.bitwise_or(into, found_words, out=into)
    for ids in lists:
        mark(words, ids)
    size, _ = weigh(words, numbering.mean_degree)
    return Frontier(size, words=words).smaller(numbering.n_words)


def _scout_count(numbering: Numbering, found: Frontier) -> float:
    """About how many arcs leave the vertices found."""
    if found.words is None:
        return float(numbering.mean_degree[owned(found.ids)[: found.size] >> 6].sum())
    return weigh(owned(found.words), numbering.mean_degree)[1]
