"""Searches on real Dask clusters: in this process, in worker processes, from the shell."""

from __future__ import annotations

import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import pytest

import daskbfs
from daskbfs.cluster.local import TunedCluster, embedded_client
from daskbfs.engine.attempts import Distributions
from tests.support.checks import check
from tests.support.crew import left_behind

pytestmark = pytest.mark.usefixtures("on_the_cluster")


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("n_partitions", [1, 2, 3, 7])
@pytest.mark.parametrize("direction", ["beamer", "top_down", "bottom_up", "coordinator"])
def test_searches_over_processes_agree_with_the_direct_driver(
    exchange, kron12, two_workers, n_partitions, direction
):
    placed = daskbfs.distribute(kron12, two_workers, n_partitions=n_partitions)
    for source in kron12.random_sources(2):
        for driver in ("waves", "resident"):
            result = daskbfs.bfs(placed, int(source), driver=driver, direction=direction)
            check(kron12, int(source), result)
            assert result.driver == driver


def test_a_resident_search_is_one_task_for_each_worker(kron12, two_workers):
    placed = daskbfs.distribute(kron12, two_workers, n_partitions=5)
    source = int(kron12.random_sources(1)[0])
    daskbfs.bfs(placed, source, driver="resident")  # warm
    two_workers.get_task_stream()
    start = time.time()
    result = daskbfs.bfs(placed, source, driver="resident")
    time.sleep(0.2)
    names = [dask.utils.key_split(task["key"]) for task in two_workers.get_task_stream(start=start)]
    assert sorted(names) == ["read_measurements", "run_levels", "run_levels"]
    assert result.levels.n_levels > 2
    assert result.phases.push > 0


@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_many_searches_at_once(kron12, two_workers, driver):
    placed = daskbfs.distribute(kron12, two_workers)
    sources = [int(v) for v in kron12.random_sources(12)]
    with ThreadPoolExecutor(4) as pool:
        searches = pool.map(lambda v: daskbfs.bfs(placed, v, driver=driver, timeout=60), sources)
        for source, result in zip(sources, searches, strict=True):
            check(kron12, source, result)


@pytest.mark.parametrize("driver", ["resident", "waves", "auto"])
@pytest.mark.parametrize("n_partitions", [1, 3])
def test_one_worker_in_this_process(kron12, one_worker, n_partitions, driver):
    placed = daskbfs.distribute(kron12, one_worker, n_partitions=n_partitions)
    for source in kron12.random_sources(3):
        check(kron12, int(source), daskbfs.bfs(placed, int(source), driver=driver))


def test_without_a_client_a_search_runs_on_an_embedded_cluster(kron12):
    source = int(kron12.random_sources(1)[0])
    result = daskbfs.bfs(kron12, source, driver="auto")
    check(kron12, source, result)
    assert result.levels[0].worker.startswith("inproc://")
    assert embedded_client() is embedded_client()
    assert repr(daskbfs.distribute(kron12)).endswith("1 partition on 1 worker")


def test_an_undistributed_graph_is_distributed_once(kron12, one_worker):
    graph = daskbfs.from_edges([(0, 1), (1, 2)])
    for _ in range(3):
        check(graph, 0, daskbfs.bfs(graph, 0, one_worker, driver="auto"))
    assert len(graph.derive(Distributions, Distributions).by_client) == 1


def test_a_graph_that_was_distributed_by_a_search_is_freed_with_it(one_worker):
    graph = daskbfs.kronecker(8)
    daskbfs.bfs(graph, int(graph.random_sources(1)[0]), one_worker, driver="auto")
    alive = weakref.ref(graph.out.indices)
    del graph
    gc.collect()
    assert left_behind(one_worker) == ([], [])
    assert alive() is None


