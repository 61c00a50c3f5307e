"""What test_dask_cuda.py runs: dask-cuda's workers on invented GPUs, and searches there.

A stand-in for NVML and the host emulator take the place of the GPUs.
"""

from __future__ import annotations

import sys

from dask_cuda import LocalCUDACluster
from distributed import Client

import daskbfs
from daskbfs.names import Device


def search(client, kinds):
    """A valid tree over workers with these devices."""
    graph = daskbfs.kronecker(6)
    placed = daskbfs.distribute(graph, client, strategy="high")
    found = placed.placement.on(placed.devices())
    assert found == kinds, found
    source = int(graph.random_sources(1)[0])
    result = daskbfs.bfs(placed, source, driver="waves")
    daskbfs.validate(graph, source, result.parent, result.level)
    assert {record.device for record in result.levels} == set(kinds)
    print("valid", *found)


def on_local_cuda_cluster():
    """GPU workers as dask-cuda starts them; nothing else says that they are GPU workers."""
    with LocalCUDACluster(dashboard_address=":0") as cluster, Client(cluster) as client:
        search(client, [Device.GPU_EMULATED] * 2)


def on_hybrid_cluster():
    """A CPU worker beside them, in one cluster."""
    with daskbfs.HybridCluster(1, gpus="all") as cluster, cluster.get_client() as client:
        search(client, [Device.CPU, Device.GPU_EMULATED, Device.GPU_EMULATED])
        print("resources", sorted(str(w["resources"]) for w in _workers(client)))


def _workers(client):
    return client.scheduler_info(n_workers=-1)["workers"].values()


if __name__ == "__main__":
    {"local": on_local_cuda_cluster, "hybrid": on_hybrid_cluster}[sys.argv[1]]()
