"""Telling the scheduler what runs do: from the client at their end, from workers on the way.

A report is one more message on a stream that is there anyway; no code waits for it. A run that
is over sooner than the first report of its worker is told of by its client alone.

A run that is over is reported in one record, which travels with the next message that the client
sends: waking the stream for it alone cost 0.3 ms. A run that takes longer than
``telemetry.live-seconds`` is reported on the way by the task that gathers its levels. A scheduler
ends a stream by which an operation comes that it does not know, so each placement first registers
the recorder there, and reports nothing where that fails. Dask's ``log_event`` was not taken: its
topics keep 100,000 events.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

from distributed import Client, get_worker
from distributed.comm.core import CommClosedError
from distributed.metrics import context_meter

from daskbfs import config
from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import (
    LevelRecord,
    LevelSpan,
    LevelTable,
    Watcher,
    direction_label,
)
from daskbfs.telemetry.recorder import OP, Recorder
from daskbfs.telemetry.records import About, GraphRecord, RunRecord

_logger = logging.getLogger(__name__)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Whatever goes wrong with a report, the run goes on."""
    try:
        yield
    except Exception:
        _logger.warning("a run could not be reported", exc_info=True)


class Reporter:
    """Sends a client's reports to the recorder on its scheduler; nothing once that is another one.

    A scheduler that does not know our operation would end the client's stream.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stream: Any = client.scheduler_comm
        self._nudging = False

    def run(self, record: RunRecord) -> None:
        """Tell of a run that is over; from the client's event loop.

        The report travels with whatever the client sends next, which is the next run if there
        is one, or its farewell: waking the stream for it would cost more than all the rest.
        """
        if not self._connected:
            return
        self._stream.buffer.append({"op": OP, "kind": "run", "record": record.to_wire()})
        if not self._nudging:
            self._nudging = True
            loop: Any = self._client.loop
            loop.call_later(config.get("telemetry.live-seconds"), self._nudge)

    def _nudge(self) -> None:
        self._nudging = False
        self._send()

    def graph(self, record: GraphRecord) -> None:
        """Tell where a graph lies; from the client's event loop."""
        self._send({"op": OP, "kind": "graph", "record": record.to_wire()})

    def _send(self, *messages: dict[str, Any]) -> None:
        if self._connected:
            with contextlib.suppress(CommClosedError):  # code that waits for tasks will notice
                self._stream.send(*messages)

    @property
    def _connected(self) -> bool:
        """Whether the scheduler is still the one that records."""
        same = self._stream is not None and self._client.scheduler_comm is self._stream
        return same and self._client.status == "running"


async def reporter_for(client: Client) -> Reporter | None:
    """A client's reporter; None where telemetry is off, or the scheduler cannot record.

    An operation that it does not know would end the client's stream: so it is asked first, each
    time that partitions are put anywhere.
    """
    if not config.get("telemetry.enabled"):
        return None
    try:
        registering = client.register_plugin(Recorder())
        await asyncio.wait_for(registering, config.get("recovery.silent-seconds"))
    except Exception as error:  # it takes no plug-ins, or does not answer
        _logger.info("runs are not reported, since the scheduler cannot record: %s", error)
        return None
    return Reporter(client)


class RunningSearch:
    """Tells the scheduler of a run that takes long, from the task that gathers its levels."""

    def __init__(self, about: About) -> None:
        self._about = about
        self._new: list[LevelRecord | LevelSpan] = []
        self._interval = config.get("telemetry.live-seconds")
        self._began = time.perf_counter()
        self._next = self._began + self._interval
        self._worker: Any = get_worker()

    def __call__(self, records: Sequence[LevelRecord | LevelSpan]) -> None:
        """Take note of a level."""
        self._new += records
        if time.perf_counter() >= self._next:
            with quietly():
                self._tell()

    def _tell(self) -> None:
        new, self._new = LevelTable(self._new), []
        now = time.perf_counter()
        self._next = now + self._interval
        message = {
            "op": OP,
            "kind": "running",
            "record": self._about,
            "seconds": now - self._began,
            "packed": new.ends(config.get("telemetry.levels")).pack(),
        }
        self._worker.loop.add_callback(self._worker.batched_send, message)


def watcher_for(about: About | None) -> Watcher | None:
    """The callback for the levels of an attempt; None where they are not reported."""
    return None if about is None else RunningSearch(about)


def meter(records: Sequence[LevelRecord | LevelSpan]) -> None:
    """Split the current task's time by direction and device, for Dask's own performance page."""
    seconds: dict[tuple[Direction | None, Device], float] = {}
    for record in records:
        kind = record.direction, record.device
        seconds[kind] = seconds.get(kind, 0.0) + record.kernel_seconds
    for (direction, device), total in seconds.items():
        label = f"{direction_label(direction)} on {device}" if direction else str(device)
        context_meter.digest_metric(label, total, "seconds")