@pytest.mark.parametrize("driver", ["resident", "waves"])
def test_limits_targets_and_isolated_sources(one_worker, driver):
    graph = daskbfs.from_edges([(i, i + 1) for i in range(30)], n_vertices=40)
    placed = daskbfs.distribute(graph, one_worker, n_partitions=2)
    for limit in (0, 1, 5):
        result = daskbfs.bfs(placed, 3, depth_limit=limit, driver=driver)
        assert result.level.max() == limit
        daskbfs.validate(graph, 3, result.parent, result.level, last_level=result.last_level)
    result = daskbfs.bfs(placed, 3, targets=[9], driver=driver)
    assert (result.level[9], result.level[10]) == (6, -1)
    result = daskbfs.bfs(placed, 35, driver=driver)
    assert (result.reached, result.parent[35]) == (1, 35)


def test_directed_graphs_and_sparse_ids(two_workers):
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 300, size=(900, 2)) * 10**12 + 7
    for directed in (False, True):
        graph = daskbfs.from_edges(edges, directed=directed)
        placed = daskbfs.distribute(graph, two_workers, n_partitions=3)
        for source in graph.random_sources(3):
            check(graph, int(source), daskbfs.bfs(placed, int(source)))


def test_a_search_of_many_levels_submits_more_as_it_goes(two_workers):
    graph = daskbfs.from_edges([(i, i + 1) for i in range(60)])
    placed = daskbfs.distribute(graph, two_workers)
    result = daskbfs.bfs(placed, 0)
    assert result.levels.n_levels == 61
    check(graph, 0, result)


def test_a_vertex_found_here_and_elsewhere_in_one_level(two_workers):
    graph = daskbfs.from_edges([(i, 50 + j) for i in range(50) for j in range(50)])
    placed = daskbfs.distribute(graph, two_workers, n_partitions=4)
    check(graph, 0, daskbfs.bfs(placed, 0, direction="top_down"))


def test_a_second_search_never_changes_the_first_ones_result(kron12, one_worker, two_workers):
    for client in (one_worker, two_workers):
        placed = daskbfs.distribute(kron12, client)
        sources = [int(v) for v in kron12.random_sources(4)]
        results = [daskbfs.bfs(placed, v) for v in sources]  # none is fetched before all ran
        for source, result in zip(sources, results, strict=True):
            check(kron12, source, result)


def test_records_name_workers_and_partitions(exchange, kron12, two_workers):
    placed = daskbfs.distribute(kron12, two_workers, n_partitions=3)
    result = daskbfs.bfs(placed, int(kron12.random_sources(1)[0]))
    assert placed.exchange == exchange
    assert {r.partition for r in result.levels} == {0, 1, 2}
    assert {r.worker for r in result.levels} == set(placed.placement.workers)
    assert all((r.exchanged_bytes > 0) == (exchange == "mail") for r in result.levels)
    assert len(result.levels) == 3 * result.levels.n_levels


def names_of_tasks(client, placed, source):
    """What ran on the cluster for a search, and its levels."""
    daskbfs.bfs(placed, source)  # warm
    client.get_task_stream()  # from now on, tasks are recorded
    start = time.time()
    result = daskbfs.bfs(placed, source)
    time.sleep(0.3)
    stream = [t for t in client.get_task_stream(start=start) if t["status"] == "OK"]
    return [dask.utils.key_split(task["key"]) for task in stream], result.levels.n_levels


def test_a_wave_covers_the_levels_that_fit_its_time(kron12, two_workers):
    placed = daskbfs.distribute(kron12, two_workers, n_partitions=5)
    source = int(kron12.random_sources(1)[0])
    with dask.config.set({"daskbfs.waves.seconds": 60}):
        names, _ = names_of_tasks(two_workers, placed, source)
    assert 1 <= names.count("gather_level") <= 2, "one more may have been ahead"
    assert names.count("open_states") == names.count("settle_result") == 2


def test_a_wave_is_one_task_for_each_worker_and_a_gather(exchange, kron12, two_workers):
    placed = daskbfs.distribute(kron12, two_workers, n_partitions=5)
    source = int(kron12.random_sources(1)[0])
    with dask.config.set({"daskbfs.waves.seconds": 0}):
        names, n_levels = names_of_tasks(two_workers, placed, source)
    ahead = dask.config.get("daskbfs.waves.levels-ahead") + 1
    assert n_levels <= names.count("gather_level") <= ahead
    assert names.count("compute_level") <= 2 * ahead
    assert names.count("compute_level") >= 2 * n_levels
    assert names.count("open_states") == names.count("settle_result") == 2


