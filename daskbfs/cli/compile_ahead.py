"""Kernels that a command needs later, compiled by another process while it makes its graph."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from daskbfs.kernels.compile import CompilingAhead


def compile_ahead(*kinds: str, n_partitions: int = 1) -> CompilingAhead:
    """Have kernels compiled elsewhere, of some kinds: those that ``main`` knows."""
    return CompilingAhead([("daskbfs.cli.compile_ahead", str(n_partitions), *kinds)])


def main(n_partitions: int, kinds: Sequence[str]) -> None:
    """Compile the kernels of some kinds, in the order in which commands need them."""
    import numpy as np

    from daskbfs.algorithms.bfs.warmup import warm_kernels, warm_result
    from daskbfs.algorithms.components.program import warm_kernels as warm_forests
    from daskbfs.algorithms.components.result import warm_result as warm_names
    from daskbfs.algorithms.pagerank.program import warm_kernels as warm_ranks
    from daskbfs.engine.warmup import tiny_graph
    from daskbfs.graph.edge_stream import ArrayEdges
    from daskbfs.names import Device
    from daskbfs.validation.trees import Trees
    from daskbfs.validation.validate import validate

    if "search" in kinds:
        warm_result(np.dtype(np.int32), True)
        warm_kernels("uint32", n_partitions)
    if "pagerank" in kinds:
        warm_ranks("uint32", Device.CPU, np.float32, True)
    if "components" in kinds:
        warm_names()
        warm_forests("uint32", Device.CPU, n_partitions > 1)
    path = tiny_graph("uint32")
    level = np.arange(path.n_vertices, dtype=np.int32)
    parent = np.maximum(level - 1, 0)
    if "validation" in kinds:
        validate(path, 0, parent, level)
    if "trees" in kinds:
        trees = Trees(path)
        trees.add(0, parent, level)
        trees.check(ArrayEdges(parent[1:].astype(np.uint32), level[1:].astype(np.uint32)))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
