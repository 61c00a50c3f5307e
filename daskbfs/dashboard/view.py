"""What one browser sees: some panes, and which search they show."""

from __future__ import annotations

import html
import time
from typing import Any

from bokeh.layouts import column, row
from bokeh.models import Div, Toggle

from daskbfs.dashboard.panes import FrontierPane, LevelsPane, PhasesPane, WorkersPane
from daskbfs.dashboard.tables import DevicesPane, PartitionsPane, RecordsPane, SearchesPane
from daskbfs.machine.hardware import human_rate
from daskbfs.telemetry.levels import EMULATED_NOTE
from daskbfs.telemetry.recorder import Recorder
from daskbfs.telemetry.records import RunRecord, State

PANES = {
    "levels": LevelsPane,
    "frontier": FrontierPane,
    "phases": PhasesPane,
    "workers": WorkersPane,
    "searches": SearchesPane,
    "devices": DevicesPane,
    "records": RecordsPane,
    "partitions": PartitionsPane,
}
_RESTS = 20  # times as long as it worked: a browser takes at most 5 % of the scheduler's time
_EMPTY = (
    "No searches yet. Connect a client to this scheduler and run <code>daskbfs.bfs(graph, "
    "source)</code>: what it does appears here."
)


class View:
    """Panes of one document: the newest search, until the user chooses another."""

    def __init__(self, scheduler: Any, panes: tuple[str, ...]) -> None:
        self._scheduler = scheduler
        self._recorder = Recorder.of(scheduler)
        self._chosen: str | None = None
        self._seen: tuple[Any, ...] | None = None
        self._rested = 0.0
        alone = {"sizing_mode": "stretch_both"} if len(panes) == 1 else {}
        self._panes = {name: self._pane(name, alone) for name in panes}
        self._headline = Div(text=_EMPTY, disable_math=True, sizing_mode="stretch_width")
        self._follow = Toggle(label="Follow the newest", active=True, name="follow", width=140)
        self._follow.on_change("active", self._toggled)
        self._of_a_search: list[Any] = []
        self.root = self._panes[panes[0]].root if alone else self._page()

    def _pane(self, name: str, options: dict[str, Any]) -> Any:
        if name == "searches":
            return SearchesPane(self.choose, **options)
        return PANES[name](**options)

    def _page(self) -> Any:
        roots = {name: pane.root for name, pane in self._panes.items()}
        wide = {"sizing_mode": "stretch_width"}
        self._of_a_search = [
            row(roots["levels"], roots["frontier"], **wide),
            row(roots["phases"], roots["workers"], **wide),
            _add_title("Searches: click on one to see it", roots["searches"]),
            _add_title("Its workers", roots["devices"]),
            _add_title("Its levels", roots["records"]),
        ]
        return column(
            row(self._headline, self._follow, **wide),
            *self._of_a_search,
            _add_title("Partitions on this cluster", roots["partitions"]),
            **wide,
        )

    def choose(self, run: str) -> None:
        """Show one search, and stay with it."""
        self._chosen = run
        self._follow.active = False
        self.update()

    def _toggled(self, attribute: str, before: bool, now: bool) -> None:
        self._chosen = None if now else self._chosen or self._recorder.newest
        self.update()

    def keep_up(self) -> None:
        """Show what is new, but spend little of the scheduler's time on it."""
        start = time.perf_counter()
        if start >= self._rested:
            self.update()
            end = time.perf_counter()
            self._rested = end + _RESTS * (end - start)

    def update(self) -> None:
        """Show what is new, if anything is."""
        recorder = self._recorder
        if self._chosen is not None and recorder.run(self._chosen) is None:  # forgotten
            self._follow.active, self._chosen = True, None
        run = self._chosen or recorder.newest
        names = {
            address: worker.name if isinstance(worker.name, str) else address
            for address, worker in self._scheduler.workers.items()
        }
        graphs = recorder.graphs()
        places = [self._holders(part.key) for graph in graphs for part in graph.partitions]
        now = (recorder.version, run, names, places)
        if now == self._seen:
            return
        self._seen = now
        search = recorder.run(run) if run else None
        for name, pane in self._panes.items():
            if name == "searches":
                pane.list_all(recorder.runs(), run, _clock)
            elif name == "partitions":
                pane.list_all(graphs, self._holders, names)
            else:
                pane.show(search, names)
        self._headline.text = _EMPTY if search is None else describe_run(search)
        for part in [*self._of_a_search, self._follow]:  # empty axes carry no information
            part.visible = search is not None

    def _holders(self, key: Any) -> list[str]:
        """The workers that have a task in memory."""
        task = self._scheduler.tasks.get(key)
        return [] if task is None else [worker.address for worker in task.who_has or ()]


def _add_title(title: str, pane: Any) -> Any:
    head = Div(text=f"<b>{title}</b>", sizing_mode="stretch_width")
    return column(head, pane, sizing_mode="stretch_width")


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def describe_run(search: RunRecord) -> str:
    """A search in one line of HTML; names stay text."""
    about = search.about
    what = f" {about.subject}" if about.subject else ""
    words = [f"{what}: {search.n_levels} levels", f"{search.seconds * 1e3:,.2f} ms"]
    if search.teps is not None:
        words.append(f"about {human_rate(search.teps)}")
    words += [f"driver {about.driver}", search.state]
    if search.error:
        words.append(search.error)
    text = f"{about.algorithm} of <b>{html.escape(about.graph)}</b>{html.escape(', '.join(words))}"
    if search.levels.emulated:
        text += f"<br><b>{EMULATED_NOTE}</b>"
    if search.packed and search.n_levels > len(search.levels.by_level()):
        text += f"<br>Of {search.n_levels:,} levels, this shows the first and the last."
    elif not search.packed and search.state is State.DONE:
        text += "<br>Its levels are no longer kept: too many searches came since."
    return text
