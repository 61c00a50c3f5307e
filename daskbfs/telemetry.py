"""What was measured: frozen records, and the tables that people read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daskbfs.types import Device, Direction

_MOST_ROWS = 40  # of a printed table


@dataclass(frozen=True, slots=True)
class LevelRecord:
    """One level on one partition."""

    level: int
    direction: Direction
    device: Device
    partition: int
    worker: str | None
    frontier_vertices: int
    """Going into the level."""
    edges_examined: int
    kernel_seconds: float
    exchanged_bytes: int


@dataclass(frozen=True, slots=True)
class Phases:
    """Where the seconds of a search went; those in none were on the way there and back."""

    init: float = 0.0
    """Opening leases."""
    compute: float = 0.0
    """Kernels: over the levels, the slowest partition's."""
    push: float = 0.0
    """Exchange around top-down levels: from one gather to the next, less kernels and gather."""
    pull: float = 0.0
    """Exchange around bottom-up levels."""
    gather: float = 0.0
    """Merging frontiers and choosing directions."""
    aggregate: float = 0.0
    """Bringing parents to their rows, after the last level."""


PHASES = tuple(field.name for field in dataclasses.fields(Phases))
NO_PHASES = Phases()


def _cells(record: LevelRecord) -> tuple[str, ...]:
    """What a table shows of a record."""
    return (
        f"{record.level}",
        record.direction.replace("_", "-"),
        str(record.device),
        f"{record.partition}",
        f"{record.frontier_vertices:,}",
        f"{record.edges_examined:,}",
        f"{record.kernel_seconds * 1e3:.3f}",
    )


class LevelTable(Sequence[LevelRecord]):
    """Records of a search: a sequence that prints as a table."""

    def __init__(self, records: Sequence[LevelRecord]) -> None:
        self._records = tuple(records)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return LevelTable(self._records[index])
        return self._records[index]

    def __iter__(self) -> Iterator[LevelRecord]:
        return iter(self._records)

    @property
    def n_levels(self) -> int:
        """Levels that were searched, the last and empty one included."""
        return max((record.level for record in self), default=-1) + 1

    @property
    def emulated(self) -> bool:
        """Whether a device was emulated: then no time here is a GPU's."""
        return any(record.device is Device.GPU_EMULATED for record in self)

    @property
    def kernel_seconds(self) -> float:
        """Over the levels, the sum of the slowest partition's kernels."""
        slowest: dict[int, float] = {}
        for record in self:
            slowest[record.level] = max(slowest.get(record.level, 0.0), record.kernel_seconds)
        return sum(slowest.values())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain dictionaries, as in the JSON contract."""
        return [dataclasses.asdict(record) for record in self]

    def to_pandas(self) -> Any:
        """A pandas DataFrame (pandas must be installed)."""
        import pandas

        return pandas.DataFrame(self.to_dicts())

    def __str__(self) -> str:
        if not self._records:
            return "(no levels)"
        header = ("level", "direction", "device", "partition", "frontier", "edges examined", "ms")
        rows = [header, *map(_cells, self)]
        if len(rows) > _MOST_ROWS:
            left_out = ("...", *[""] * (len(header) - 1))
            rows = [*rows[: _MOST_ROWS // 2], left_out, *rows[-_MOST_ROWS // 2 :]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
        text = {1, 2}  # columns that hold words
        lines = [
            "  ".join(
                cell.ljust(width) if i in text else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{field.name}</th>" for field in dataclasses.fields(LevelRecord))
        body = "".join(
            "<tr>" + "".join(f"<td>{value}</td>" for value in record.values()) + "</tr>"
            for record in self.to_dicts()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
