"""PageRank on the same engine: both drivers, all strategies, against networkx."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from distributed.utils_test import gen_cluster

import daskbfs
from daskbfs.bench.ranking import main as benchmark
from daskbfs.cli import main
from daskbfs.names import Device
from daskbfs.partition.partition import Partition
from tests.support.in_process import ranked

pytestmark = pytest.mark.usefixtures("on_the_cluster")


def graphs():
    rng = np.random.default_rng(4)
    edges = rng.integers(0, 300, size=(900, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    return {
        "undirected": nx.Graph(edges.tolist()),
        "directed": nx.DiGraph(edges.tolist()),
        "isolated": nx.union(nx.karate_club_graph(), nx.empty_graph(5), rename=("a", "b")),
        "dangling": nx.DiGraph([(0, 1), (1, 2), (0, 2), (3, 2)]),
        "path": nx.path_graph(40),
    }


CPU, EMULATED = Device.CPU, Device.GPU_EMULATED
GPU_WORKER = "127.0.0.1", 1, {"resources": {"GPU-EMULATED": 1}}
GRAPHS = graphs()
PRECISE = {"tolerance": 1e-11, "max_iterations": 500}


@pytest.fixture(params=GRAPHS)
def pair(request):
    """A graph of networkx with ids of integers, and ours."""
    theirs = nx.convert_node_labels_to_integers(GRAPHS[request.param], ordering="sorted")
    edges = np.array([(u, v) for u, v in theirs.edges()])
    ours = daskbfs.from_edges(
        edges, directed=theirs.is_directed(), n_vertices=theirs.number_of_nodes()
    )
    unweighted = type(theirs)(theirs.edges())
    unweighted.add_nodes_from(theirs)
    return unweighted, ours


def check(theirs, result, **options):
    expected = nx.pagerank(theirs, tol=1e-12, max_iter=1000, **options)
    found = dict(zip(result.vertices.tolist(), result.rank.tolist(), strict=True))
    assert found.keys() == expected.keys()
    for vertex, rank in expected.items():
        assert found[vertex] == pytest.approx(rank, abs=1e-6), vertex
    assert result.rank.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("driver", ["direct", "auto"])
def test_ranks_are_those_of_networkx(pair, driver):
    theirs, ours = pair
    check(theirs, daskbfs.pagerank(ours, **PRECISE, driver=driver))
    check(theirs, daskbfs.pagerank(ours, damping=0.5, **PRECISE, driver=driver), alpha=0.5)


def test_personal_ranks_are_those_of_networkx(pair):
    theirs, ours = pair
    wishes = {0: 3.0, 2: 1.0}
    result = daskbfs.pagerank(ours, **PRECISE, personalization=wishes)
    check(theirs, result, personalization=wishes)
    alone = theirs.number_of_nodes() - 1
    check(theirs, daskbfs.pagerank(ours, **PRECISE, personalization={alone: 1}),
          personalization={alone: 1})  # fmt: skip


@pytest.mark.parametrize("strategy", ["high", "low", "random"])
@pytest.mark.parametrize("driver", ["waves", "resident"])
@gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)] * 2,
    clean_kwargs={"processes": False, "threads": False},
)
async def test_ranks_do_not_depend_on_how_the_graph_is_partitioned(
    c, s, *workers, strategy, driver
):
    for directed in (False, True):
        edges = np.random.default_rng(1).integers(0, 400, size=(2000, 2))
        graph = daskbfs.from_edges(edges, directed=directed, n_vertices=450)
        here = daskbfs.pagerank(graph, driver="direct", iterations=20)
        placed = await daskbfs.distribute(graph, c, n_partitions=5, strategy=strategy)
        there = await daskbfs.pagerank(placed, driver=driver, iterations=20)
        assert there.driver == driver
        assert there.iterations == here.iterations == 20
        assert there.levels.n_levels == 21
        assert np.allclose(there.rank, here.rank, rtol=1e-6)
        assert {record.partition for record in there.levels} == set(range(5))
        placed.release()


@pytest.mark.parametrize("strategy", ["high", "low", "random"])
@pytest.mark.parametrize("devices", [[EMULATED], [CPU, EMULATED], [CPU, EMULATED, EMULATED]])
def test_emulated_devices_find_the_ranks_of_networkx(pair, devices, strategy):
    theirs, ours = pair
    result, _ = ranked(ours, devices, strategy=strategy)
    check(theirs, result)
    assert {record.device for record in result.levels} == set(devices)
    wishes = {0: 3.0, theirs.number_of_nodes() - 1: 1.0}
    result, _ = ranked(ours, devices, strategy=strategy, wishes=wishes)
    check(theirs, result, personalization=wishes)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("devices", "limit"), [([EMULATED], 400_000), ([CPU, EMULATED], 300_000)])
def test_ranks_over_streamed_arcs_are_those_of_networkx(devices, limit, directed):
    edges = np.random.default_rng(2).integers(0, 4000, size=(100_000, 2))
    edges = edges[edges[:, 0] % 7 != edges[:, 1] % 7]
    edges = edges[
        edges[:, 0] % 5 != 0
    ]  # these vertices have no arc out of them, where edges have a direction
    theirs = (nx.DiGraph if directed else nx.Graph)(edges.tolist())
    ours = daskbfs.from_edges(edges, directed=directed)
    result, partitions = ranked(ours, devices, limit=limit)
    check(theirs, result)
    arcs = partitions[-1].into.indices
    assert arcs.streamed
    assert len(arcs.blocks) > 2


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("strategy", ["high", "low", "random"])
@pytest.mark.parametrize("driver", ["waves", "resident"])
@gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1), GPU_WORKER],
    clean_kwargs={"processes": False, "threads": False},
)
async def test_cpu_and_gpu_workers_find_the_same_ranks(c, s, *workers, strategy, driver):
    for directed in (False, True):
        edges = np.random.default_rng(1).integers(0, 400, size=(2000, 2))
        graph = daskbfs.from_edges(edges, directed=directed, n_vertices=450)
        here = daskbfs.pagerank(graph, driver="direct", iterations=20)
        placed = await daskbfs.distribute(graph, c, strategy=strategy, cpu_share=0.5)
        there = await daskbfs.pagerank(placed, driver=driver, iterations=20)
        assert np.allclose(there.rank, here.rank, rtol=1e-6)
        of_partition = {record.partition: record.device for record in there.levels}
        assert of_partition == {0: CPU, 1: EMULATED}
        assert "emulated: no GPU's time" in repr(there)
        placed.release()


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("driver", ["waves", "resident"])
@gen_cluster(
    client=True,
    nthreads=[GPU_WORKER] * 2,
    config={"daskbfs.gpu.memory-limit": 250_000},
    clean_kwargs={"processes": False, "threads": False},
)
async def test_gpu_workers_alone_rank_a_graph_larger_than_their_memory(c, s, *workers, driver):
    graph = daskbfs.kronecker(12)
    here = daskbfs.pagerank(graph, driver="direct", **PRECISE)
    placed = await daskbfs.distribute(graph, c)
    assert placed.placement.on(placed.devices()) == [EMULATED] * 2
    values = [value for worker in workers for value in worker.data.values()]
    streamed = [value.into.indices.streamed for value in values if isinstance(value, Partition)]
    assert streamed == [True, True]
    there = await daskbfs.pagerank(placed, driver=driver, **PRECISE)
    assert np.allclose(there.rank, here.rank, rtol=0, atol=1e-9)
    placed.release()


def test_a_search_and_ranks_share_one_distributed_graph(kron12):
    placed = daskbfs.distribute(kron12, n_partitions=2)
    first = daskbfs.pagerank(placed)
    source = first.top(1)[0][0]
    assert daskbfs.bfs(placed, source).reached > 100
    assert np.array_equal(daskbfs.pagerank(placed).rank, first.rank)


def test_fixed_iterations_and_tolerance(kron12):
    fixed = daskbfs.pagerank(kron12, iterations=7)
    assert fixed.iterations == 7
    assert fixed.edges_per_second == pytest.approx(kron12.n_edges * 7 / fixed.seconds)
    loose, tight = (daskbfs.pagerank(kron12, tolerance=t).iterations for t in (1e-5, 1e-9))
    assert loose < tight
    with pytest.raises(RuntimeError, match=r"still change by .* after 3 iterations, and less than"):
        daskbfs.pagerank(kron12, tolerance=1e-12, max_iterations=3)
    edges = [record.edges_examined for record in fixed.levels]
    assert edges == [0] + [kron12.n_arcs] * 7


def test_sparse_ids():
    result = daskbfs.pagerank(daskbfs.from_edges([(10**12, 5), (5, 70)]), **PRECISE)
    assert result.vertices.tolist() == [5, 70, 10**12]
    assert result.top(1)[0][0] == 5
    assert "3 vertices" in repr(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.0}, "damping 1.0 is out of range"),
        ({"tolerance": 0}, "tolerance 0 is out of range"),
        ({"iterations": 0}, "0 iterations are out of range"),
        ({"personalization": {9: 1}}, "vertex 9 is not in the graph"),
        ({"personalization": {0: -1}}, "weight -1 of vertex 0 is out of range"),
        ({"personalization": {0: 0.0}}, "no weight above 0"),
        ({"driver": "x"}, "driver 'x' is unknown"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        daskbfs.pagerank(daskbfs.from_edges([(0, 1)]), **options)


def test_a_graph_without_edges_has_no_ranks():
    with pytest.raises(ValueError, match="has no edges"):
        daskbfs.pagerank(daskbfs.from_edges(np.empty((0, 2), int), n_vertices=3))


def invoke(*words):
    return CliRunner().invoke(main, ["pagerank", *map(str, words)])


@pytest.mark.parametrize(
    "words",
    [
        ("--driver", "direct"),
        pytest.param(("--workers", 2), marks=pytest.mark.slow),
        pytest.param(("--devices", "cpu=1,gpu-emulated=1"), marks=pytest.mark.slow),
    ],
)
def test_the_command_ranks_and_writes_records(tmp_path, words):
    done = invoke("kron:9", "--iterations", 4, "--top", 3, "--json", tmp_path / "r.json", *words)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "r.json").read_text())
    expected = daskbfs.pagerank(daskbfs.kronecker(9), driver="direct", iterations=4)
    assert [found["vertex"] for found in report["top"]] == [v for v, _ in expected.top(3)]
    assert report["iterations"] == 4
    assert report["graph"]["n_vertices"] == 512
    assert len({record["level"] for record in report["levels"]}) == 5
    assert f"{expected.top(1)[0][0]}" in done.output
    assert "4 iterations" in done.output
    assert ("emulated: no GPU's time" in done.output) == ("--devices" in words)


def test_the_command_refuses_what_has_no_meaning():
    done = invoke("kron:5", "--direction", "top_down")
    assert done.exit_code == 2
    assert "PageRank always pulls" in done.output
    done = invoke("kron:5", "--damping", "1")
    assert done.exit_code == 2


def test_the_benchmark_times_ours_and_a_plain_loop():
    done = CliRunner().invoke(benchmark, ["--scale", "8", "--rounds", "1"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "ours", "plain, degree order", "plain, input's order", "direct", "resident"
    ]  # fmt: skip
