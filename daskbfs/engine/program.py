"""What a superstep does for one algorithm; drivers know nothing else of it.

A program is a small, frozen, picklable value. One superstep is ``compute`` on every partition,
``message`` for what one worker's partitions have to say together, and ``reduce`` of all that was
said to the message that starts the next superstep, until ``done``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import Partition


class Program(Protocol):
    """An algorithm over partitions, as :mod:`daskbfs.algorithms` has some."""

    def warm(self, indptr_dtype: str, n_partitions: int, partitions: Sequence[Partition]) -> None:
        """Load kernels and touch memory, on a worker that holds some of the partitions."""

    def first(self, numbering: Numbering) -> Any:
        """The message that starts the first superstep."""

    def open(self, partition: Partition, worker: str | None) -> Any:
        """A state, which has ``nbytes``: the state of one attempt on one partition."""

    def compute(self, partition: Partition, state: Any, message: Any) -> Any:
        """One superstep on one partition; returns its reply."""

    def message(self, numbering: Numbering, replies: Sequence[Any]) -> Any:
        """What one worker's replies come to, made to travel, with the ``records`` of each."""

    def reduce(self, numbering: Numbering, message: Any, replies: Sequence[Any]) -> Any:
        """The gather: all replies to the next message."""

    def done(self, message: Any) -> bool:
        """Whether no superstep follows."""

    def close(self, partition: Partition, state: Any, message: Any) -> None:
        """Take the last message in, before values are exchanged."""

    def owed(self, partition: Partition, state: Any) -> Any:
        """What this partition found out about rows of others."""

    def settle(self, partition: Partition, state: Any, owed: Sequence[Any]) -> Any:
        """The partition's part of the result, with what others found out; it has ``nbytes``."""


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
