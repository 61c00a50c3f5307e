"""What the scheduler of a cluster gets to know: runs of algorithms, and where graphs lie.

Records travel as words and numbers (``to_wire``), for the dashboard's page and for Prometheus.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import NO_PHASES, LevelTable, Phases, Sum

_LONGEST_TEXT = 500  # characters
_logger = logging.getLogger(__name__)


class State(enum.StrEnum):
    """How a run stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class About(NamedTuple):
    """What is known of a run before it begins; goes with every attempt, so it is small."""

    run: str
    """The attempt's name."""
    client: str
    algorithm: str
    graph: str
    subject: str
    """What of the graph it is about, such as "from 17"; empty where that is all of it."""
    driver: str
    began: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One attempt at a run on a cluster, as the scheduler gets to know it."""

    about: About
    state: State = State.RUNNING
    seconds: float = 0.0
    n_levels: int = 0
    kernel_seconds: float = 0.0
    edges: int = 0
    """That were traversed, for a rate."""
    error: str = ""
    phases: Phases = NO_PHASES
    sums: tuple[Sum, ...] = ()
    packed: bytes = b""
    """The levels; of a run with very many, the first and the last."""

    @property
    def levels(self) -> LevelTable:
        """The levels that are kept; none where they are those of another version."""
        return _unpack(self.packed)

    @property
    def teps(self) -> float | None:
        """Traversed edges per second; None where there are none yet."""
        return self.edges / self.seconds if self.edges and self.seconds else None

    @classmethod
    def done(
        cls,
        about: About,
        levels: LevelTable,
        phases: Phases,
        seconds: float,
        edges: int,
        most_levels: int,
    ) -> RunRecord:
        """The record of a run that is over."""
        figures = (seconds, levels.n_levels, levels.kernel_seconds, edges)
        packed = levels.ends(most_levels).pack()
        return cls(about, State.DONE, *figures, "", phases, levels.totals.sums, packed)

    def as_failed(self, reason: str, seconds: float) -> RunRecord:
        """The record of an attempt that came to nothing."""
        return dataclasses.replace(self, state=State.FAILED, seconds=seconds, error=reason)

    def with_progress(self, seconds: float, levels: LevelTable, most_levels: int) -> RunRecord:
        """The record while it goes on, with levels that came since."""
        table = LevelTable([*self.levels, *levels])
        return dataclasses.replace(
            self,
            seconds=seconds,
            n_levels=max(self.n_levels, levels.n_levels),
            kernel_seconds=self.kernel_seconds + levels.kernel_seconds,
            packed=table.ends(most_levels).pack(),
        )

    def shorten(self, most_levels: int) -> RunRecord:
        """With fewer levels."""
        packed = self.levels.ends(most_levels).pack() if most_levels else b""
        return dataclasses.replace(self, packed=packed)

    def to_wire(self) -> dict[str, Any]:
        """The record in words and numbers, which every comm can send."""
        values = {name: getattr(self, name) for name in _SEARCH_FIELDS}
        values["phases"] = self.phases.to_dict()
        return values

    @classmethod
    def from_wire(cls, values: dict[str, Any]) -> RunRecord:
        """The record that was sent."""
        sums = tuple(
            Sum(Device(device), Direction(direction) if direction else None, *numbers)
            for device, direction, *numbers in values["sums"]
        )
        phases = Phases(**values["phases"])
        about, state = About(*values["about"]), State(values["state"])
        return cls(**values | {"about": about, "state": state, "phases": phases, "sums": sums})


_SEARCH_FIELDS = tuple(field.name for field in dataclasses.fields(RunRecord))


@functools.lru_cache(maxsize=8)
def _unpack(packed: bytes) -> LevelTable:
    """Levels for those who look: a page asks several times for the same."""
    try:
        return LevelTable.unpack(packed) if packed else LevelTable(())
    except Exception:
        _logger.warning("levels that daskbfs was told of cannot be read", exc_info=True)
        return LevelTable(())


def plain_text(value: Any) -> str:
    """A name or a reason as every comm can send it: short, and without halves of characters."""
    return str(value).encode("utf-8", "replace").decode()[:_LONGEST_TEXT]


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """A partition on a cluster."""

    partition: int
    key: Any
    """Of the Dask task that holds it."""
    worker: str
    device: Device
    n_vertices: int
    n_edges: int
    """In its rows, each undirected edge twice."""
    n_bytes: int


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """A graph on a cluster."""

    name: str
    label: str
    """What people call it."""
    client: str
    n_vertices: int
    n_edges: int
    epoch: int
    partitions: tuple[PartitionRecord, ...]

    def to_wire(self) -> dict[str, Any]:
        """The record in words and numbers."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return values | {"partitions": [dataclasses.astuple(part) for part in self.partitions]}

    @classmethod
    def from_wire(cls, values: dict[str, Any]) -> GraphRecord:
        """The record that was sent."""
        partitions = tuple(
            PartitionRecord(number, tuple(key), worker, Device(device), *numbers)
            for number, key, worker, device, *numbers in values["partitions"]
        )
        return cls(**values | {"partitions": partitions})
