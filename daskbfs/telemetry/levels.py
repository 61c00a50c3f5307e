"""What was measured: a frozen record for each level and partition, and the table people read."""

from __future__ import annotations

import dataclasses
import itertools
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import numpy as np

from daskbfs.machine.atomic_file import whole_file
from daskbfs.machine.devices import require_package
from daskbfs.names import Device, Direction
from daskbfs.telemetry.html_table import html_table

EMULATED_NOTE = "gpu-emulated ran a GPU's kernels on the CPU: no time here is a GPU's"
_MOST_ROWS = 40  # of a printed table


@dataclass(frozen=True, slots=True)
class LevelRecord:
    """One level on one partition."""

    level: int
    direction: Direction | None
    """Of a search; None where the algorithm has no choice."""
    device: Device
    partition: int
    worker: str | None
    frontier_vertices: int
    """Going into the level."""
    edges_examined: int
    kernel_seconds: float
    exchanged_bytes: int
    scout_count: int
    """Arcs that leave the frontier: counted, or by the mean degree of its words of rows."""

    @property
    def mean_degree(self) -> float:
        """Of the frontier."""
        return self.scout_count / self.frontier_vertices if self.frontier_vertices else 0.0


class Work(NamedTuple):
    """What an algorithm had to do for one level on one partition; the engine adds the rest."""

    frontier_vertices: int
    edges_examined: int
    scout_count: int
    exchanged_bytes: int
    direction: Direction | None = None

    @property
    def n_levels(self) -> int:
        """One; others of several: :class:`SpanWork`."""
        return 1


class SpanWork(NamedTuple):
    """The same for several levels that one kernel call ran, by level; nothing was exchanged."""

    frontier_vertices: np.ndarray
    edges_examined: np.ndarray
    seconds: np.ndarray
    direction: Direction
    scout_counts: np.ndarray | None = None
    """Arcs that left each frontier; None: those examined, since all of them were looked at."""

    @property
    def arcs(self) -> np.ndarray:
        """Arcs that left each frontier."""
        return self.edges_examined if self.scout_counts is None else self.scout_counts

    @property
    def n_levels(self) -> int:
        """How many levels there were."""
        return self.seconds.size


@dataclass(frozen=True, slots=True, eq=False)
class LevelSpan:
    """Consecutive levels that one kernel call ran on one partition, as columns.

    A road network has hundreds of levels of a few microseconds: a record is made of one when a
    person or a report asks for it.
    """

    level: int
    """The first."""
    device: Device
    partition: int
    worker: str | None
    kernel_seconds: float
    """Of the whole call."""
    work: SpanWork

    @property
    def direction(self) -> Direction:
        """Of all its levels."""
        return self.work.direction

    @property
    def n_levels(self) -> int:
        """How many levels there were."""
        return self.work.n_levels

    def records(self) -> list[LevelRecord]:
        """A record for each level; what the call took beside its levels is spread over them."""
        work = self.work
        share = self.kernel_seconds / max(float(work.seconds.sum()), 1e-9)
        scouts = work.arcs.round().astype(np.int64)
        columns = (work.frontier_vertices, work.edges_examined, work.seconds * share, scouts)
        return [
            LevelRecord(
                self.level + k,
                self.direction,
                self.device,
                self.partition,
                self.worker,
                size,
                examined,
                seconds,
                0,
                scout_count,
            )
            for k, (size, examined, seconds, scout_count) in enumerate(
                zip(*(column.tolist() for column in columns), strict=True)
            )
        ]


def record_levels(
    level: int,
    device: Device,
    partition: int,
    worker: str | None,
    seconds: float,
    work: Work | SpanWork,
) -> LevelRecord | LevelSpan:
    """The record of a level that was computed, or of the span of levels that began with it."""
    if isinstance(work, SpanWork):
        return LevelSpan(level, device, partition, worker, seconds, work)
    return LevelRecord(
        level,
        work.direction,
        device,
        partition,
        worker,
        work.frontier_vertices,
        work.edges_examined,
        seconds,
        work.exchanged_bytes,
        work.scout_count,
    )


def exchange_phase(records: Sequence[LevelRecord | LevelSpan]) -> str:
    """The phase that the exchange before a level belongs to: finds are pushed, else pulled."""
    return "push" if records[0].direction is Direction.TOP_DOWN else "pull"


