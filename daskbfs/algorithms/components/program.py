"""Connected components as a program: three supersteps, whatever the graph.

``HOOK`` hooks every row to its first neighbour. ``SAMPLE`` links the roots that are left to some
neighbours, and finds out which tree most rows are in. ``LINK`` looks at all arcs of rows outside
it. An arc is left out only where both its ends are known to be connected with the root of one tree,
so all partitions have to skip the same one: the message says which. The method is explained in
:mod:`daskbfs.kernels.cpu.components`.

Partitions in one memory work on one forest. Others have copies of their own: they put their rows
together after ``HOOK``, each adds what its arcs say, and what they pass on then is only the roots
that they hooked, in pairs with what is above them. On devices, too, forests are copies.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from daskbfs import config
from daskbfs.algorithms.components.forest import Pairs, join_pairs, most_frequent
from daskbfs.cluster.segment import Column
from daskbfs.cluster.threads import Share
from daskbfs.engine.exchange.shared_memory import Columns, MeetingPlace
from daskbfs.engine.program import KernelNeeds, Part, SharedColumns
from daskbfs.engine.state import LevelState
from daskbfs.engine.superstep import run_in_place
from daskbfs.engine.warmup import partitions_on, tiny_graph
from daskbfs.graph.csr import Rows
from daskbfs.graph.graph import Outline
from daskbfs.kernels.cpu import components as cpu_kernels
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE as NO_VERTEX
from daskbfs.names import Device
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.levels import LevelTable, Work

HOOK, SAMPLE, LINK, END = range(4)
_ALL_NEIGHBOURS = 2**32
NONE = int(NO_VERTEX)


@dataclass(frozen=True, slots=True)
class ForestMessage:
    """What starts a superstep."""

    level: int
    label: np.ndarray | None = None
    """By global id, what is above, where partitions have no memory in common."""
    skipped: int = NONE
    """The root of the tree whose rows need not be looked at."""
    hooked: Pairs | None = None
    """Roots that some partition hooked in a forest of its own, and their roots now."""


@dataclass(frozen=True, slots=True)
class ForestReply:
    """What some partitions of a worker pass on."""

    labels: tuple[tuple[int, np.ndarray], ...] = ()
    """With the first global id of each."""
    frequent: tuple[tuple[int, float], ...] = ()
    """The root of a partition's most frequent tree, and about how many of its rows are in it."""
    hooked: tuple[Pairs, ...] = ()


class ForestState(LevelState):
    """What an attempt writes to on one partition."""

    __slots__ = ("before", "label", "shared")

    def __init__(self, partition: Partition, columns: SharedColumns | None) -> None:
        super().__init__()
        memory = partition.memory
        self.shared = None if columns is None else columns["label"]
        """The forest of all, where partitions have memory in common."""
        self.before: Any = None
        """A forest of its own as it was when it was the same for all; None where it is that of all.
        """
        in_place = self.shared is not None and memory.device is Device.CPU
        n_global = partition.numbering.n_global
        self.label: Any = self.shared if in_place else memory.take(n_global, np.uint32)

    @property
    def in_place(self) -> bool:
        """Whether this partition works on the forest of all."""
        return self.label is self.shared

    @property
    def nbytes(self) -> int:
        """What is not shared."""
        before = 0 if self.before is None else self.before.nbytes
        return before + (0 if self.in_place else int(self.label.nbytes))


