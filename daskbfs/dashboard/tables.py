"""The panes of the page that list: searches, and of one its workers and levels; partitions.

Text of users, such as a graph's name, only goes where bokeh writes text, never HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bokeh.models import (
    ColumnDataSource,
    DataTable,
    NumberFormatter,
    StringFormatter,
    TableColumn,
)

from daskbfs.dashboard.panes import Names, levels_shown
from daskbfs.machine.hardware import human_bytes
from daskbfs.telemetry.levels import direction_label
from daskbfs.telemetry.records import GraphRecord, RunRecord
from daskbfs.telemetry.views import workers_of

_MOST_ROWS = 12  # that are seen without scrolling


class _Column(NamedTuple):
    """A column of a table: what it holds, and how."""

    field: str
    title: str
    width: int
    form: str
    """How numbers are written; nothing for text."""

    def model(self) -> TableColumn:
        """The column in bokeh's table; each belongs to one document."""
        formatter: Any = StringFormatter()
        if self.form:
            formatter = NumberFormatter(format=self.form, nan_format="-", text_align="right")
        return TableColumn(
            field=self.field, title=self.title, width=self.width, formatter=formatter
        )


def _text(field: str, width: int) -> _Column:
    return _Column(field, field, width, "")


def _count(field: str, width: int, title: str = "") -> _Column:
    return _Column(field, title or field, width, "0,0")


def _tenth(field: str, width: int, title: str) -> _Column:
    return _Column(field, title, width, "0,0.0")


def _milliseconds(field: str, width: int, title: str) -> _Column:
    return _Column(field, f"{title} (ms)", width, "0,0.000")


class _Table:
    """A table with named columns; bokeh's text cells show HTML as text."""

    name = ""
    columns: Sequence[_Column] = ()

    def __init__(self, **options: Any) -> None:
        self._source = ColumnDataSource(
            {column.field: [] for column in self.columns}, name=self.name
        )
        self._grows = "sizing_mode" not in options
        self._n_rows = 0
        self.root = DataTable(
            source=self._source,
            columns=[column.model() for column in self.columns],
            name=f"{self.name}-table",
            index_position=None,
            scroll_to_selection=False,  # new searches do not move what the user has scrolled to
            sizing_mode=options.get("sizing_mode", "stretch_width"),
            reorderable=False,
        )

    def _fill(self, rows: Sequence[Sequence[Any]]) -> None:
        values = zip(*rows, strict=True) if rows else [()] * len(self.columns)
        self._source.data = {
            column.field: list(found) for column, found in zip(self.columns, values, strict=True)
        }
        if len(rows) == self._n_rows:  # else bokeh 3.9 goes on showing what was there
            self.root.tags = [not any(self.root.tags)]
        self._n_rows = len(rows)
        if self._grows:
            self.root.height = 28 + 25 * min(max(1, len(rows)), _MOST_ROWS)


class DevicesPane(_Table):
    """What each worker did, in numbers."""

    name = "devices"
    columns = (
        _text("worker", 160), _text("device", 90), _text("partitions", 90),
        _milliseconds("busy", 90, "busy"), _milliseconds("wait", 90, "waiting"),
        _count("edges", 110, "edges examined"), _count("bytes", 100, "bytes received"),
    )  # fmt: skip

    def show(self, search: RunRecord | None, names: Names) -> None:
        """Show a search."""
        self._fill(
            [
                (
                    names.get(view.worker, view.worker),
                    str(view.device),
                    ", ".join(map(str, view.partitions)),
                    view.busy_seconds * 1e3,
                    view.wait_seconds * 1e3,
                    view.edges_examined,
                    view.exchanged_bytes,
                )
                for view in workers_of(levels_shown(search))
            ]
        )


class RecordsPane(_Table):
    """The records of a search, as ``result.levels`` has them."""

    name = "records"
    columns = (
        _count("level", 50), _text("direction", 80), _text("device", 90),
        _count("partition", 65), _text("worker", 150),
        _count("frontier_vertices", 90, "frontier"), _tenth("mean_degree", 90, "mean degree"),
        _count("edges_examined", 110, "edges examined"),
        _milliseconds("kernel_ms", 90, "kernel"),
        _count("exchanged_bytes", 100, "bytes received"),
    )  # fmt: skip

    def show(self, search: RunRecord | None, names: Names) -> None:
        """Show a search."""
        self._fill(
            [
                (
                    record.level,
                    direction_label(record.direction),
                    str(record.device),
                    record.partition,
                    names.get(record.worker or "", record.worker or ""),
                    record.frontier_vertices,
                    record.mean_degree,
                    record.edges_examined,
                    record.kernel_seconds * 1e3,
                    record.exchanged_bytes,
                )
                for record in levels_shown(search)
            ]
        )


class SearchesPane(_Table):
    """Recent runs, the newest first; a click on one shows it in the other panes."""

    name = "searches"
    columns = (
        _text("began", 80), _text("graph", 120), _text("algorithm", 80),
        _text("subject", 90), _text("driver", 70),
        _text("state", 70), _count("levels", 55), _milliseconds("ms", 90, "time"),
        _milliseconds("kernel_ms", 90, "kernels"), _tenth("mteps", 80, "MTEPS (about)"),
        _text("error", 160),
    )  # fmt: skip

    def __init__(self, choose: Callable[[str], None], **options: Any) -> None:
        super().__init__(**options)
        self._choose = choose
        self._runs: list[str] = []
        self._filling = False
        self._source.selected.on_change("indices", self._clicked)

    def _clicked(self, attribute: str, before: list[int], now: list[int]) -> None:
        if now and not self._filling and now[0] < len(self._runs):
            self._choose(self._runs[now[0]])

    def list_all(
        self, searches: Sequence[RunRecord], chosen: str | None, clock: Callable[[float], str]
    ) -> None:
        """Show all searches, and which one is chosen."""
        self._runs = [search.about.run for search in searches]
        rows = [
            (
                clock(search.about.began),
                search.about.graph,
                search.about.algorithm,
                search.about.subject,
                search.about.driver,
                str(search.state),
                search.n_levels,
                search.seconds * 1e3,
                search.kernel_seconds * 1e3,
                float("nan") if search.teps is None else search.teps / 1e6,
                search.error,
            )
            for search in searches
        ]
        self._filling = True  # a selection that comes from here is no click
        try:
            self._source.selected.indices = []
            self._fill(rows)
            if chosen in self._runs:
                self._source.selected.indices = [self._runs.index(chosen)]
        finally:
            self._filling = False


class PartitionsPane(_Table):
    """Where the partitions of each graph live, and how large they are."""

    name = "partitions"
    columns = (
        _text("graph", 120), _count("partition", 65), _text("worker", 160),
        _text("device", 90), _count("vertices", 100), _count("edges", 100),
        _text("memory", 90),
    )  # fmt: skip

    def list_all(
        self, graphs: Sequence[GraphRecord], holders: Callable[[Any], list[str]], names: Names
    ) -> None:
        """Show all graphs."""
        rows = []
        for graph in graphs:
            for part in graph.partitions:
                workers = [names.get(worker, worker) for worker in holders(part.key)]
                rows.append(
                    (
                        graph.label,
                        part.partition,
                        ", ".join(workers) or "lost",
                        str(part.device),
                        part.n_vertices,
                        part.n_edges,
                        human_bytes(part.n_bytes),
                    )
                )
        self._fill(rows)