def test_nothing_is_left_on_the_cluster_when_results_are_dropped(kron12, two_workers):
    placed = daskbfs.distribute(kron12, two_workers)
    daskbfs.bfs(placed, int(kron12.random_sources(1)[0]))

    def keys():
        return {key for held in two_workers.has_what().values() for key in held}

    held = keys()
    for source in kron12.random_sources(3):
        daskbfs.bfs(placed, int(source)).fetch()
    deadline = time.time() + 10
    while keys() - held and time.time() < deadline:
        time.sleep(0.05)
    assert keys() <= held


def test_mistakes_are_told(kron12, two_workers):
    placed = daskbfs.distribute(kron12, two_workers)
    with pytest.raises(ValueError, match="driver 'x' is unknown"):
        daskbfs.bfs(placed, 0, driver="x")
    with pytest.raises(ValueError, match="strategy 'x' is unknown"):
        daskbfs.distribute(kron12, two_workers, strategy="x")
    with pytest.raises(ValueError, match="n_partitions 0 is out of range"):
        daskbfs.distribute(kron12, two_workers, n_partitions=0)
    with pytest.raises(ValueError, match="threads=99999: kernels can use 1 to"):
        daskbfs.bfs(placed, 0, threads=99999)
    with pytest.raises(ValueError, match="the graph is on another client's cluster"):
        daskbfs.bfs(placed, 0, embedded_client())
    with pytest.raises(ValueError, match="source -1 is not in the graph"):
        daskbfs.bfs(placed, -1)


def test_local_clusters_are_tuned():
    with daskbfs.local_cluster() as cluster:
        assert isinstance(cluster, TunedCluster)
        with cluster.get_client() as client:
            assert client.scheduler_comm.interval == 0
            assert all(c.interval == 0 for c in cluster.scheduler.stream_comms.values())


def test_phases_tell_where_the_seconds_went(kron12, one_worker, two_workers):
    source = int(kron12.random_sources(1)[0])
    placed = daskbfs.distribute(kron12, two_workers)
    daskbfs.bfs(placed, source)
    told = []
    for _ in range(5):
        result = daskbfs.bfs(placed, source)
        phases = result.phases
        assert phases.compute == pytest.approx(result.kernel_seconds)
        for name in ("init", "push", "pull", "gather", "aggregate"):
            assert 0 < getattr(phases, name) < result.seconds, name
        told.append(sum(phases.to_dict().values()) / result.seconds)
    assert max(told) < 1.1
    assert max(told) > 0.2, "the rest is the way there and back, which is long on a busy machine"
    alone = daskbfs.bfs(daskbfs.distribute(kron12, one_worker), source).phases
    assert alone.push == alone.pull == 0
    assert alone.compute > 0


@pytest.mark.parametrize("factor", [1, 10**10])
def test_results_as_dask_arrays_stay_on_the_cluster(two_workers, factor):
    edges = np.random.default_rng(5).integers(0, 400, size=(800, 2)) * factor
    graph = daskbfs.from_edges(edges)
    placed = daskbfs.distribute(graph, two_workers, n_partitions=3)
    source = int(graph.random_sources(1)[0])
    result = daskbfs.bfs(placed, source)
    vertices, parents = result.to_dask()
    assert vertices.numblocks == parents.numblocks == (3,)
    columns = [two_workers.compute(column).result().tolist() for column in (vertices, parents)]
    tree = dict(zip(*columns, strict=True))
    expected = dict(zip(result.vertices.tolist(), result.parent.tolist(), strict=True))
    assert {v: p for v, p in expected.items() if v in tree} == tree
    assert all(p == -1 for v, p in expected.items() if v not in tree)
    with pytest.raises(ValueError, match="ran without a cluster"):
        daskbfs.bfs(graph, source, driver="direct").to_dask()
