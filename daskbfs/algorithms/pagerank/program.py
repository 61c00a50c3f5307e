"""PageRank as a program: every superstep is one iteration, in which all rows pull.

What travels is one number for each vertex, its rank over its out-degree, however many arcs leave it
for other partitions: messages are aggregated before they are sent. The first superstep only says
what vertices pass on to begin with. Vertices without arcs at all are in no partition: each has its
share of what comes from nowhere, so one number stands for all of them.
Method: Page et al. (1999), by supersteps as in Gharaibeh et al. (On Graphs, GPUs, and Blind
Dating).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daskbfs.cluster.segment import Column
from daskbfs.cluster.threads import Share
from daskbfs.engine.exchange.shared_memory import Columns, MeetingPlace
from daskbfs.engine.program import KernelNeeds, Part, SharedColumns
from daskbfs.engine.state import LevelState
from daskbfs.engine.superstep import run_in_place
from daskbfs.engine.warmup import partitions_on, tiny_graph
from daskbfs.graph.graph import Outline
from daskbfs.kernels.threads import n_threads
from daskbfs.names import Device
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.levels import LevelTable, Work

_ROUGH = 1e-6  # of all ranks together, which are 1


@dataclass(frozen=True, slots=True)
class RankMessage:
    """What starts an iteration."""

    level: int
    contribution: np.ndarray | None
    """By global id; None where it stays in the state of the only partition, or before the first."""
    inflow: float
    """What all vertices get together that comes along no arc."""
    inflow_before: float
    changed: float
    """How much the ranks of all vertices changed in the last iteration, together."""


class LastRankMessage(RankMessage):
    """The message after the last iteration: its type tells."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class RankReply:
    """What some partitions of a worker pass on."""

    contributions: tuple[tuple[int, np.ndarray], ...]
    """With the first global id of each."""
    changed: float
    dangling: float
    """Rank of rows without arcs out of them."""


@dataclass(frozen=True, slots=True)
class RankPart(Part):
    """The ranks of a partition's rows, and how the iterations ended."""

    iterations: int
    inflow: float
    changed: float


class RankState(LevelState):
    """What an attempt writes to on one partition."""

    __slots__ = (
        "contribution", "last", "out_degree", "passed_on", "rank", "share", "shared",
    )  # fmt: skip

    def __init__(
        self,
        partition: Partition,
        share: np.ndarray,
        dtype: type,
        columns: SharedColumns | None = None,
    ) -> None:
        super().__init__()
        memory, n, indptr = partition.memory, partition.n_padded, partition.out.indptr
        alone = partition.numbering.n_partitions == 1
        self.share = memory.put(share)
        self.rank = memory.take(n, np.float64)
        self.shared: list[np.ndarray] = []
        """What all partitions pass on, in this iteration and in the next, where they share it."""
        if columns is not None:
            self.shared = [columns["contribution-0"], columns["contribution-1"]]
        self.contribution = memory.take(n if alone else 0, dtype)
        self.passed_on = memory.take(n, dtype)
        self.out_degree = (indptr[1:] - indptr[:-1]).astype(np.uint32, copy=False)
        self.last: RankMessage | None = None

    @property
    def nbytes(self) -> int:
        """Its memory."""
        arrays = (self.share, self.rank, self.contribution, self.passed_on, self.out_degree)
        return sum(array.nbytes for array in arrays)


