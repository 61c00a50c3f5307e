"""Low latency on a cluster, for as long as a client wants it.

Dask's batched streams wait 2 to 10 ms before they send, to send more at once. A level of a search
is shorter than that. :func:`tune` makes them send at once, until it is undone.
"""

from __future__ import annotations

import gc
import importlib.util
import uuid
from collections.abc import Iterable
from typing import Any

import dask
from distributed import Client
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

_PLUGIN = "daskbfs-low-latency"


class _Streams:
    """Streams of one process that send at once for as long as at least one tuning is open."""

    def __init__(self) -> None:
        self._wanted_by: set[str] = set()
        self._intervals: dict[int, tuple[Any, float]] = {}

    def hurry(self, who: str, streams: Iterable[Any]) -> None:
        """Make streams send at once."""
        self._wanted_by.add(who)
        for stream in streams:
            if id(stream) not in self._intervals:
                self._intervals[id(stream)] = (stream, stream.interval)
                stream.interval = 0

    def relax(self, who: str) -> None:
        """End one tuning; the last to end restores the streams."""
        self._wanted_by.discard(who)
        if not self._wanted_by:
            for stream, interval in self._intervals.values():
                stream.interval = interval
            self._intervals.clear()

    @property
    def hurrying(self) -> bool:
        """Whether at least one tuning is open here."""
        return bool(self._wanted_by)

    @classmethod
    def of(cls, owner: Any) -> _Streams:
        """The streams of a scheduler, a worker or a client."""
        if not hasattr(owner, "daskbfs_streams"):
            owner.daskbfs_streams = cls()
        streams: _Streams = owner.daskbfs_streams
        return streams


class _HurryScheduler(SchedulerPlugin):  # type: ignore[misc]
    """Makes the scheduler's streams send at once, also to those who join later."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.name = f"{_PLUGIN}-{who}"

    async def start(self, scheduler: Any) -> None:
        self._hurry(scheduler)

    def _hurry(self, scheduler: Any) -> None:
        streams = [*scheduler.stream_comms.values(), *scheduler.client_comms.values()]
        _Streams.of(scheduler).hurry(self.who, streams)

    def add_worker(self, scheduler: Any, worker: str) -> None:
        self._hurry(scheduler)

    def add_client(self, scheduler: Any, client: str) -> None:
        self._hurry(scheduler)

    def remove_client(self, scheduler: Any, client: str) -> None:
        if self.who.startswith(client):  # it went without a word
            scheduler.loop.add_callback(self._end, scheduler)

    async def _end(self, scheduler: Any) -> None:
        """Take back what a client did that is gone."""
        if self.name in scheduler.plugins:
            scheduler.remove_plugin(name=self.name)
        if self.name in scheduler.worker_plugins:
            await scheduler.unregister_worker_plugin(comm=None, name=self.name)
        _Streams.of(scheduler).relax(self.who)


class _RelaxScheduler(SchedulerPlugin):  # type: ignore[misc]
    """Undoes what _HurryScheduler did for one client: unregistering calls nothing there."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.name = f"{_PLUGIN}-end-{who}"

    async def start(self, scheduler: Any) -> None:
        _Streams.of(scheduler).relax(self.who)


class _HurryWorker(WorkerPlugin):  # type: ignore[misc]
    """Makes a worker's stream to the scheduler send at once."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.name = f"{_PLUGIN}-{who}"

    def setup(self, worker: Any) -> None:
        _Streams.of(worker).hurry(self.who, [worker.batched_stream])

    def teardown(self, worker: Any) -> None:
        _Streams.of(worker).relax(self.who)


class Tuning:
    """Low latency on a cluster, until ``close``; also a context manager."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._who = f"{client.id}-{uuid.uuid4().hex[:8]}"  # a client may tune more than once
        self._open = True

    async def _start(self) -> Tuning:
        client = self._client
        _Streams.of(client).hurry(self._who, [client.scheduler_comm])
        await client.register_plugin(_HurryScheduler(self._who))
        await client.register_plugin(_HurryWorker(self._who))
        return self

    async def _stop(self) -> None:
        client = self._client
        if client.status == "running":
            await client.unregister_worker_plugin(f"{_PLUGIN}-{self._who}")
            await client.unregister_scheduler_plugin(f"{_PLUGIN}-{self._who}")
            await client.register_plugin(_RelaxScheduler(self._who))
            await client.unregister_scheduler_plugin(f"{_PLUGIN}-end-{self._who}")
        _Streams.of(client).relax(self._who)

    def close(self) -> Any:
        """Restore the cluster's own intervals; to be awaited with an asynchronous client."""
        if self._open and self._client.status == "running":
            self._open = False
            return self._client.sync(self._stop)
        self._open = False  # the scheduler has noticed that the client is gone
        return None

    def __repr__(self) -> str:
        return f"<low latency for {self._client.id}, {'on' if self._open else 'off'}>"

    def __enter__(self) -> Tuning:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Tuning:
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._open:
            self._open = False
            await self._stop()


def tune(client: Client) -> Tuning:
    """Cut the batching intervals of a client's cluster, for as long as a search needs them cut.

    Workers that search for a tuned client also exempt what they have loaded from garbage
    collection (``gc.freeze``), since a full collection takes longer than a level.

    Parameters
    ----------
    client
        A Dask client. Workers that join later are covered; when several clients tune one cluster,
        the last to close restores it.

    Returns
    -------
    Tuning
        Call ``close()`` to restore the intervals, or use it in a ``with`` block. With an
        asynchronous client, ``await tune(client)``.

    Examples
    --------
    >>> import daskbfs
    >>> with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
    ...     with daskbfs.tune(client):
    ...         client.submit(sum, [1, 2]).result()
    3
    """
    return client.sync(Tuning(client)._start)


class TunedClients:
    """A cluster whose clients have low latency."""

    def get_client(self) -> Client:
        """A client that is tuned from the start."""
        client: Client = super().get_client()  # type: ignore[misc]
        if not self.asynchronous:  # type: ignore[attr-defined]
            tune(client)
        return client


def fastest_event_loop() -> str:
    """What Dask's processes should run on: uvloop where there is one, else what is configured."""
    if importlib.util.find_spec("uvloop") is not None:
        return "uvloop"
    configured: str = dask.config.get("distributed.admin.event-loop")
    return configured


def is_tuned(owner: Any) -> bool:
    """Whether the streams of a scheduler, a worker or a client send at once."""
    return _Streams.of(owner).hurrying


def exempt_from_collection() -> None:
    """Take what is there now out of the garbage collector's sight.

    A full collection looks at every object that numba and Dask made, and would stop this process
    for 50 ms in the middle of a search.
    """
    gc.collect()
    gc.freeze()
