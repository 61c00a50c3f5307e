"""What each strategy gives to CPUs and GPUs, and what then goes between them.

The GPU is emulated: its partitions and messages are those of a GPU, its times are not.
"""

import daskbfs
from daskbfs.names import Device
from daskbfs.partition.statistics import survey


def main():
    graph = daskbfs.kronecker(scale=12)
    source = int(graph.random_sources(1)[0])
    hybrid = daskbfs.HybridCluster(n_cpu_workers=1, gpus=0, emulated_gpus=1)
    with hybrid as cluster, cluster.get_client() as client:
        print("strategy  CPU's vertices  CPU's edges  boundary edges  messages")
        for strategy in ("high", "low", "random"):
            placed = daskbfs.distribute(graph, client, strategy=strategy, cpu_share=0.5)
            result = daskbfs.bfs(placed, source)
            daskbfs.validate(graph, source, result.parent)
            cpu, gpu = survey(graph, placed.layout, [Device.CPU, Device.GPU_EMULATED])
            print(
                f"{strategy:8}  {cpu.vertex_share:14.1%}  {cpu.edge_share:11.1%}  "
                f"{cpu.boundary_edges + gpu.boundary_edges:14,}  "
                f"{cpu.aggregated_messages + gpu.aggregated_messages:8,}"
            )
            placed.release()
        print(result.levels)  # a row for each level and device


if __name__ == "__main__":  # worker processes import this file
    main()
