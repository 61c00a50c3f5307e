"""Memory that the workers of a placement share, where all of them are on one host.

They find out by trying: the first worker makes a segment, and the others open it.
Where any of them cannot, as in another container or under another user, all do without. The
numbering of a graph lies in that memory once, not once on each worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future

from daskbfs import config
from daskbfs.cluster.futures import new_run, wait_all
from daskbfs.cluster.segment import MOST_WORKERS, Column, Segment, Ticket, place_columns
from daskbfs.kernels.meeting import can_meet
from daskbfs.names import Device
from daskbfs.partition.pinned import Pinned

_NUMBERING = "numbering"

Holders = tuple[tuple[str, Device], ...]
"""The worker of each partition, and its device."""


@dataclass(frozen=True, slots=True)
class Sharing(Pinned):
    """The memory that the workers of a placement share, as one of them has it."""

    segment: Segment
    holders: Holders

    @property
    def together(self) -> bool:
        """Whether each worker has one partition, on a CPU."""
        workers = {worker for worker, _ in self.holders}
        on_cpu = all(device is Device.CPU for _, device in self.holders)
        return on_cpu and len(workers) == len(self.holders)


def store_arrays(segment: Segment, values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, the arrays among them where other workers find them."""
    columns = _columns(describe_arrays(values))
    slot = segment.give(_NUMBERING, _NUMBERING, place_columns(columns)[-1])
    arrays = slot.columns(columns)
    for name, array in arrays.items():
        array[:] = values[name]
    return {**values, **arrays}


def find_arrays(segment: Segment, described: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the first worker has stored, by their description."""
    slot = segment.find(_NUMBERING, _NUMBERING)
    assert slot is not None, "the first worker has stored it before this one was asked"
    return {**described, **slot.columns(_columns(described))}


def describe_arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with the size and type of arrays instead of these."""
    return {
        name: Column(name, value.size, value.dtype) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def _columns(described: Mapping[str, Any]) -> list[Column]:
    return [value for value in described.values() if isinstance(value, Column)]


async def share_memory(
    client: Client, workers: Sequence[str], holders: Holders
) -> tuple[Ticket | None, dict[str, Future]]:
    """The memory that workers share, as each of them has it; none where they cannot."""
    nothing: tuple[None, dict[str, Future]] = (None, {})
    if not 1 < len(workers) <= MOST_WORKERS or not config.get("exchange.shared-memory"):
        return nothing

    def submit(task: Callable[..., Any], worker: str, *arguments: Any) -> Future:
        return client.submit(
            task, *arguments, key=(task.__name__, new_run()), workers=[worker], pure=False
        )

    first = submit(create_sharing, workers[0], holders)
    ticket = await submit(read_ticket, workers[0], first)
    if ticket is None:
        return nothing
    others = [
        submit(open_sharing, worker, ticket, member, holders)
        for member, worker in enumerate(workers[1:], 1)
    ]
    await wait_all(others)
    if any(future.type is not Sharing for future in others):
        return nothing
    return ticket, dict(zip(workers, [first, *others], strict=True))


def create_sharing(holders: Holders) -> Sharing | None:
    """Memory for the workers of a placement to share; None where this system has none."""
    try:
        return Sharing(Segment.create(), holders) if can_meet() else None
    except OSError:
        return None


def read_ticket(sharing: Sharing | None) -> Ticket | None:
    """How other workers find this one's memory."""
    return None if sharing is None else sharing.segment.ticket


def open_sharing(ticket: Ticket, member: int, holders: Holders) -> Sharing | None:
    """The same memory on another worker; None where that is another host, or another user's."""
    segment = Segment.open(ticket, member)
    return None if segment is None else Sharing(segment, holders)
