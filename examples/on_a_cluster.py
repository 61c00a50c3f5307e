"""Search a graph whose partitions live on the workers of a Dask cluster."""

import daskbfs


def main():
    # or Client("tcp://scheduler:8786"): any Dask cluster will do
    with daskbfs.local_cluster(n_workers=2) as cluster, cluster.get_client() as client:
        print(f"Watch the task stream at {client.dashboard_link}")
        graph = daskbfs.distribute(daskbfs.kronecker(scale=14), client)
        print(graph)
        for source in graph.random_sources(3):
            result = daskbfs.bfs(graph, int(source))
            print(result)
        print(result.levels)
        print(result.phases)
        _, parents = result.to_dask()  # vertex ids and parents, left on the workers
        print(f"{(parents >= 0).sum().compute()} vertices have a parent")


if __name__ == "__main__":  # worker processes import this file
    main()
