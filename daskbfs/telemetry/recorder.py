"""What a scheduler remembers of searches and graphs: the dashboard's page and Prometheus read it.

Nothing here needs bokeh or prometheus_client. Memory is bounded, and a report that cannot be read
is dropped: it must never break the stream that it came by, which is the client's or worker's own.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin

from daskbfs import config
from daskbfs.names import Device, Direction
from daskbfs.telemetry import prometheus as metrics
from daskbfs.telemetry.levels import LevelTable, Sum
from daskbfs.telemetry.records import About, GraphRecord, SearchRecord, State

OP = "daskbfs-report"
"""The operation by which clients and workers report."""

_logger = logging.getLogger(__name__)
_MOST_GRAPHS = 100
_MOST_BYTES_OF_A_LEVEL = 200  # a record takes about 65, with the address of its worker


class Totals:
    """Sums over all searches since the scheduler started."""

    def __init__(self) -> None:
        self.searches: dict[tuple[str, State], int] = {}
        """By driver and how they ended."""
        self.seconds = 0.0
        self.sums: dict[tuple[Device, Direction], Sum] = {}

    def add(self, search: SearchRecord) -> None:
        """Count a search that is over."""
        ended = search.about.driver, search.state
        self.searches[ended] = self.searches.get(ended, 0) + 1
        self.seconds += search.seconds
        for part in search.sums:
            kind = part[:2]
            self.sums[kind] = (self.sums.get(kind) or Sum(*kind)).plus(*part[2:])


class Recorder(SchedulerPlugin):  # type: ignore[misc]
    """Receives records on the scheduler, and keeps the newest."""

    name = "daskbfs-recorder"
    idempotent = True

    def __init__(self) -> None:
        self.version = 0
        """Grows with every change, so that views know when there is something new."""
        self.totals = Totals()
        self._searches: OrderedDict[str, SearchRecord] = OrderedDict()
        """By run, oldest first."""
        self._graphs: OrderedDict[str, GraphRecord] = OrderedDict()
        self._with_levels: OrderedDict[str, int] = OrderedDict()
        """What the levels of each search take, where they are kept."""
        self._n_bytes = 0

    @classmethod
    def of(cls, scheduler: Any) -> Recorder:
        """A scheduler's recorder, which begins to record if there is none yet."""
        recorder: Recorder | None = scheduler.plugins.get(cls.name)
        if recorder is None:
            recorder = cls()
            scheduler.add_plugin(recorder, name=cls.name)
            recorder.attend(scheduler)
        return recorder

    async def start(self, scheduler: Any) -> None:
        self.attend(scheduler)

    def attend(self, scheduler: Any) -> None:
        """Receive from now on."""
        self.scheduler = scheduler
        scheduler.stream_handlers[OP] = self.receive
        metrics.expose(self)

    async def close(self) -> None:
        metrics.hide(self)

    def receive(self, kind: str, record: Any, **more: Any) -> None:
        """What clients and workers call by way of their streams."""
        try:
            if kind == "graph":
                self._keep_graph(GraphRecord.from_wire(record))
            elif kind == "running":
                self._go_on(record, more["seconds"], LevelTable.unpacked(more["packed"]))
            else:
                self._end(SearchRecord.from_wire(record))
            self.version += 1
        except Exception:  # for example from another version of daskbfs
            _logger.warning("a report of daskbfs could not be read", exc_info=True)

    def _keep_graph(self, graph: GraphRecord) -> None:
        there = {known.name: known for known in reversed(self.graphs()) if known.name != graph.name}
        self._graphs = OrderedDict(there)
        self._graphs[graph.name] = graph
        while len(self._graphs) > _MOST_GRAPHS:
            self._graphs.popitem(last=False)

    def _go_on(self, about: Sequence[Any], seconds: float, levels: LevelTable) -> None:
        begun = SearchRecord(About(*about))
        known = self._searches.get(begun.about.run, begun)
        # else news that were overtaken: by its end, or by the end of its client
        if known.state is State.RUNNING and known.about.client in self.scheduler.clients:
            self._keep(known.going_on(seconds, levels, config.get("telemetry.levels")))

    def _end(self, search: SearchRecord) -> None:
        self.totals.add(search)
        known = self._searches.get(search.about.run)
        if known is not None and search.state is State.FAILED:  # what was heard of it stays
            search = known.failed(search.error, search.seconds)
        self._keep(search)

    def _keep(self, search: SearchRecord) -> None:
        most = config.get("telemetry.levels")
        if len(search.packed) > _MOST_BYTES_OF_A_LEVEL * most:  # its client has other numbers
            search = search.shortened(most)
        run, n_bytes = search.about.run, len(search.packed)
        self._searches[run] = search
        self._n_bytes += n_bytes - self._with_levels.pop(run, 0)
        self._with_levels[run] = n_bytes
        while len(self._searches) > config.get("telemetry.searches"):
            oldest, _ = self._searches.popitem(last=False)
            self._n_bytes -= self._with_levels.pop(oldest, 0)
        while self._n_bytes > config.get("telemetry.bytes") and len(self._with_levels) > 1:
            oldest, n_bytes = self._with_levels.popitem(last=False)
            self._n_bytes -= n_bytes
            self._searches[oldest] = self._searches[oldest].shortened(0)

    def search(self, run: str) -> SearchRecord | None:
        """One search; None if it is unknown or forgotten."""
        return self._searches.get(run)

    def searches(self) -> list[SearchRecord]:
        """All that are remembered, the newest first."""
        return list(reversed(self._searches.values()))

    @property
    def newest(self) -> str | None:
        """The run that was heard of last to begin."""
        return next(reversed(self._searches), None)

    def graphs(self) -> list[GraphRecord]:
        """Graphs with a partition that is still there, the newest first."""
        tasks = self.scheduler.tasks
        return [
            graph
            for graph in reversed(self._graphs.values())
            if any(part.key in tasks for part in graph.partitions)
        ]

    def remove_client(self, scheduler: Any, client: str) -> None:
        for search in self.searches():
            if search.state is State.RUNNING and search.about.client == client:
                self._end(search.failed("its client is gone", search.seconds))
                self.version += 1
