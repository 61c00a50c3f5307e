"""The panes of the page that list: searches, and of one its workers and levels; partitions.

Text of users, such as a graph's name, only goes where bokeh writes text, never HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
_TEXT, _COUNT, _TENTH, _THOUSANDTH = "", "0,0", "0,0.0", "0,0.000"


def _formatter(form: str) -> Any:
    """How a column shows its values; each belongs to one document."""
    if form == _TEXT:
        return StringFormatter()
    return NumberFormatter(format=form, nan_format="-", text_align="right")


class _Table:
    """A table with named columns; bokeh's text cells show HTML as text."""

    name = ""
    columns: Sequence[tuple[str, str, str, int]] = ()
    """Field, title, format and width."""

    def __init__(self, **options: Any) -> None:
        self._source = ColumnDataSource({field: [] for field, *_ in self.columns}, name=self.name)
        columns = [
            TableColumn(field=field, title=title, width=width, formatter=_formatter(form))
            for field, title, form, width in self.columns
        ]
        self._grows = "sizing_mode" not in options
        self._n_rows = 0
        self.root = DataTable(
            source=self._source,
            columns=columns,
            name=f"{self.name}-table",
            index_position=None,
            scroll_to_selection=False,  # new searches do not move what the user has scrolled to
            sizing_mode=options.get("sizing_mode", "stretch_width"),
            reorderable=False,
        )

    def _fill(self, rows: Sequence[Sequence[Any]]) -> None:
        fields = [field for field, *_ in self.columns]
        columns = zip(*rows, strict=True) if rows else [()] * len(fields)
        self._source.data = {
            field: list(column) for field, column in zip(fields, columns, strict=True)
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
        ("worker", "worker", _TEXT, 160),
        ("device", "device", _TEXT, 90),
        ("partitions", "partitions", _TEXT, 90),
        ("busy", "busy (ms)", _THOUSANDTH, 90),
        ("wait", "waiting (ms)", _THOUSANDTH, 90),
        ("edges", "edges examined", _COUNT, 110),
        ("bytes", "bytes received", _COUNT, 100),
    )

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
        ("level", "level", _COUNT, 50),
        ("direction", "direction", _TEXT, 80),
        ("device", "device", _TEXT, 90),
        ("partition", "partition", _COUNT, 65),
        ("worker", "worker", _TEXT, 150),
        ("frontier_vertices", "frontier", _COUNT, 90),
        ("mean_degree", "mean degree", _TENTH, 90),
        ("edges_examined", "edges examined", _COUNT, 110),
        ("kernel_ms", "kernel (ms)", _THOUSANDTH, 90),
        ("exchanged_bytes", "bytes received", _COUNT, 100),
    )

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
        ("began", "began", _TEXT, 80),
        ("graph", "graph", _TEXT, 120),
        ("algorithm", "algorithm", _TEXT, 80),
        ("subject", "subject", _TEXT, 90),
        ("driver", "driver", _TEXT, 70),
        ("state", "state", _TEXT, 70),
        ("levels", "levels", _COUNT, 55),
        ("ms", "time (ms)", _THOUSANDTH, 90),
        ("kernel_ms", "kernels (ms)", _THOUSANDTH, 90),
        ("mteps", "MTEPS (about)", _TENTH, 80),
        ("error", "error", _TEXT, 160),
    )

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
        ("graph", "graph", _TEXT, 120),
        ("partition", "partition", _COUNT, 65),
        ("worker", "worker", _TEXT, 160),
        ("device", "device", _TEXT, 90),
        ("vertices", "vertices", _COUNT, 100),
        ("edges", "edges", _COUNT, 100),
        ("memory", "memory", _TEXT, 90),
    )

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
