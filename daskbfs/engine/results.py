"""Where the parts of a result are, and how they come here: in this process, or on workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from distributed import Future

from daskbfs.cluster.futures import new_run
from daskbfs.cluster.liveness import WorkersLost, wait_unless_lost
from daskbfs.cluster.workers import workers_now
from daskbfs.distribution.placed_partitions import PlacedPartitions
from daskbfs.engine.exchange.shared_memory import SharedValues
from daskbfs.engine.superstep import MeasuredParts, Measurements, Parts
from daskbfs.engine.tasks import read_measurements
from daskbfs.kernels.buffers import ensure_owned


class Result(Protocol):
    """The parts of a finished run."""

    async def measurements(self) -> Measurements:
        """What was measured."""

    def release(self) -> None:
        """Release the parts: they will not be fetched."""

    def fetch(self) -> np.ndarray:
        """The values by global id, from wherever they are."""

    def read_in_place(self, use: Callable[[np.ndarray], None]) -> bool:
        """Use the values by global id where they are, if that can be read from this process.

        Returns whether they could be used, and did not change meanwhile.
        """

    async def bring_parts(self) -> Sequence[Parts]:
        """The parts by worker."""

    @property
    def asynchronous(self) -> bool:
        """Whether parts are brought by awaiting ``bring_parts``, not by ``fetch``."""


@dataclass(frozen=True, slots=True)
class LocalResult:
    """Parts in this process."""

    found: MeasuredParts
    asynchronous = False

    async def measurements(self) -> Measurements:
        return self.found.measured

    def release(self) -> None:
        """Nothing: memory is all that they take."""

    def read_in_place(self, use: Callable[[np.ndarray], None]) -> bool:
        use(self.fetch())
        return True

    def fetch(self) -> np.ndarray:
        return join_parts([self.found])

    async def bring_parts(self) -> Sequence[Parts]:
        return [self.found]


@dataclass(slots=True)
class RemoteResult:
    """Parts on the workers of a cluster; the first also has what was measured."""

    placed: PlacedPartitions
    futures: list[Future]
    """The parts, by worker."""
    fetched: list[Parts] | None = None
    values: SharedValues | None = None
    """Where the values are in memory that the workers share."""

    @property
    def asynchronous(self) -> bool:
        return bool(self.placed.client.asynchronous)

    def user_parts(self) -> list[tuple[Future, int]]:
        """For each partition, a future of its vertex ids and values, and how many there are."""
        return self.placed.user_parts(self.futures)

    def read_in_place(self, use: Callable[[np.ndarray], None]) -> bool:
        if self.values is None:
            return False
        slots = self.placed.read_slots
        there = slots.read(self.values.address)
        if there is None:
            return False
        column = self.values.column
        use(there[: column.size * np.dtype(column.dtype).itemsize].view(column.dtype))
        return slots.is_current(self.values.address)

    async def measurements(self) -> Measurements:
        """What was measured. Where the worker lives in this process, all of it is at hand then."""
        if self.placed.placement.in_this_process:
            first = (await self.bring_parts())[0]
            assert isinstance(first, MeasuredParts)
            self.values = first.measured.values
            return first.measured
        with self.placed.annotate():
            future = self.placed.client.submit(
                read_measurements,
                self.futures[0],
                key=(self.placed.task_group("read_measurements"), new_run()),
                workers=[self.placed.placement.coordinator],  # the parts stay where they are
                pure=False,
            )
        measured: Measurements = await future
        self.values = measured.values
        return measured

    def release(self) -> None:
        for part in self.futures:
            part.release()

    def fetch(self) -> np.ndarray:
        client = self.placed.client
        copies: list[np.ndarray] = []
        if self.fetched is None and self.read_in_place(lambda v: copies.append(v.copy())):
            return copies[0]
        if self.fetched is None and self.asynchronous:
            raise RuntimeError("the result is still on the cluster: 'await result.fetch()' first")
        return join_parts(self.fetched or client.sync(self.bring_parts))

    async def bring_parts(self) -> list[Parts]:
        if self.fetched is not None:
            return self.fetched
        try:
            self.fetched = await self._gather(self.placed.processes)
        except WorkersLost as loss:
            holders = await self._find_holders()
            if holders is None:
                self.release()
                raise RuntimeError(
                    f"the result is lost, since {loss}: compute it again, and fetch it before that"
                ) from loss
            self.fetched = await self._gather(holders)
        return self.fetched

    async def _gather(self, processes: Mapping[str, str]) -> list[Parts]:
        client = self.placed.client
        bringing: Awaitable[list[Parts]] = client.gather(self.futures, direct=True)
        return await wait_unless_lost(client, processes, bringing)

    async def _find_holders(self) -> dict[str, str] | None:
        """The workers that have the parts now, since others retired; None where any is lost."""
        client = self.placed.client
        keys = [part.key for part in self.futures]
        scheduler: Any = client.scheduler
        holders = (await scheduler.who_has(keys=keys)).values()
        if not all(holders):
            return None
        now = await workers_now(client)
        return {w: now[w].process for workers in holders for w in workers if w in now}


def join_parts(by_worker: Sequence[Parts]) -> np.ndarray:
    """The values by global id."""
    parts = sorted((p for held in by_worker for p in held.parts), key=lambda part: part.first)
    if len(parts) == 1:
        alone: np.ndarray = ensure_owned(parts[0].values)
        return alone
    return np.concatenate([part.values for part in parts])
