"""Things that live on one worker and stay there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Absent:
    """What arrives elsewhere when a worker hands over its keys before it leaves."""

    what: str


class Pinned:
    """Something that is neither copied nor spilled: Dask cannot pickle it.

    A worker that retires may not leave before its keys are elsewhere. What it hands over is only
    the name of the thing; a worker that needs the thing makes it again.
    """

    __slots__ = ()

    @property
    def what(self) -> str:
        """What errors call it."""
        return type(self).__name__.lower()

    def __reduce__(self) -> tuple[Any, ...]:
        if _a_worker_is_leaving():
            return Absent, (self.what,)
        raise TypeError(f"{self.what} is pinned to its worker: it is neither copied nor spilled")


def _a_worker_is_leaving() -> bool:
    """Whether a worker of this process has been retired."""
    from distributed import Status, Worker

    return any(worker.status is Status.closing_gracefully for worker in Worker._instances)