@dataclass(frozen=True, slots=True)
class Components:
    """Trees that become components; vertices are global ids."""

    algorithm: ClassVar[str] = "components"
    subject: ClassVar[str] = ""

    @property
    def variant(self) -> str:
        """Its name: there is one way."""
        return "components"

    def warm_kernels(self, needs: KernelNeeds) -> None:
        """Load the kernels: the same where the forest is shared."""
        warm_kernels(needs.indptr_dtype, needs.device, needs.n_partitions > 1)

    def touch_memory(self, partitions: Sequence[Partition]) -> None:
        """Nothing: a run writes to its memory three times."""

    def first_message(self, numbering: Numbering) -> ForestMessage:
        """Nothing is known."""
        return ForestMessage(HOOK)

    def share(self, numbering: Numbering) -> Columns:
        """One forest, which is the result."""
        return Columns((), (Column("label", numbering.n_global, np.uint32),))

    def open_state(self, partition: Partition, columns: SharedColumns | None = None) -> ForestState:
        """Memory for a forest, where the partition lives."""
        if partition.numbering.mirrored:
            raise ValueError(
                "strategy 'mirror' has every row twice, and components are found from one of them: "
                "distribute the graph with another strategy"
            )
        return ForestState(partition, columns)

    def compute(
        self, partition: Partition, state: ForestState, message: ForestMessage
    ) -> tuple[ForestReply, Work]:
        """One superstep."""
        numbering = partition.numbering
        step = (_hook, _sample, _link)[message.level]
        reply, examined = step(partition, state, message)
        sent = 0 if message.label is None else message.label.nbytes
        return reply, Work(numbering.n_rows, examined, numbering.n_arcs, sent)

    def prepares(self, message: ForestMessage) -> bool:
        """Nothing is to be prepared."""
        return False

    def prepare(self, partition: Partition, state: ForestState, message: ForestMessage) -> None:
        """Nothing."""

    def compute_together(
        self,
        partition: Partition,
        state: ForestState,
        message: ForestMessage,
        meeting: MeetingPlace,
    ) -> None:
        """Three supersteps are too few to gain from a common call."""

    def to_numbers(self, reply: ForestReply) -> tuple[float, float]:
        """The most frequent tree, and about how many rows it has."""
        return reply.frequent[0] if reply.frequent else (0, 0)

    def from_numbers(self, numbers: Sequence[float], message: ForestMessage) -> ForestReply:
        """The same reply: labels are in place."""
        return ForestReply(frequent=((int(numbers[0]), numbers[1]),))

    def combine(self, numbering: Numbering, replies: Sequence[ForestReply]) -> ForestReply:
        """One reply for a worker's partitions."""
        return ForestReply(
            tuple(piece for reply in replies for piece in reply.labels),
            tuple(found for reply in replies for found in reply.frequent),
            tuple(pairs for reply in replies for pairs in reply.hooked),
        )

    def reduce(
        self, numbering: Numbering, message: ForestMessage, replies: Sequence[ForestReply]
    ) -> ForestMessage:
        """Put forests together; or choose the tree whose rows all partitions skip."""
        everything = self.combine(numbering, replies)
        following = message.level + 1
        if message.level == HOOK and everything.labels:
            label = np.empty(numbering.n_global, np.uint32)
            for first, some in everything.labels:
                label[first : first + some.size] = some
            cpu_kernels.compress_rows(0, label.size, label, n_threads())
            return ForestMessage(following, label)
        if message.level == SAMPLE:
            return ForestMessage(following, skipped=most_frequent(everything.frequent))
        hooked = join_pairs(everything.hooked) if everything.hooked else None
        return ForestMessage(following, hooked=hooked)

    def is_done(self, message: ForestMessage) -> bool:
        """Whether all arcs that matter were looked at."""
        return message.level == END

    def close(self, partition: Partition, state: ForestState, message: ForestMessage) -> None:
        """Take in what others hooked."""
        if message.hooked is not None:
            ids, roots = (partition.memory.put(column) for column in message.hooked)
            state.label[ids] = roots

    def collect_owed(self, partition: Partition, state: ForestState) -> tuple[()]:
        """Nothing: what others must know went with the messages."""
        return ()

    def settle(self, partition: Partition, state: ForestState, owed: Sequence[tuple[()]]) -> Part:
        """The roots of own rows."""
        mine, memory = partition.rows, partition.memory
        if state.shared is None:
            kernels = memory.kernels("components")
            kernels.compress_rows(mine.start, partition.n_padded, state.label, n_threads())
            return Part(partition.first, memory.get(state.label[mine]))
        label = state.shared
        cpu_kernels.compress_rows(mine.start, partition.n_padded, label, n_threads())
        return Part(partition.first, label[mine])

    def count_edges(self, graph: Outline, numbering: Numbering, levels: LevelTable) -> int:
        """All edges, once, although most need not be looked at."""
        return numbering.n_arcs if graph.directed else numbering.n_arcs // 2


def _sides(partition: Partition) -> list[Rows]:
    """Rows with the arcs out of a partition and, where these are others, into it."""
    directed = partition.into is not partition.out
    return [partition.out, partition.into] if directed else [partition.out]


