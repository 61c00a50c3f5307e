"""A client of the cluster to work on, and a graph where it is to be searched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from distributed import Client
from distributed.comm.addressing import normalize_address, parse_address, parse_host_port
from distributed.utils import get_ip

from daskbfs.cluster.hybrid import HybridCluster
from daskbfs.cluster.local import local_cluster
from daskbfs.cluster.tuning import tune
from daskbfs.distribution.distributed_graph import DistributedGraph, distribute, require_graph
from daskbfs.graph.build import build_graph
from daskbfs.graph.edge_stream import Origin
from daskbfs.graph.graph import Graph
from daskbfs.names import Device
from daskbfs.partition.placement import in_this_process
from daskbfs.partition.placement import machine as machine_of
from daskbfs.progress import Progress, silent


@contextlib.contextmanager
def client_for(
    *,
    direct: bool,
    n_workers: int | None = None,
    scheduler: str | None = None,
    devices: Sequence[Device] = (),
) -> Iterator[Client | None]:
    """A client of the cluster to search on, a given one or one of our own; None is without Dask."""
    if direct:
        yield None
    elif scheduler is not None:
        check_address(scheduler)
        with Client(scheduler, set_as_default=False) as client, tune(client):
            yield client
    else:
        cluster: Any
        if devices:
            cluster = HybridCluster(*[devices.count(kind) for kind in Device])
        else:
            cluster = local_cluster(n_workers or 1)
        with cluster, cluster.get_client() as client:
            yield client


def place(
    origin: Origin,
    client: Client | None,
    *,
    strategy: str = "auto",
    cpu_share: float | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Graph | DistributedGraph:
    """Build a graph where it is to be searched; workers in other processes build it themselves."""
    if client is None:
        return build_graph(origin, progress)
    here = in_this_process(require_workers(client))
    placed: DistributedGraph = distribute(
        build_graph(origin, progress) if here else origin,
        client,
        strategy=strategy,
        cpu_share=cpu_share,
        seed=seed,
        progress=progress,
    )
    return placed


def require_workers(client: Client) -> list[str]:
    """The workers of a cluster, by address; an error where there are none."""
    workers = list(client.nthreads())
    if not workers:
        scheduler: Any = client.scheduler
        raise RuntimeError(
            f"the cluster at {scheduler.address} has no workers: start some, for example with "
            f"'dask worker {scheduler.address}'"
        )
    return workers


def is_here(worker: str) -> bool:
    """Whether a worker is on this machine, as far as its address tells."""
    return worker.startswith("inproc://") or machine_of(worker) in ("127.0.0.1", "::1", get_ip())


def check_address(scheduler: str) -> None:
    """Refuse what is no address, before a client waits for it."""
    try:
        scheme, location = parse_address(normalize_address(scheduler))
        if scheme in ("tcp", "tls"):
            parse_host_port(location)
    except ValueError as error:
        raise ValueError(
            f"scheduler {scheduler!r} is no address ({error}): give, for example, "
            "tcp://127.0.0.1:8786"
        ) from None


def built_seconds(placed: Graph | DistributedGraph) -> float:
    """How long the construction took."""
    return require_graph(placed).construction_seconds