@dataclass(frozen=True, slots=True)
class Phases:
    """Where the seconds of a run went; those in none were on the way there and back."""

    init: float = 0.0
    """Opening states."""
    compute: float = 0.0
    """Kernels: over the levels, the slowest worker's."""
    push: float = 0.0
    """Exchange around top-down levels: from one gather to the next, less kernels and gather."""
    pull: float = 0.0
    """Exchange around all other levels."""
    gather: float = 0.0
    """Merging replies to the next message, and choosing directions."""
    aggregate: float = 0.0
    """Bringing results to their rows, after the last level."""

    def to_dict(self) -> dict[str, float]:
        """Seconds by phase, as in the JSON contract."""
        return {name: getattr(self, name) for name in PHASES}


PHASES = tuple(field.name for field in dataclasses.fields(Phases))
NO_PHASES = Phases()
_LEVEL_FIELDS = tuple(field.name for field in dataclasses.fields(LevelRecord))
_LEVEL_VALUES = operator.attrgetter(*_LEVEL_FIELDS)
_HEADER = (
    "level", "direction", "device", "partition", "frontier", "degree", "examined", "ms",
)  # fmt: skip
_WORDS = {1, 2}  # columns of the table that hold words


def direction_label(direction: Direction | None) -> str:
    """A direction as people read it."""
    return "-" if direction is None else direction.replace("_", "-")


def _cells(record: LevelRecord) -> tuple[str, ...]:
    """What a table shows of a record."""
    return (
        f"{record.level}",
        direction_label(record.direction),
        str(record.device),
        f"{record.partition}",
        f"{record.frontier_vertices:,}",
        f"{record.mean_degree:,.1f}",
        f"{record.edges_examined:,}",
        f"{record.kernel_seconds * 1e3:.4f}",
    )


def slowest_seconds(records: Iterable[LevelRecord | LevelSpan]) -> float:
    """Kernels of the slowest worker in one level: a worker's partitions take turns."""
    busy: dict[str | None, float] = {}
    for record in records:
        busy[record.worker] = busy.get(record.worker, 0.0) + record.kernel_seconds
    return max(busy.values(), default=0.0)


class Sum(NamedTuple):
    """What runs did on one kind of device in one direction."""

    device: Device
    direction: Direction | None
    levels: int = 0
    edges_examined: int = 0
    kernel_seconds: float = 0.0
    exchanged_bytes: int = 0

    def plus(self, levels: int, edges: int, seconds: float, n_bytes: int) -> Sum:
        """With some more."""
        return Sum(
            self.device,
            self.direction,
            self.levels + levels,
            self.edges_examined + edges,
            self.kernel_seconds + seconds,
            self.exchanged_bytes + n_bytes,
        )


def add_sums(totals: dict[tuple[Device, Direction | None], Sum], sums: Iterable[Sum]) -> None:
    """Add what a run did to totals by device and direction."""
    for part in sums:
        kind = part[:2]
        totals[kind] = (totals.get(kind) or Sum(*kind)).plus(*part[2:])


class LevelTotals(NamedTuple):
    """A run in a few numbers."""

    kernel_seconds: float
    """Over the levels, the sum of the slowest worker's kernels."""
    scout_count: int
    """Arcs that left all frontiers together."""
    sums: tuple[Sum, ...]


