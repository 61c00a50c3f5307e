"""The searches of others: each gives a tree that passes the five checks."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import daskbfs
from daskbfs.bench.systems.baselines import (
    Edges,
    cpu_csr,
    cpu_list,
    gpu_csr,
    gpu_out_of_core,
    linear_algebra,
)
from daskbfs.bench.systems.race import input_edges
from daskbfs.graph.generators import random_origin
from daskbfs.kernels.gpu import emulator
from tests.support import naive

EDGES = {
    "kronecker": random_origin("kron", 9, 16, 1),
    "uniform": random_origin("uniform", 8, 2, 1),
}
SMALL = {
    "path": [(i, i + 1) for i in range(40)],
    "loops and duplicates": [(0, 0), (0, 1), (1, 0), (0, 1), (2, 2), (5, 4), (4, 5)],
    "star": [(7, i) for i in range(30) if i != 7],
}


@pytest.fixture(scope="module")
def client():
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        yield client


def of_pairs(pairs):
    heads, tails = np.array(pairs, np.uint32).T
    return Edges(heads.copy(), tails.copy(), int(max(heads.max(), tails.max())) + 3)


ALL = {name: input_edges(origin)[0] for name, origin in EDGES.items()} | {
    name: of_pairs(pairs) for name, pairs in SMALL.items()
}


def kernels(name, client):
    return {
        "cpu-list": (cpu_list.kernel1, cpu_list.kernel2),
        "cpu-csr": (cpu_csr.kernel1, cpu_csr.kernel2),
        "gpu-csr": (lambda edges: gpu_csr.kernel1(edges, np), gpu_csr.kernel2),
        "gpu-out-of-core": (
            lambda edges: gpu_out_of_core.kernel1(edges, np, 50),
            gpu_out_of_core.kernel2,
        ),
        "linear-algebra": (
            lambda edges: linear_algebra.kernel1(edges, client, 2),
            linear_algebra.kernel2,
        ),
        "linear-algebra in stripes": (
            lambda edges: linear_algebra.kernel1(edges, client, 3),
            linear_algebra.kernel2,
        ),
    }[name]


@pytest.mark.slow
@pytest.mark.parametrize("graph", ALL)
@pytest.mark.parametrize(
    "name",
    ["cpu-list", "cpu-csr", "gpu-csr", "gpu-out-of-core", "linear-algebra",
     "linear-algebra in stripes"],
)  # fmt: skip
def test_every_baseline_finds_a_tree_of_shortest_paths(name, graph, client):
    edges = ALL[graph]
    kernel1, kernel2 = kernels(name, client)
    made = kernel1(edges)
    pairs = list(zip(edges.heads.tolist(), edges.tails.tolist(), strict=True))
    whole = daskbfs.from_edges(np.array(pairs), n_vertices=edges.n_vertices)
    isolated = edges.n_vertices - 1 if graph in SMALL else None
    for source in {int(edges.heads[0]), int(edges.tails[-1]), isolated} - {None}:
        parent = kernel2(made, source)
        level = naive.levels(pairs, source)
        assert {v for v in range(edges.n_vertices) if parent[v] >= 0} == set(level) | {source}
        daskbfs.validate(whole, source, parent)


def test_the_smallest_parent_wins_in_the_semiring(client):
    edges = of_pairs([(9, 5), (9, 2), (9, 7), (5, 1), (2, 1), (7, 1)])
    parent = linear_algebra.kernel2(linear_algebra.kernel1(edges, client, 2), 9)
    assert parent[1] == 2


def test_edge_blocks_hold_no_more_arcs_than_they_may_and_rows_may_be_split():
    edges = ALL["star"]
    made = gpu_out_of_core.kernel1(edges, np, 4)
    assert [block.indices.size for block in made.blocks] == [4] * 14 + [2]
    parts = [block for block in made.blocks if 7 in made.rows.vertex[block.rows]]
    assert len(parts) > 5
    assert sum(block.indptr[-1] for block in made.blocks) == made.rows.indices.size


I8, I64, U32 = types.int8[::1], types.int64[::1], types.uint32[::1]
SIGNATURES = {
    gpu_csr.spread_wave: (I64, U32, I8, I8, I64, I8),
    gpu_csr.settle_wave: (I8, I8, I8, I8),
    gpu_out_of_core.relax_rows: (U32, I64, U32, types.int32[::1], I64, I8),
}


def test_kernels_of_baselines_are_all_compiled_for_a_gpu():
    assert set(SIGNATURES) == {*gpu_csr.KERNELS, *gpu_out_of_core.KERNELS}
    for kernel, arguments in SIGNATURES.items():
        entry, texts = emulator.device_code(kernel, types.void(*arguments))
        assert any(entry in text for text in texts)
