"""Which workers there are, and whether those that a search needs are still alive.

Dask lets a task wait for ever when the worker that it is pinned to is gone. So code that waits
for such a task asks the scheduler now and then; short waits end before that.

A worker is lost when it is not there, when another process answers by its address, or when the
scheduler has not heard of it for ``recovery.silent-seconds``. Searches shorter than one look
(``recovery.look-seconds``) never ask. The first design, a scheduler plug-in that sends an event,
was dropped: asking needs nothing on the scheduler, and a quarter of a second is little beside
making partitions again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from distributed import CancelledError, Client, KilledWorker

from daskbfs import config
from daskbfs.cluster.workers import silent_limit, workers_now
from daskbfs.machine.hardware import human_bytes

T = TypeVar("T")


class WorkersLost(RuntimeError):
    """Workers that are needed are gone, or silent for too long."""

    def __init__(self, workers: Mapping[str, str], silent: Collection[str] = ()) -> None:
        self.workers = dict(workers)
        """What happened to each, by address."""
        self.silent = frozenset(silent)
        """Those that are still there, but do not answer."""
        super().__init__("; ".join(f"worker {w} {what}" for w, what in self.workers.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return WorkersLost, (self.workers, self.silent)


@dataclass(slots=True)
class Watch:
    """Checks the workers that a caller waits for."""

    client: Client
    processes: Mapping[str, str]
    """The process of each worker, by address."""
    noticed: dict[str, tuple[object, float]] = field(default_factory=dict)
    """What was noticed of each, and when."""

    async def look(self) -> None:
        """Raise WorkersLost where workers cannot be waited for any more."""
        now = await workers_now(self.client)
        lost, silent = {}, set()
        for address, process in self.processes.items():
            state = now.get(address)
            if state is None:
                lost[address] = "is gone"
                continue
            if state.process != process:
                lost[address] = "was restarted"
                continue
            unheard = self._since(address, state.last_seen)
            unchanged = self._since(f"{address} status", state.status)
            if unheard > silent_limit():
                lost[address] = f"has not been heard of for {unheard:.0f} s"
                silent.add(address)
            elif state.status == "paused" and unchanged > silent_limit():
                used, limit = human_bytes(state.memory_used), human_bytes(state.memory_limit or 0)
                raise MemoryError(
                    f"worker {address} is paused, since it uses {used} of its {limit}: free some, "
                    "or give it more"
                )
        if lost:
            raise WorkersLost(lost, silent)

    def _since(self, what: str, value: object) -> float:
        """Seconds since we first noticed that something has a value."""
        now = time.monotonic()
        last, noticed = self.noticed.get(what, (None, now))
        if last != value:
            noticed = now
        self.noticed[what] = (value, noticed)
        return now - noticed


async def wait_unless_lost(
    client: Client, processes: Mapping[str, str], waiting: Awaitable[T]
) -> T:
    """Wait for something that needs some workers; raise WorkersLost once they are gone.

    An error must not hold the frames that it came through, and with them futures, until the garbage
    collector finds out: so no frame here keeps its error.
    """
    task = asyncio.ensure_future(waiting)
    watch = Watch(client, processes)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=config.get("recovery.look-seconds"))
            if not task.done():
                await watch.look()
        try:
            return task.result()
        except SYMPTOMS:
            await _look_for_a_while(watch)
            raise
        except Exception:
            await watch.look()
            raise
    finally:
        task.cancel()
        await asyncio.wait({task})
        del task, waiting


async def _look_for_a_while(watch: Watch) -> None:
    """Look for lost workers: the scheduler may learn of them later than we do."""
    deadline = time.monotonic() + config.get("recovery.explain-seconds")
    while True:
        await watch.look()
        if time.monotonic() >= deadline:
            return
        await asyncio.sleep(config.get("recovery.look-seconds"))


SYMPTOMS = (OSError, CancelledError, KilledWorker)
"""What things fail with when a worker is lost."""
