"""Clusters of our own, and low latency on anybody's.

Dask's batched streams wait 2 to 10 ms before they send, to send more at once. A level of a search
is shorter than that. :func:`tune` makes them send at once, until it is undone.
"""

from __future__ import annotations

import atexit
import gc
import importlib.util
import logging
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import dask
from distributed import Client, Future, LocalCluster, get_worker, wait
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

from daskbfs.partition import Partition
from daskbfs.placement import workers_per_machine
from daskbfs.superstep import Share
from daskbfs.warming import touch, warm, warm_mirror

_logger = logging.getLogger(__name__)
_PLUGIN = "daskbfs-low-latency"


class _Streams:
    """Streams of one process that send at once for as long as anybody wants them to."""

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
        """Restore the streams when nobody wants them to hurry any more."""
        self._wanted_by.discard(who)
        if not self._wanted_by:
            for stream, interval in self._intervals.values():
                stream.interval = interval
            self._intervals.clear()

    @property
    def hurrying(self) -> bool:
        """Whether anybody wants low latency here."""
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


def tune(client: Client) -> Any:
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


class TunedCluster(TunedClients, LocalCluster):  # type: ignore[misc]
    """A local cluster whose clients have low latency."""


LEAVE_INTERRUPTS = """
import signal

def dask_setup(worker):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
"""


LOOPBACK = "127.0.0.1"
"""Where everything listens that we start: Dask's workers run whatever reaches them."""


def on_host(host: str, address: str) -> str:
    """A dashboard's address, on a host where it names none."""
    if not address.startswith(":"):
        return address
    return f"[{host}]{address}" if ":" in host else host + address


def with_our_page(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a scheduler that has our page on its dashboard, beside what it preloads anyway."""
    preloads = options.get("preload", dask.config.get("distributed.scheduler.preload"))
    words = options.get("preload_argv", dask.config.get("distributed.scheduler.preload-argv"))
    preloads = [preloads] if isinstance(preloads, str) else list(preloads or ())
    words = [words] * len(preloads) if words and isinstance(words[0], str) else list(words or ())
    words += [[]] * (len(preloads) - len(words))
    return {**options, "preload": [*preloads, "daskbfs.dashboard"], "preload_argv": [*words, []]}


def local_cluster(n_workers: int = 1, **options: Any) -> TunedCluster:
    """A cluster on this machine: one worker in this process, or several processes.

    All of its ports listen on this machine only, unless ``host`` and ``dashboard_address`` among
    the options say otherwise: whoever reaches a Dask worker can run code there. What this process
    has loaded so far is exempted from garbage collection (``gc.freeze``).

    Parameters
    ----------
    n_workers
        CPU workers; their kernels divide the machine's cores among them. One worker lives in this
        process, so that nothing needs to be sent anywhere.
    options
        For :class:`distributed.LocalCluster`.

    Examples
    --------
    >>> import daskbfs
    >>> with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
    ...     graph = daskbfs.distribute(daskbfs.kronecker(scale=8), client)
    ...     daskbfs.bfs(graph, source=int(graph.random_sources(1)[0])).reached > 10
    True
    """
    defaults = {
        "n_workers": n_workers,
        "processes": n_workers > 1,
        "threads_per_worker": 1,
        "dashboard_address": on_host(LOOPBACK, ":0"),
        "worker_dashboard_address": on_host(LOOPBACK, ":0"),  # a worker in this process has no host
        "memory_limit": 0,  # partitions are pinned: a worker must not pause or spill
    }
    options["scheduler_kwargs"] = with_our_page(options.get("scheduler_kwargs") or {})
    if n_workers > 1:
        defaults["preload"] = [LEAVE_INTERRUPTS]
    with dask.config.set({"distributed.admin.event-loop": fastest_event_loop()}):
        cluster = TunedCluster(**defaults | options)
    exempt_from_collection()
    return cluster


def fastest_event_loop() -> str:
    """What Dask's processes should run on: uvloop where there is one, else what is configured."""
    if importlib.util.find_spec("uvloop") is not None:
        return "uvloop"
    configured: str = dask.config.get("distributed.admin.event-loop")
    return configured


def exempt_from_collection() -> None:
    """Take what is there now out of the garbage collector's sight.

    A full collection looks at every object that numba and Dask made, and would stop this process
    for 50 ms in the middle of a search.
    """
    gc.collect()
    gc.freeze()


def warm_worker(indptr_dtype: str, n_partitions: int, partitions: Sequence[Partition]) -> None:
    """Make kernels and memory ready on this worker; a tuned one collects less from now on."""
    device = partitions[0].home.device
    warm(indptr_dtype, n_partitions, device)
    if any(partition.mirror for partition in partitions):
        warm_mirror(device)
    touch(partitions)
    if _Streams.of(get_worker()).hurrying:
        exempt_from_collection()


def new_run() -> str:
    """A name that no other attempt has, so that no two share a key."""
    return uuid.uuid4().hex[:16]


def machine_shares(workers: Sequence[str], n_threads: int | None = None) -> dict[str, Share]:
    """How much of its machine each worker's kernels may take."""
    sizes = workers_per_machine(workers)
    return {worker: Share(n_threads, n, worker) for worker, n in sizes.items()}


async def settled(futures: Sequence[Future]) -> None:
    """Wait for futures, without fetching them; raise what they raised."""
    with futures[0].client.as_current():  # the process may have other clients, on other loops
        await wait(list(futures))
    for future in futures:
        if future.status != "finished":
            await future


_EMBEDDED: dict[int, Client] = {}


def current_client() -> Client:
    """Dask's current client; where there is none, that of a cluster inside this process."""
    try:
        client: Client = Client.current()
    except ValueError:  # no client is running
        return embedded_client()
    return client if client.status == "running" else embedded_client()


def embedded_client() -> Client:
    """The client of a cluster inside this process, started when it is first needed."""
    client = _EMBEDDED.get(os.getpid())  # a forked process has not inherited the cluster's threads
    if client is None or client.status != "running":
        _logger.info("no Dask client is running: starting a cluster inside this process")
        cluster = local_cluster()
        client = cluster.get_client()
        _EMBEDDED[os.getpid()] = client
        atexit.register(_close, client, cluster)
    return client


def _close(client: Client, cluster: LocalCluster) -> None:
    close: Callable[[], Any]
    for close in (client.close, cluster.close):
        close()
