"""What a superstep does for one algorithm; the engine knows nothing else of it.

A program is a small, frozen, picklable value. One superstep is ``compute`` on every partition,
``combine`` of what one worker's partitions reply, and ``reduce`` of all workers' replies to the
message that starts the next superstep, until ``is_done``. The engine measures and records each
superstep; the program adds what only it can know (:class:`Work`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from daskbfs.engine.exchange.shared_memory import Columns, MeetingPlace
from daskbfs.engine.state import LevelState
from daskbfs.graph.graph import Outline
from daskbfs.names import Device
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition
from daskbfs.telemetry.levels import LevelTable, SpanWork, Work

SharedColumns = Mapping[str, np.ndarray]
"""Arrays that the partitions of a run share, by name."""


class Message(Protocol):
    """What starts a superstep; the rest of it is the program's."""

    @property
    def level(self) -> int:
        """The level that it starts, from 0 on."""


class KernelNeeds(NamedTuple):
    """What decides which kernels of a program a process needs."""

    indptr_dtype: str
    n_partitions: int
    device: Device
    """Of the partitions that the process holds."""
    mirrors: bool = False
    """Whether some of these mirror others."""
    shared: bool = False
    """Whether workers share memory."""

    @classmethod
    def of(cls, partitions: Sequence[Partition], *, shared: bool = False) -> KernelNeeds:
        """What a process needs for the partitions that it holds."""
        first = partitions[0]
        dtype, device = str(first.out.indptr.dtype), first.memory.device
        mirrors = any(partition.mirror for partition in partitions)
        return cls(dtype, first.numbering.n_partitions, device, mirrors, shared)


class Program(Protocol):
    """An algorithm over partitions, as :mod:`daskbfs.algorithms` has some."""

    algorithm: ClassVar[str]
    """Its name: of its kernels too, and in what the dashboard shows."""

    @property
    def variant(self) -> str:
        """What decides which kernels it runs, its name included."""

    @property
    def subject(self) -> str:
        """What it is run on or from, in a few words; empty where that is the whole graph."""

    def warm_kernels(self, needs: KernelNeeds) -> None:
        """Load kernels, in a process that holds some of the partitions."""

    def touch_memory(self, partitions: Sequence[Partition]) -> None:
        """Have the memory of a run in place before the first begins, where it is not shared."""

    def first_message(self, numbering: Numbering) -> Any:
        """The message that starts the first superstep."""

    def share(self, numbering: Numbering) -> Columns:
        """What a run's partitions share where they are on one host."""

    def open_state(self, partition: Partition, columns: SharedColumns | None = None) -> LevelState:
        """The state of one attempt on one partition, with what it shares with others."""

    def prepares(self, message: Any) -> bool:
        """Whether shared columns must be brought to another form before a superstep."""

    def prepare(self, partition: Partition, state: Any, message: Any) -> None:
        """Do a partition's part of that; all are done before any computes."""

    def compute(
        self, partition: Partition, state: Any, message: Any
    ) -> tuple[Any, Work | SpanWork]:
        """One superstep on one partition: its reply, and what it had to do for it.

        A superstep is one level, or where a partition is alone as many as one call can run.
        """

    def compute_together(
        self, partition: Partition, state: Any, message: Any, meeting: MeetingPlace
    ) -> tuple[Any, Sequence[SpanWork]] | None:
        """Several levels of a worker's only partition, which meets the others in its kernel.

        Returns what all partitions reply together, and what each had to do; None: one by one.
        """

    def to_numbers(self, reply: Any) -> Sequence[float]:
        """A reply whose arrays are shared, in three numbers at most."""

    def from_numbers(self, numbers: Sequence[float], message: Any) -> Any:
        """The reply to a message that had such numbers."""

    def combine(self, numbering: Numbering, replies: Sequence[Any]) -> Any:
        """What one worker's replies come to, made to travel."""

    def reduce(self, numbering: Numbering, message: Any, replies: Sequence[Any]) -> Any:
        """The gather: the replies of all workers to the next message."""

    def is_done(self, message: Any) -> bool:
        """Whether no superstep follows."""

    def close(self, partition: Partition, state: Any, message: Any) -> None:
        """Take the last message in, before values are exchanged."""

    def collect_owed(self, partition: Partition, state: Any) -> Any:
        """What this partition found out about rows of others."""

    def settle(self, partition: Partition, state: Any, owed: Sequence[Any]) -> Part:
        """The partition's part of the result, with what others found out."""

    def count_edges(self, graph: Outline, numbering: Numbering, levels: LevelTable) -> int:
        """Edges that a finished run has traversed, for its rate."""


@dataclass(frozen=True, slots=True)
class Part:
    """A partition's part of a result: a value for each of its rows, and for padding."""

    first: int
    """Global id of row 0."""
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        """Its memory."""
        return self.values.nbytes
