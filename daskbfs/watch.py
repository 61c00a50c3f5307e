"""Which workers there are, and whether those that a search needs are still alive.

Dask lets a task wait for ever when the worker that it is pinned to is gone. So whoever waits for
such a task asks the scheduler now and then; short waits never come to that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from distributed import CancelledError, Client, KilledWorker

from daskbfs import config
from daskbfs.machine import human_bytes
from daskbfs.types import Device

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


class SchedulerLost(ConnectionError):
    """The scheduler cannot be reached."""


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What the scheduler says about a worker."""

    process: str
    """Another process has another name, though it may have the same address."""
    last_seen: float
    memory_limit: int | None
    memory_used: int
    status: str
    device: Device = Device.CPU
    """What its kernels run on, once it was asked (``devices.asked``)."""
    device_bytes: int | None = None
    """Memory of an accelerator, where it is known."""


async def workers_now(client: Client) -> dict[str, WorkerState]:
    """The workers of a client's cluster, by address."""
    check_scheduler(client)
    scheduler: Any = client.scheduler
    try:
        identity = await asyncio.wait_for(scheduler.identity(n_workers=-1), _silent_limit())
    except (OSError, TimeoutError) as error:
        raise _scheduler_lost(client) from error
    return {
        address: WorkerState(
            process=worker["local_directory"],
            last_seen=worker["last_seen"],
            memory_limit=worker["memory_limit"] or None,
            memory_used=worker["metrics"].get("memory", 0),
            status=worker["status"],
        )
        for address, worker in identity["workers"].items()
        if worker["status"] not in ("closing", "closing_gracefully", "closed")
    }


def check_scheduler(client: Client) -> None:
    """Raise where a client has lost its scheduler, or was closed."""
    if client.status in ("closed", "closing", "newly-created"):
        raise RuntimeError("the client is closed: connect another, and distribute the graph again")
    if client.status != "running":
        raise _scheduler_lost(client)


def _scheduler_lost(client: Client) -> SchedulerLost:
    address = client.scheduler.address if client.scheduler is not None else "?"
    return SchedulerLost(f"the scheduler at {address} is gone: connect a client to another cluster")


@dataclass(slots=True)
class Watch:
    """Looks after the workers that somebody waits for."""

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
            if unheard > _silent_limit():
                lost[address] = f"has not been heard of for {unheard:.0f} s"
                silent.add(address)
            elif state.status == "paused" and unchanged > _silent_limit():
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


def _silent_limit() -> float:
    return float(config.get("recovery.silent-seconds"))


async def guarded(client: Client, processes: Mapping[str, str], waiting: Awaitable[T]) -> T:
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