@dataclass(frozen=True, slots=True)
class PageRank:
    """Ranks by iteration; vertices are global ids."""

    algorithm: ClassVar[str] = "pagerank"
    subject: ClassVar[str] = ""

    damping: float
    n_vertices: int
    """Isolated ones included."""
    isolated_share: float
    """The part of ``inflow`` that vertices without arcs have together."""
    limit: float | None
    """Enough iterations were made when ranks change less than this, together; None: never."""
    most_iterations: int
    ids: np.ndarray | None = None
    """Where vertices differ in their share: those that have any, and how much."""
    weights: np.ndarray | None = None

    @property
    def dtype(self) -> type:
        """Of contributions: float32 would never settle below a limit near its own errors."""
        return np.float64 if self.limit is not None and self.limit < _ROUGH else np.float32

    @property
    def variant(self) -> str:
        """Its name, the type of contributions, and whether all vertices have the same share."""
        shares = "equal" if self.ids is None else "personal"
        return f"pagerank-{np.dtype(self.dtype)}-{shares}"

    def warm_kernels(self, needs: KernelNeeds) -> None:
        """Load the kernels of an iteration: the same where contributions are shared."""
        warm_kernels(needs.indptr_dtype, needs.device, self.dtype, self.ids is None)

    def touch_memory(self, partitions: Sequence[Partition]) -> None:
        """Nothing: iterations write to the same arrays again and again."""

    def first_message(self, numbering: Numbering) -> RankMessage:
        """Ranks are shares to begin with."""
        return RankMessage(0, None, 1.0, 1.0, math.inf)

    def share(self, numbering: Numbering) -> Columns:
        """What all vertices pass on: one array to read, one to write."""
        names = ("contribution-0", "contribution-1")
        return Columns(tuple(Column(name, numbering.n_global, self.dtype) for name in names))

    def open_state(self, partition: Partition, columns: SharedColumns | None = None) -> RankState:
        """Room for ranks, in the partition's memory."""
        if partition.numbering.mirrored:
            raise ValueError(
                "strategy 'mirror' has every row twice, which PageRank would count twice: "
                "distribute the graph with another strategy"
            )
        n_rows = partition.n_rows
        share = np.array([1 / self.n_vertices])
        if self.ids is not None and self.weights is not None:
            mine = (self.ids >= partition.first) & (self.ids < partition.first + n_rows)
            share = np.zeros(max(2, n_rows))  # one entry alone would stand for all rows
            share[self.ids[mine] - partition.first] = self.weights[mine]
        return RankState(partition, share, self.dtype, columns)

    def compute(
        self, partition: Partition, state: RankState, message: RankMessage
    ) -> tuple[RankReply, Work]:
        """One iteration."""
        numbering, sent = partition.numbering, message.contribution
        if state.shared and message.level:
            sent = state.shared[0]
        if message.level == 0:
            changed, dangling = 0.0, self._begin(partition, state)
        else:
            changed, dangling = self._pull(partition, state, message.inflow, sent)
        found: tuple[tuple[int, np.ndarray], ...] = ()
        if numbering.n_partitions == 1:
            state.contribution, state.passed_on = state.passed_on, state.contribution
        elif state.shared:
            np.copyto(state.shared[1][partition.rows], partition.memory.get(state.passed_on))
            state.shared.reverse()
        else:
            found = ((partition.first, partition.memory.get(state.passed_on)),)
        work = Work(
            frontier_vertices=numbering.n_rows,
            edges_examined=partition.into.n_arcs if message.level else 0,
            scout_count=numbering.n_arcs,
            exchanged_bytes=0 if sent is None or state.shared else sent.nbytes,
        )
        return RankReply(found, changed, dangling), work

    def _begin(self, partition: Partition, state: RankState) -> float:
        """What rows pass on to begin with; returns the rank of those that pass on nothing."""
        for padded in (state.passed_on, state.contribution):
            padded[partition.n_rows :] = 0
        dangling: float = partition.memory.kernels("pagerank").begin_ranks(
            state.out_degree, state.share, state.rank, state.passed_on
        )
        return dangling

    def _pull(
        self, partition: Partition, state: RankState, inflow: float, sent: np.ndarray | None
    ) -> tuple[float, float]:
        memory = partition.memory
        contribution = state.contribution if sent is None else memory.put(sent)
        changed, dangling = memory.kernels("pagerank").pull_ranks(
            partition.into.indptr,
            partition.into.indices,
            state.out_degree,
            contribution,
            self.damping,
            inflow,
            state.share,
            state.rank,
            state.passed_on,
            n_threads(),
        )
        return changed, dangling

    def prepares(self, message: RankMessage) -> bool:
        """Nothing is to be prepared."""
        return False

    def prepare(self, partition: Partition, state: RankState, message: RankMessage) -> None:
        """Nothing."""

    def compute_together(
        self, partition: Partition, state: RankState, message: RankMessage, meeting: MeetingPlace
    ) -> None:
        """Iterations take too long to gain from a common call."""

    def to_numbers(self, reply: RankReply) -> tuple[float, float]:
        """How much ranks have changed, and the rank of rows without arcs."""
        return reply.changed, reply.dangling

    def from_numbers(self, numbers: Sequence[float], message: RankMessage) -> RankReply:
        """The same reply: what is passed on is in place."""
        return RankReply((), numbers[0], numbers[1])

    def combine(self, numbering: Numbering, replies: Sequence[RankReply]) -> RankReply:
        """One reply for a worker's partitions."""
        return RankReply(
            tuple(piece for reply in replies for piece in reply.contributions),
            sum(reply.changed for reply in replies),
            sum(reply.dangling for reply in replies),
        )

    def reduce(
        self, numbering: Numbering, message: RankMessage, replies: Sequence[RankReply]
    ) -> RankMessage:
        """Put together what all pass on, and see how much has changed."""
        contribution: np.ndarray | None = None
        if numbering.n_partitions > 1 and replies[0].contributions:
            contribution = np.empty(numbering.n_global, self.dtype)
            for reply in replies:
                for first, some in reply.contributions:
                    contribution[first : first + some.size] = some
        isolated = message.inflow * self.isolated_share
        lost = sum(reply.dangling for reply in replies) + isolated
        changed = math.inf
        if message.level:
            moved = abs(message.inflow - message.inflow_before) * self.isolated_share
            changed = sum(reply.changed for reply in replies) + moved
        enough = self.limit is not None and changed < self.limit
        kind = LastRankMessage if enough or message.level == self.most_iterations else RankMessage
        inflow = 1 - self.damping + self.damping * lost
        return kind(message.level + 1, contribution, inflow, message.inflow, changed)

    def is_done(self, message: RankMessage) -> bool:
        """Whether enough iterations were made."""
        return isinstance(message, LastRankMessage)

    def close(self, partition: Partition, state: RankState, message: RankMessage) -> None:
        """Remember how it ended."""
        state.last = message

    def collect_owed(self, partition: Partition, state: RankState) -> tuple[()]:
        """Nothing: ranks are computed where they belong."""
        return ()

    def settle(self, partition: Partition, state: RankState, owed: Sequence[tuple[()]]) -> RankPart:
        """The ranks of own rows."""
        assert state.last is not None
        last, rank = state.last, partition.memory.get(state.rank)
        return RankPart(partition.first, rank, last.level - 1, last.inflow_before, last.changed)

    def count_edges(self, graph: Outline, numbering: Numbering, levels: LevelTable) -> int:
        """All edges, once for each iteration: the first superstep only begins."""
        n_edges = numbering.n_arcs if graph.directed else numbering.n_arcs // 2
        return n_edges * max(0, levels.n_levels - 1)


@functools.cache
def warm_kernels(indptr_dtype: str, device: Device, dtype: type, equal_shares: bool) -> None:
    """Load or compile the kernels of an iteration, once per process."""
    partitions = partitions_on(tiny_graph(indptr_dtype), 1, device)
    limit = _ROUGH / 2 if dtype is np.float64 else None
    ids, weights = (None, None) if equal_shares else (np.array([0]), np.array([1.0]))
    run_in_place(PageRank(0.85, 8, 0.0, limit, 1, ids, weights), partitions, Share())
