"""The workers of a cluster, as its scheduler knows them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from distributed import Client

from daskbfs import config
from daskbfs.names import Device


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
    """What its kernels run on, once it was asked (``devices.query_devices``)."""
    device_bytes: int | None = None
    """Memory of an accelerator, where it is known."""


async def workers_now(client: Client) -> dict[str, WorkerState]:
    """The workers of a client's cluster, by address."""
    check_scheduler(client)
    scheduler: Any = client.scheduler
    try:
        identity = await asyncio.wait_for(scheduler.identity(n_workers=-1), silent_limit())
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


def silent_limit() -> float:
    """Seconds after which a worker that is not heard of is lost."""
    return float(config.get("recovery.silent-seconds"))
