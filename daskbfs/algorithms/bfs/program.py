"""Breadth-first search as a program: direction-optimized, over any number of partitions.

Every partition keeps a bitmap of all visited vertices and takes each merged frontier into it. A
top-down step finds vertices of other partitions too, and keeps their parents to itself until the
end: only visited bits travel during a search. A bottom-up step finds own rows only. Where
accelerators mirror the CPU's partitions, either these search a level or the mirrors do; those
that wait merge the frontier, and mirrors owe what they found to the owners. Where all workers are
on one host, partitions share the search instead (:mod:`daskbfs.algorithms.bfs.shared`).
Method: Sallinen, Gharaibeh, Ripeanu (Accelerating Direction-Optimized BFS on Hybrid Architectures).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daskbfs.algorithms.bfs import shared, steps
from daskbfs.algorithms.bfs.direction import Choice, Implementation, Policy, Summary
from daskbfs.algorithms.bfs.frontier import Frontier, count_arcs, join_found, unite_found
from daskbfs.algorithms.bfs.shared import SharedSearchState
from daskbfs.algorithms.bfs.sliding import (
    begin_exact,
    can_slide,
    count_unreached,
    leave_exact,
    make_exact,
    search_levels,
)
from daskbfs.algorithms.bfs.state import SearchState
from daskbfs.algorithms.bfs.steps import is_alone, search_kernels
from daskbfs.engine.exchange.shared_memory import Columns, MeetingPlace
from daskbfs.engine.program import KernelNeeds, Part, SharedColumns
from daskbfs.graph.graph import Outline
from daskbfs.kernels.frontier import first_orphan
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Direction
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
    wanted: int | None
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
    n_reached: int | None = None
    """Targets that were found; None: those that are in ``found``."""


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

    def warm_kernels(self, needs: KernelNeeds) -> None:
        """Load the kernels of a search."""
        from daskbfs.algorithms.bfs.warmup import warm_kernels, warm_mirror, warm_shared

        warm_kernels(needs.indptr_dtype, needs.n_partitions, needs.device)
        if needs.shared:
            warm_shared(needs.indptr_dtype, needs.device)
        if needs.mirrors:
            warm_mirror(needs.device)

    def touch_memory(self, partitions: Sequence[Partition]) -> None:
        """Touch the memory of one search, and of results."""
        from daskbfs.algorithms.bfs.warmup import touch

        touch(partitions)

    def first_message(self, numbering: Numbering) -> SearchMessage:
        """The source alone is the frontier."""
        frontier = Frontier(1, ids=np.array([self.source], np.uint32), listed=True)
        summary = Summary.at_source(numbering.n_rows, numbering.n_arcs, self.degree)
        wanted = None
        if self.targets is not None:
            wanted = len(self.targets) - self._count_targets([frontier])
        return self._decide(numbering, 0, frontier, Direction.TOP_DOWN, summary, wanted)

    def _count_targets(self, found: Sequence[Frontier]) -> int:
        """How many targets are in what was found."""
        targets = self.targets or ()
        return sum(piece.holds(target) for piece in found for target in targets)

    def _decide(
        self,
        numbering: Numbering,
        level: int,
        frontier: Frontier,
        direction: Direction,
        summary: Summary,
        wanted: int | None,
    ) -> SearchMessage:
        """The message for a level: which way, or not at all."""
        done = not frontier.size or level == self.depth_limit or wanted == 0
        kind = LastSearchMessage if done else SearchMessage
        small = summary.scout_count < self.top_down_below
        if not done and not (small and direction is Direction.TOP_DOWN):
            direction = self.policy(direction, summary)
        implementation = None
        if numbering.mirrored and self.choice is not None:
            implementation = self.choice(direction, summary)
        return kind(level, frontier, direction, summary, wanted, implementation)

    def share(self, numbering: Numbering) -> Columns:
        """One search for all."""
        return shared.share(numbering)

    def open_state(
        self, partition: Partition, columns: SharedColumns | None = None
    ) -> SearchState | SharedSearchState:
        """Only the source and the padding rows are visited."""
        if columns is not None:
            return shared.open_state(partition, columns, self.source)
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

    def prepares(self, message: SearchMessage) -> bool:
        """Whether the frontier is in the queue, and wanted as a bitmap."""
        return message.frontier.listed and message.direction is Direction.BOTTOM_UP

    def prepare(
        self, partition: Partition, state: SharedSearchState, message: SearchMessage
    ) -> None:
        """Make own words of that bitmap."""
        shared.prepare(partition, state, message.frontier)

    def compute_together(
        self,
        partition: Partition,
        state: SharedSearchState,
        message: SearchMessage,
        meeting: MeetingPlace,
    ) -> tuple[SearchReply, Sequence[SpanWork]] | None:
        """Search top-down with all others as long as few arcs leave the frontier."""
        limit, summary = self.depth_limit, message.summary
        most_arcs = self.serial_arcs * partition.numbering.n_partitions
        few = summary.scout_count < min(most_arcs, self.top_down_below)
        if message.direction is not Direction.TOP_DOWN or not message.frontier.listed or not few:
            return None
        if self.targets is not None:  # each level tells how many it found
            return None
        found, scout_count, works = shared.search_together(
            partition,
            state,
            meeting,
            size=message.frontier.size,
            scout_count=summary.scout_count,
            most_levels=None if limit is None else limit - message.level,
            most_arcs=min(most_arcs, self.top_down_below),
        )
        searched = float(works[0].arcs.sum())
        return SearchReply((found,), scout_count, works[0].n_levels, searched), works

    def to_numbers(self, reply: SearchReply) -> tuple[float, float, float]:
        """How many vertices were found, the arcs that leave them, and the targets among them."""
        return sum(found.size for found in reply.found), reply.scout_count, reply.n_reached or 0

    def from_numbers(self, numbers: Sequence[float], message: SearchMessage) -> SearchReply:
        """The same reply: what was found is in place."""
        listed = message.direction is Direction.TOP_DOWN
        found = Frontier(int(numbers[0]), listed=listed)
        return SearchReply((found,), numbers[1], n_reached=int(numbers[2]))

    def compute(
        self,
        partition: Partition,
        state: SearchState | SharedSearchState,
        message: SearchMessage,
    ) -> tuple[SearchReply, Work | SpanWork]:
        """Search one level, or where the partition is alone as many as stay small."""
        if isinstance(state, SharedSearchState):
            return self._compute_shared(partition, state, message)
        frontier = message.frontier
        if message.direction is Direction.TOP_DOWN and can_slide(partition):
            if not state.exact and frontier.words is not None:
                make_exact(state, frontier)
            if state.exact:
                return self._search_levels(partition, state, message)
        if state.exact:
            leave_exact(state)
        here = steps.receive(partition, message.frontier, message.level)
        steps.enter(partition, state, here)
        if _waits(partition, message):
            found, scout_count, examined = None, 0.0, 0
        elif message.direction is Direction.TOP_DOWN:
            few = message.summary.scout_count < self.serial_arcs
            threads = 1 if few else n_threads()
            rows = steps.own_rows(partition, state, frontier, here, threads)
            found, scout_count, examined = steps.top_down(partition, state, *rows, threads)
        else:
            cached = message.implementation is Implementation.BGC
            found, scout_count, examined = steps.bottom_up(
                partition, state, here, n_threads(), cached
            )
        work = Work(
            frontier_vertices=frontier.size,
            edges_examined=examined,
            scout_count=round(message.summary.scout_count),
            exchanged_bytes=0 if is_alone(partition) else frontier.nbytes,
            direction=message.direction,
        )
        return SearchReply(() if found is None else (found,), scout_count), work

    def _compute_shared(
        self, partition: Partition, state: SharedSearchState, message: SearchMessage
    ) -> tuple[SearchReply, Work]:
        """Search one level over memory that all partitions share."""
        summary, top_down = message.summary, message.direction is Direction.TOP_DOWN
        threads = 1 if top_down and summary.scout_count < self.serial_arcs else n_threads()
        n_found, scout_count, examined, n_reached = shared.search_level(
            partition,
            state,
            message.frontier,
            self.targets or (),
            top_down=top_down,
            waits=_waits(partition, message),
            cached=message.implementation is Implementation.BGC,
            threads=threads,
        )
        work = Work(
            frontier_vertices=message.frontier.size,
            edges_examined=examined,
            scout_count=round(summary.scout_count),
            exchanged_bytes=state.copied_bytes,
            direction=message.direction,
        )
        found = Frontier(n_found, listed=top_down)
        return SearchReply((found,), scout_count, n_reached=n_reached), work

    def _search_levels(
        self, partition: Partition, state: SearchState, message: SearchMessage
    ) -> tuple[SearchReply, SpanWork]:
        """Search top-down until many arcs leave the frontier, or the search is over."""
        limit, targets = self.depth_limit, self.targets or ()
        found, scout_count, work = search_levels(
            partition,
            state,
            most_levels=None if limit is None else limit - message.level,
            most_arcs=self.top_down_below,
            serial_arcs=self.serial_arcs,
            targets=targets,
        )
        n_reached = (message.wanted or 0) - count_unreached(state, targets)
        searched = float(work.edges_examined.sum())
        return SearchReply((found,), scout_count, work.n_levels, searched, n_reached), work

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
        elif pieces and pieces[0].shared:
            found = Frontier(sum(piece.size for piece in pieces), listed=pieces[0].listed)
        elif message.direction is Direction.TOP_DOWN:
            found, scout_count = unite_found(numbering, pieces)
        else:
            found = join_found(numbering, pieces)
        if numbering.degree is not None and not found.shared:
            scout_count = count_arcs(numbering, numbering.degree, found)
        first = replies[0]
        level, wanted = message.level + first.n_levels, message.wanted
        if wanted is not None and first.n_reached is None:
            wanted -= self._count_targets([found])
        elif wanted is not None:
            wanted -= sum(reply.n_reached or 0 for reply in replies)
        summary = message.summary.after(
            message.direction, found.size, scout_count, first.searched_arcs
        )
        return self._decide(numbering, level, found, message.direction, summary, wanted)

    def is_done(self, message: SearchMessage) -> bool:
        """Whether the frontier is empty, or a limit or all targets are reached."""
        return isinstance(message, LastSearchMessage)

    def close(
        self, partition: Partition, state: SearchState | SharedSearchState, message: SearchMessage
    ) -> None:
        """Visit what others found last, and forget what never was a parent."""
        if isinstance(state, SharedSearchState) or state.exact:
            return
        steps.enter(partition, state, steps.receive(partition, message.frontier, message.level))
        search_kernels(partition).forget_unvisited(
            state.parent, state.visited[partition.words], n_threads()
        )

    def collect_owed(
        self, partition: Partition, state: SearchState | SharedSearchState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of other partitions, and the parents that were found for them here."""
        if isinstance(state, SharedSearchState):
            nothing = np.empty(0, np.uint32)
            return nothing, nothing
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
        state: SearchState | SharedSearchState,
        owed: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> Part:
        """By row, the parent as a vertex index; where no own step found one, another's did."""
        if isinstance(state, SharedSearchState):
            return Part(partition.first, shared.settle(partition, state))
        if partition.mirror:
            return Part(partition.first, np.empty(0, np.uint32))
        memory, missing, first = partition.memory, state.missing, np.uint32(partition.first)
        adopt = search_kernels(partition).adopt
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


def _waits(partition: Partition, message: SearchMessage) -> bool:
    """Whether this level is for a partition's mirror to search, or for its owner."""
    chosen = message.implementation
    return partition.mirror is not (chosen is not None and chosen.on_mirrors)
