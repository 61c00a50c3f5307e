"""What a scheduler remembers of runs and graphs: the dashboard's page and Prometheus read it.

Nothing here needs bokeh or prometheus_client. Memory is bounded, and a report that cannot be read
is dropped: it must never break the stream that it came by, which is the client's or worker's own.

The newest runs are kept, and their levels up to a number of bytes, packed: as objects they take
seven times as much, also in the logs that Dask's streams keep of their last 1,000 messages.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin

from daskbfs import config
from daskbfs.names import Device, Direction
from daskbfs.telemetry import prometheus as metrics
from daskbfs.telemetry.levels import LevelTable, Sum, add_sums
from daskbfs.telemetry.records import About, GraphRecord, RunRecord, State

OP = "daskbfs-report"
"""The operation by which clients and workers report."""

_logger = logging.getLogger(__name__)
_MOST_GRAPHS = 100
_MOST_BYTES_OF_A_LEVEL = 200  # a record takes about 65, with the address of its worker


class Totals:
    """Sums over all runs since the scheduler started."""

    def __init__(self) -> None:
        self.runs: Counter[tuple[str, str, State]] = Counter()
        """By algorithm, driver and how they ended."""
        self.seconds: dict[str, float] = {}
        """By algorithm."""
        self.sums: dict[str, dict[tuple[Device, Direction | None], Sum]] = {}
        """By algorithm."""

    def add(self, record: RunRecord) -> None:
        """Count a run that is over."""
        about = record.about
        self.runs[about.algorithm, about.driver, record.state] += 1
        earlier = self.seconds.get(about.algorithm, 0.0)
        self.seconds[about.algorithm] = earlier + record.seconds
        add_sums(self.sums.setdefault(about.algorithm, {}), record.sums)


class Recorder(SchedulerPlugin):  # type: ignore[misc]
    """Receives records on the scheduler, and keeps the newest."""

    name = "daskbfs-recorder"
    idempotent = True

    def __init__(self) -> None:
        self.version = 0
        """Grows with every change, so that views know when there is something new."""
        self.totals = Totals()
        self._runs: OrderedDict[str, RunRecord] = OrderedDict()
        """By run, oldest first."""
        self._graphs: OrderedDict[str, GraphRecord] = OrderedDict()
        self._with_levels: OrderedDict[str, int] = OrderedDict()
        """What the levels of each run take, where they are kept."""
        self._n_bytes = 0

    @classmethod
    def of(cls, scheduler: Any) -> Recorder:
        """A scheduler's recorder, which begins to record if there is none yet."""
        recorder: Recorder | None = scheduler.plugins.get(cls.name)
        if recorder is None:
            recorder = cls()
            scheduler.add_plugin(recorder, name=cls.name)
            recorder.start_receiving(scheduler)
        return recorder

    async def start(self, scheduler: Any) -> None:
        self.start_receiving(scheduler)

    def start_receiving(self, scheduler: Any) -> None:
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
                self._update_run(record, more["seconds"], LevelTable.unpack(more["packed"]))
            else:
                self._end(RunRecord.from_wire(record))
            self.version += 1
        except Exception:  # for example from another version of daskbfs
            _logger.warning("a report of daskbfs could not be read", exc_info=True)

    def _keep_graph(self, graph: GraphRecord) -> None:
        there = {known.name: known for known in reversed(self.graphs()) if known.name != graph.name}
        self._graphs = OrderedDict(there)
        self._graphs[graph.name] = graph
        while len(self._graphs) > _MOST_GRAPHS:
            self._graphs.popitem(last=False)

    def _update_run(self, about: Sequence[Any], seconds: float, levels: LevelTable) -> None:
        begun = RunRecord(About(*about))
        known = self._runs.get(begun.about.run, begun)
        # else news that were overtaken: by its end, or by the end of its client
        if known.state is State.RUNNING and known.about.client in self.scheduler.clients:
            self._keep(known.with_progress(seconds, levels, config.get("telemetry.levels")))

    def _end(self, record: RunRecord) -> None:
        self.totals.add(record)
        known = self._runs.get(record.about.run)
        if known is not None and record.state is State.FAILED:  # what was heard of it stays
            record = known.as_failed(record.error, record.seconds)
        self._keep(record)

    def _keep(self, record: RunRecord) -> None:
        most = config.get("telemetry.levels")
        if len(record.packed) > _MOST_BYTES_OF_A_LEVEL * most:  # its client has other numbers
            record = record.shorten(most)
        run, n_bytes = record.about.run, len(record.packed)
        self._runs[run] = record
        self._n_bytes += n_bytes - self._with_levels.pop(run, 0)
        self._with_levels[run] = n_bytes
        while len(self._runs) > config.get("telemetry.searches"):
            oldest, _ = self._runs.popitem(last=False)
            self._n_bytes -= self._with_levels.pop(oldest, 0)
        while self._n_bytes > config.get("telemetry.bytes") and len(self._with_levels) > 1:
            oldest, n_bytes = self._with_levels.popitem(last=False)
            self._n_bytes -= n_bytes
            self._runs[oldest] = self._runs[oldest].shorten(0)

    def run(self, name: str) -> RunRecord | None:
        """One run; None if it is unknown or forgotten."""
        return self._runs.get(name)

    def runs(self) -> list[RunRecord]:
        """All that are remembered, the newest first."""
        return list(reversed(self._runs.values()))

    @property
    def newest(self) -> str | None:
        """The run that was heard of last to begin."""
        return next(reversed(self._runs), None)

    def graphs(self) -> list[GraphRecord]:
        """Graphs with a partition that is still there, the newest first."""
        tasks = self.scheduler.tasks
        return [
            graph
            for graph in reversed(self._graphs.values())
            if any(part.key in tasks for part in graph.partitions)
        ]

    def remove_client(self, scheduler: Any, client: str) -> None:
        for record in self.runs():
            if record.state is State.RUNNING and record.about.client == client:
                self._end(record.as_failed("its client is gone", record.seconds))
                self.version += 1
