"""Connected components on the same engine: all drivers and devices, against an oracle."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from click.testing import CliRunner
from distributed.utils_test import gen_cluster
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.algorithms.components.program import Components
from daskbfs.bench.components import main as benchmark
from daskbfs.cli import main
from daskbfs.cluster.threads import Share
from daskbfs.engine.superstep import run_in_place
from daskbfs.names import Device
from daskbfs.partition.layout import lay_out, mirrored
from daskbfs.telemetry.recorder import Recorder
from daskbfs.telemetry.records import State
from tests.support import naive
from tests.support.crew import until
from tests.support.exchange import EXCHANGES, exchange_by
from tests.support.in_process import connected, cut_on
from tests.support.losses import set_trap

pytestmark = pytest.mark.usefixtures("on_the_cluster")

CPU, EMULATED = Device.CPU, Device.GPU_EMULATED
GPU_WORKER = "127.0.0.1", 1, {"resources": {"GPU-EMULATED": 1}}
STRATEGIES = pytest.mark.parametrize("strategy", ["high", "low", "random", "contiguous"])
DRIVERS = pytest.mark.parametrize("driver", ["waves", "resident"])
IN_THIS_PROCESS = {"processes": False, "threads": False}


def some_edges(n=400, m=300, seed=1):
    """Few enough for many components."""
    return np.random.default_rng(seed).integers(0, n, size=(m, 2))


def expected(graph):
    """The smallest vertex of each vertex's component."""
    heads, tails = daskbfs.to_edges(graph)
    found = naive.components(graph.vertices.tolist(), zip(heads, tails, strict=True))
    return [found[vertex] for vertex in graph.vertices.tolist()]


def check(result):
    """The oracle's components, and what follows from them."""
    assert result.component.tolist() == expected(result.graph)
    labels, sizes = np.unique(result.component, return_counts=True)
    assert result.n_components == labels.size
    assert dict(result.top(labels.size)) == dict(zip(labels.tolist(), sizes.tolist(), strict=True))
    assert np.all(np.diff(result.sizes) <= 0)
    assert result.largest.size == (sizes.max() if sizes.size else 0)


PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60)


@given(PAIRS, st.booleans(), st.sampled_from([1, 7, 10**11]))
def test_components_are_those_of_the_oracle(pairs, directed, factor):
    edges = np.array(pairs) * factor
    check(
        daskbfs.connected_components(daskbfs.from_edges(edges, directed=directed), driver="direct")
    )


@given(
    PAIRS,
    st.booleans(),
    st.sampled_from(["high", "low", "random"]),
    st.sampled_from([[CPU] * 2, [CPU] * 3, [EMULATED], [CPU, EMULATED], [EMULATED] * 2]),
)
def test_partitions_find_the_components_of_the_oracle(pairs, directed, strategy, devices):
    graph = daskbfs.from_edges(np.array(pairs), directed=directed)
    if graph.n_rows:
        check(connected(graph, devices, strategy=strategy)[0])


@STRATEGIES
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("devices", [[CPU], [CPU] * 4, [EMULATED], [CPU, EMULATED, EMULATED]])
def test_larger_graphs(devices, directed, strategy):
    for edges in (some_edges(4000, 2500), some_edges(4000, 9000), path(3000)):
        result, _ = connected(
            daskbfs.from_edges(edges, directed=directed), devices, strategy=strategy
        )
        check(result)
        assert {record.device for record in result.levels} == set(devices)
        assert result.levels.n_levels == 3


def path(n):
    """A path through its vertices in any order, and another one."""
    order = np.random.default_rng(3).permutation(n)
    steps = np.column_stack([order[:-1], order[1:]])
    return np.concatenate([steps, np.array([[n + 1, n + 2], [n + 2, n + 5]])])


def test_most_arcs_are_never_looked_at(kron12):
    result = daskbfs.connected_components(kron12, driver="direct")
    check(result)
    assert sum(record.edges_examined for record in result.levels) < kron12.n_arcs / 10


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("devices", "limit"), [([EMULATED], 400_000), ([CPU, EMULATED], 300_000)])
def test_streamed_arcs(devices, limit, directed):
    graph = daskbfs.from_edges(some_edges(4000, 100_000), directed=directed)
    result, partitions = connected(graph, devices, limit=limit)
    check(result)
    assert partitions[-1].out.indices.streamed


@pytest.mark.parametrize("name", ["as-Caida.undir.txt", "ca-CondMat.txt.gz", "wiki-Vote.txt.gz"])
def test_real_graphs(data, name):
    for directed in (False, True):
        graph = daskbfs.read_graph(data / name, directed=directed)
        result = daskbfs.connected_components(graph, driver="direct")
        check(result)
        assert np.array_equal(connected(graph, [CPU, EMULATED])[0].component, result.component)


@STRATEGIES
@DRIVERS
@pytest.mark.parametrize("exchange_name", EXCHANGES)
@gen_cluster(client=True, nthreads=[("127.0.0.1", 1)] * 2, clean_kwargs=IN_THIS_PROCESS)
async def test_all_drivers_find_the_same(c, s, *workers, strategy, driver, exchange_name):
    with exchange_by(exchange_name):
        for directed in (False, True):
            graph = daskbfs.from_edges(some_edges(), directed=directed, n_vertices=450)
            placed = await daskbfs.distribute(graph, c, n_partitions=5, strategy=strategy)
            result = await daskbfs.connected_components(placed, driver=driver)
            assert result.component.tolist() == expected(graph)
            assert result.driver == driver
            assert {record.partition for record in result.levels} == set(range(5))
            placed.release()