class LevelTable(Sequence[LevelRecord]):
    """Records of a run: a sequence that prints as a table.

    Examples
    --------
    >>> import daskbfs
    >>> levels = daskbfs.bfs(daskbfs.from_edges([(0, 1), (1, 2)]), source=0).levels
    >>> [(record.level, record.frontier_vertices) for record in levels]
    [(0, 1), (1, 1), (2, 1)]
    """

    def __init__(self, records: Iterable[LevelRecord | LevelSpan]) -> None:
        self.measured = tuple(records)
        """As it was measured: several levels can be one entry."""

    @cached_property
    def _records(self) -> tuple[LevelRecord, ...]:
        """One record for each level and partition."""
        spans = (m.records() if isinstance(m, LevelSpan) else [m] for m in self.measured)
        return tuple(itertools.chain.from_iterable(spans))

    def __len__(self) -> int:
        return sum(m.n_levels if isinstance(m, LevelSpan) else 1 for m in self.measured)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return LevelTable(self._records[index])
        return self._records[index]

    def __iter__(self) -> Iterator[LevelRecord]:
        return iter(self._records)

    @property
    def n_levels(self) -> int:
        """Levels that were computed, a search's last and empty one included."""
        ends = (
            m.level + m.n_levels if isinstance(m, LevelSpan) else m.level + 1 for m in self.measured
        )
        return max(ends, default=0)

    @property
    def emulated(self) -> bool:
        """Whether a device was emulated: then no time here is a GPU's."""
        return any(record.device is Device.GPU_EMULATED for record in self)

    def by_level(self) -> dict[int, list[LevelRecord]]:
        """The records of each level, in order."""
        levels: dict[int, list[LevelRecord]] = {}
        for record in self:
            levels.setdefault(record.level, []).append(record)
        return dict(sorted(levels.items()))

    @property
    def kernel_seconds(self) -> float:
        """Over the levels, the sum of the slowest worker's kernels."""
        return self.totals.kernel_seconds

    @cached_property
    def totals(self) -> LevelTotals:
        """The whole run in a few numbers, from one pass."""
        busy: dict[tuple[int, str | None], float] = {}
        sums: dict[tuple[Device, Direction | None], list[Any]] = {}
        scouts: dict[int, int] = {}
        for record in self.measured:
            turn = record.level, record.worker
            busy[turn] = busy.get(turn, 0.0) + record.kernel_seconds
            kind = record.device, record.direction
            mine = sums.get(kind)
            if mine is None:
                mine = sums[kind] = [set(), 0, 0.0, 0]
            mine[2] += record.kernel_seconds
            if isinstance(record, LevelSpan):
                examined = int(record.work.edges_examined.sum())
                scouts[record.level] = round(record.work.arcs.sum())
                mine[0].update(range(record.level, record.level + record.n_levels))
                mine[1] += examined
                continue
            scouts[record.level] = record.scout_count
            mine[0].add(record.level)
            mine[1] += record.edges_examined
            mine[3] += record.exchanged_bytes
        slowest: dict[int, float] = {}
        for (level, _), seconds in busy.items():
            slowest[level] = max(slowest.get(level, 0.0), seconds)
        parts = tuple(Sum(*kind, len(seen), *rest) for kind, (seen, *rest) in sums.items())
        return LevelTotals(sum(slowest.values()), sum(scouts.values()), parts)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain dictionaries, as in the JSON contract."""
        return [dict(zip(_LEVEL_FIELDS, _LEVEL_VALUES(record), strict=True)) for record in self]

    @classmethod
    def from_dicts(cls, rows: Iterable[dict[str, Any]]) -> LevelTable:
        """The table behind dictionaries, which may lack what older versions did not measure."""
        return cls([_record({"scout_count": 0} | row) for row in rows])

    def pack(self) -> bytes:
        """The records as bytes, to be sent and kept: a seventh of what they take as objects."""
        packed: bytes = msgpack.packb([_LEVEL_VALUES(record) for record in self._records])
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> LevelTable:
        """The table that was packed."""
        rows = msgpack.unpackb(data)
        return cls([_record(dict(zip(_LEVEL_FIELDS, row, strict=True))) for row in rows])

    def ends(self, most: int) -> LevelTable:
        """All records, or where there are more, those of the first and the last levels."""
        if len(self) <= most:
            return self
        levels = list(self.by_level().values())
        first, last = levels[:1], levels[:0]
        room = most - len(levels[0])
        for early, late in zip(levels[1:], reversed(levels), strict=False):
            for side, level in ((last, late), (first, early)):
                room -= len(level)
                if room >= 0:
                    side.append(level)
        return LevelTable([record for level in [*first, *reversed(last)] for record in level])

    def to_pandas(self) -> Any:
        """The records as a pandas DataFrame."""
        pandas = require_package("pandas", "formats", "a dataframe")
        return pandas.DataFrame(self.to_dicts(), columns=_LEVEL_FIELDS)

    def to_json(self) -> str:
        """The dictionaries as text."""
        return json.dumps(self.to_dicts(), indent=1) + "\n"

    def save(self, file: str | Path) -> None:
        """Write the records as JSON."""
        with whole_file(Path(file)) as target:
            target.write(self.to_json().encode())

    def _shown(self) -> list[tuple[str, ...]]:
        """The cells of a table, the header first; of a long one, those of its head and tail."""
        if len(self) < _MOST_ROWS:
            return [_HEADER, *map(_cells, self)]
        head, tail = self._records[: _MOST_ROWS // 2 - 1], self._records[-_MOST_ROWS // 2 :]
        left_out = ("...", *[""] * (len(_HEADER) - 1))
        return [_HEADER, *map(_cells, head), left_out, *map(_cells, tail)]

    def __str__(self) -> str:
        if not self.measured:
            return "(no levels)"
        rows = self._shown()
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
        lines = [
            "  ".join(
                cell.ljust(width) if i in _WORDS else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, *rows = self._shown()
        return html_table(header, rows, words=_WORDS)


def _record(values: dict[str, Any]) -> LevelRecord:
    direction = values["direction"]
    words = {
        "direction": None if direction is None else Direction(direction),
        "device": Device(values["device"]),
    }
    return LevelRecord(**values | words)


Watcher = Callable[[Sequence[LevelRecord | LevelSpan]], None]
"""Told of each level, or span of levels, once it is computed."""
