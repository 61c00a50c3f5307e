"""Watch searches on the scheduler's dashboard, level by level and device by device."""

import daskbfs


def main():
    # clusters of daskbfs have the page from the start; on any other cluster, install it:
    #   daskbfs.install_dashboard(Client("tcp://scheduler:8786"))
    # or start its scheduler with: dask scheduler --preload daskbfs.dashboard
    with daskbfs.local_cluster(n_workers=2) as cluster, cluster.get_client() as client:
        print(f"Open {daskbfs.install_dashboard(client)} in a browser")
        graph = daskbfs.distribute("kron:16", client)
        for source in graph.random_sources(20):
            result = daskbfs.bfs(graph, int(source))
        print(result.levels)  # what the page shows of the newest search
        result.levels.save("levels.json")
        result.plot("levels.png")


if __name__ == "__main__":  # worker processes import this file
    main()
