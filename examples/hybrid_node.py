"""CPU and GPU workers in one cluster; here the GPU is emulated, so that it runs anywhere."""

import daskbfs


def main():
    # on a machine with GPUs: daskbfs.HybridCluster(n_cpu_workers=1, gpus="all")
    hybrid = daskbfs.HybridCluster(n_cpu_workers=1, gpus=0, emulated_gpus=1)
    with hybrid as cluster, cluster.get_client() as client:
        graph = daskbfs.kronecker(scale=14)
        graph = daskbfs.distribute(graph, client, strategy="high", cpu_share=0.6)
        print(graph.devices())
        result = daskbfs.bfs(graph, int(graph.random_sources(1)[0]))
        print(result.levels)  # a row for each level and device
        print(result)


if __name__ == "__main__":  # worker processes import this file
    main()
