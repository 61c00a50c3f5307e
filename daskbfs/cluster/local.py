"""Clusters on this machine, and the client that is used where none is given."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

import dask
from distributed import Client, LocalCluster
from distributed.utils import format_dashboard_link

from daskbfs.cluster.tuning import TunedClients, exempt_from_collection, fastest_event_loop

_logger = logging.getLogger(__name__)


class TunedCluster(TunedClients, LocalCluster):  # type: ignore[misc]
    """A local cluster whose clients have low latency."""

    @property
    def dashboard_link(self) -> str:
        """Where the dashboard is: on this machine only, where the scheduler is in this process."""
        link: str = super().dashboard_link
        port = self.scheduler_info["services"].get("dashboard")
        if port is None or not self.scheduler_address.startswith("inproc://"):
            return link
        shown: str = format_dashboard_link(LOOPBACK, port)
        return shown


WORKER_SETUP = """
import logging, signal

def is_news(record):  # a heartbeat may be under way when the cluster is closed
    return not record.getMessage().startswith("Failed to communicate with scheduler during heart")

def dask_setup(worker):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    logging.getLogger("distributed.worker").addFilter(is_news)
"""
"""A preload of each worker process that we start."""

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
    the options say otherwise: any program that reaches a Dask worker can run code there. What this
    process has loaded so far is exempted from garbage collection (``gc.freeze``).

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
        defaults["preload"] = [WORKER_SETUP]
    with dask.config.set({"distributed.admin.event-loop": fastest_event_loop()}):
        cluster = TunedCluster(**defaults | options)
    exempt_from_collection()
    return cluster


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
