"""Run Graph500 on a Dask cluster, then a search whose tree stays on its workers."""

import sys

from distributed import Client

import daskbfs
from daskbfs.bench import graph500
from daskbfs.progress import silent


def main(address=None):
    if address is None:  # without an address, two workers on this machine
        with daskbfs.local_cluster(n_workers=2) as cluster, cluster.get_client() as client:
            benchmark(client)
    else:  # for example that of cluster_configs/slurm.py: python graph500_on_a_cluster.py tcp://...
        with Client(address) as client, daskbfs.tune(client):
            benchmark(client)


def benchmark(client):
    plan = graph500.Plan(scale=14, n_keys=8)  # 64 keys and your largest scale, to be official
    outcome = graph500.run(plan, client, silent, print)
    for name, value in graph500.official(outcome).items():
        print(f"{name}: {value}")

    graph = daskbfs.distribute("kron:14", client)  # built by the workers; no edge comes here
    result = daskbfs.bfs(graph, int(graph.random_sources(1)[0]))
    print(result.levels)
    tree = result.to_dask_dataframe()  # vertex and parent, a partition on each worker
    print(f"{(tree.parent >= 0).sum().compute()} vertices have a parent")


if __name__ == "__main__":  # worker processes import this file
    main(*sys.argv[1:])