def _is_streamed(partition: Partition, side: Rows) -> bool:
    """Whether arcs do not fit the device that works on them."""
    return partition.memory.device is not Device.CPU and side.indices.streamed


def _hook(
    partition: Partition, state: ForestState, message: ForestMessage
) -> tuple[ForestReply, int]:
    """Hook every row to its first neighbour."""
    memory = partition.memory
    memory.kernels("components").hook_rows(
        partition.out.hub, partition.into.hub, partition.first, state.label, n_threads()
    )
    examined = len(_sides(partition)) * partition.n_rows
    if partition.numbering.n_partitions == 1 or state.in_place:
        return ForestReply(), examined
    mine = memory.get(state.label[partition.rows])
    if state.shared is None:
        return ForestReply(((partition.first, mine),)), examined
    state.shared[partition.rows] = mine
    return ForestReply(), examined


def _sample(
    partition: Partition, state: ForestState, message: ForestMessage
) -> tuple[ForestReply, int]:
    """Link the roots that are left to some neighbours, and find the most frequent tree."""
    whole = message.label
    if state.shared is not None and not state.in_place:
        whole = state.shared.copy()  # others go on with theirs
    if whole is not None:
        state.before = partition.memory.put(whole)
        state.label[:] = state.before
    _compress(partition, state)
    frequent, _ = _sample_rows(partition, state)  # one neighbour in there is enough
    few = config.get("components.root-neighbours")
    examined = sum(
        _link_rows(partition, state, side, side.hub, few, frequent)
        for side in _sides(partition)
        if not _is_streamed(partition, side)  # it is not worth to bring all arcs
    )
    _compress(partition, state)
    return ForestReply(frequent=(_sample_rows(partition, state),)), examined


def _link(
    partition: Partition, state: ForestState, message: ForestMessage
) -> tuple[ForestReply, int]:
    """Link all rows but those of the tree that is skipped; tell which roots that hooked."""
    examined = sum(
        _link_rows(partition, state, side, side.hub[:0], _ALL_NEIGHBOURS, message.skipped)
        for side in _sides(partition)
    )
    if state.before is None:
        return ForestReply(), examined
    memory, label, before = partition.memory, state.label, state.before
    changed = (label != before).nonzero()[0]
    changed = changed[before[changed] == changed]
    pairs = memory.get(changed.astype(np.uint32)), memory.get(label[changed])
    if state.shared is None:
        return ForestReply(hooked=(pairs,)), examined
    cpu_kernels.link_pairs(*pairs, state.shared)
    return ForestReply(), examined


def _compress(partition: Partition, state: ForestState) -> None:
    """Put roots directly above own rows."""
    partition.memory.kernels("components").compress_rows(
        partition.first, partition.n_rows, state.label, n_threads()
    )


def _link_rows(
    partition: Partition, state: ForestState, side: Rows, hub: Any, most: int, skipped: int
) -> int:
    """Link own rows to some of their neighbours; returns how many arcs that were."""
    n_examined = partition.memory.kernels("components").link_rows(
        side.indptr, side.indices, hub, partition.first, most, skipped, state.label, n_threads()
    )
    return int(n_examined)


def _sample_rows(partition: Partition, state: ForestState) -> tuple[int, float]:
    """The root of the most frequent tree of own rows, and about how many rows it has."""
    n_rows = partition.n_rows
    if n_rows == 0:
        return NONE, 0.0
    n_sampled = config.get("components.sampled-rows")
    ids = partition.first + np.linspace(0, n_rows - 1, n_sampled).astype(np.int64)
    roots = partition.memory.get(state.label[partition.memory.put(ids)])
    values, counts = np.unique(roots, return_counts=True)
    most = counts.argmax()
    return int(values[most]), n_rows * float(counts[most]) / n_sampled


@functools.cache
def warm_kernels(indptr_dtype: str, device: Device, several: bool) -> None:
    """Load or compile the kernels of a run, once per process."""
    partitions = partitions_on(tiny_graph(indptr_dtype), 2 if several else 1, device)
    run_in_place(Components(), partitions, Share())
    if several:
        pairs = np.zeros(1, np.uint32)
        cpu_kernels.link_pairs(pairs, pairs, np.zeros(1, np.uint32))