@pytest.mark.slow
@STRATEGIES
@DRIVERS
@pytest.mark.parametrize("exchange_name", EXCHANGES)
@gen_cluster(client=True, nthreads=[("127.0.0.1", 1), GPU_WORKER], clean_kwargs=IN_THIS_PROCESS)
async def test_cpu_and_gpu_workers_find_the_same(c, s, *workers, strategy, driver, exchange_name):
    with exchange_by(exchange_name):
        for directed in (False, True):
            graph = daskbfs.from_edges(some_edges(), directed=directed, n_vertices=450)
            placed = await daskbfs.distribute(graph, c, strategy=strategy, cpu_share=0.5)
            result = await daskbfs.connected_components(placed, driver=driver)
            assert result.component.tolist() == expected(graph)
            assert {r.partition: r.device for r in result.levels} == {0: CPU, 1: EMULATED}
            assert "emulated: no GPU's time" in repr(result)
            placed.release()


def test_workers_in_other_processes(exchange, two_workers):
    graph = daskbfs.kronecker(11, edgefactor=2)
    placed = daskbfs.distribute(graph, two_workers)
    for _ in range(3):
        result = daskbfs.connected_components(placed)
        assert result.component.tolist() == expected(graph)
        assert result.driver == "waves"
    placed.release()


def test_runs_are_reported(two_workers):
    graph = daskbfs.kronecker(8)
    placed = daskbfs.distribute(graph, two_workers)
    daskbfs.connected_components(placed)
    recorder = Recorder.of(two_workers.cluster.scheduler)

    def reported():
        runs = [run for run in recorder.runs() if run.about.graph == graph.name]
        return [run for run in runs if run.state is State.DONE]

    until(reported)
    (record,) = reported()
    assert (record.about.algorithm, record.about.subject) == ("components", "")
    assert (record.n_levels, record.edges) == (3, graph.n_edges)
    placed.release()


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["compute", "between"])
def test_a_killed_worker_changes_nothing(exchange, phase, crew, crew_graph, kron14):
    first = daskbfs.connected_components(crew_graph)
    crew.client.run(set_trap, phase, signal.SIGKILL, workers=[crew_graph.placement.workers[1]])
    again = daskbfs.connected_components(crew_graph)
    assert np.array_equal(first.component, again.component)
    assert np.array_equal(
        again.component, daskbfs.connected_components(kron14, driver="direct").component
    )


def test_vertices_without_edges_are_components():
    result = daskbfs.connected_components(daskbfs.from_edges([(3, 1)], n_vertices=5))
    assert result.component.tolist() == [0, 1, 2, 1, 4]
    assert result.top() == [(1, 2), (0, 1), (2, 1), (4, 1)]
    for driver in ("direct", "auto"):
        without = daskbfs.from_edges(np.empty((0, 2), int), n_vertices=3)
        result = daskbfs.connected_components(without, driver=driver)
        assert result.component.tolist() == [0, 1, 2]
        assert result.n_components == 3
    empty = daskbfs.connected_components(daskbfs.from_edges(np.empty((0, 2), int)), driver="direct")
    assert (empty.n_components, empty.top(), empty.largest.size) == (0, [], 0)


def test_ids_of_any_size():
    result = daskbfs.connected_components(daskbfs.from_edges([(10**12, 5), (70, 6)]))
    assert result.vertices.tolist() == [5, 6, 70, 10**12]
    assert result.component.tolist() == [5, 6, 6, 5]
    assert result.members(10**12).tolist() == [5, 10**12]
    assert result.to_pandas().component.tolist() == [5, 6, 6, 5]
    assert "2 components of 4 vertices, the largest of 2" in repr(result)
    assert "<table" in result._repr_html_()
    with pytest.raises(ValueError, match="vertex 7 is not in the graph"):
        result.members(7)


def test_bad_input(kron12):
    with pytest.raises(ValueError, match="driver 'x' is unknown"):
        daskbfs.connected_components(kron12, driver="x")
    with pytest.raises(ValueError, match="strategy 'mirror' has every row twice"):
        run_in_place(
            Components(), cut_on(kron12, mirrored(lay_out(kron12, 1)), [CPU, EMULATED]), Share()
        )


def invoke(*words):
    return CliRunner().invoke(main, ["components", *map(str, words)])


@pytest.mark.parametrize(
    "words",
    [
        ("--driver", "direct"),
        pytest.param(("--workers", 2), marks=pytest.mark.slow),
        pytest.param(("--devices", "cpu=1,gpu-emulated=1"), marks=pytest.mark.slow),
    ],
)
def test_the_command_writes_the_largest_components(tmp_path, words):
    done = invoke("kron:9", "--top", 3, "--json", tmp_path / "c.json", *words)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "c.json").read_text())
    found = daskbfs.connected_components(daskbfs.kronecker(9), driver="direct")
    assert [(row["component"], row["size"]) for row in report["top"]] == found.top(3)
    assert report["n_components"] == found.n_components
    assert report["graph"]["n_vertices"] == 512
    assert len({record["level"] for record in report["levels"]}) == 3
    assert f"{found.n_components} components of 512 vertices" in done.output
    assert ("emulated: no GPU's time" in done.output) == ("--devices" in words)


def test_the_command_refuses_what_has_no_meaning():
    done = invoke("kron:5", "--direction", "top_down")
    assert done.exit_code == 2
    assert "components have none" in done.output
    assert invoke("kron:5", "--quiet").output == ""


def test_the_benchmark_sets_scipy_beside_ours(tmp_path):
    words = ["grid:20", "--rounds", "1", "--trials", "1", "--json", str(tmp_path / "out.json")]
    done = CliRunner().invoke(benchmark, [*words, "--quiet"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert row["n_components"] == 1
    assert set(row["median_seconds"]) == {"daskbfs", "scipy"}
