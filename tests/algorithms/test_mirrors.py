"""Graphs that CPUs hold, and accelerators once more: a device is chosen for each level."""

from __future__ import annotations

import os
import signal

import dask
import numpy as np
import pytest

import daskbfs
from daskbfs.algorithms.bfs.direction import Implementation, by_frontier
from daskbfs.names import Direction
from daskbfs.partition.plan import Wish, choose_cut
from daskbfs.partition.statistics import survey
from tests.support.crew import Crew
from tests.support.in_process import CPU, EMULATED, always, search_mirrored
from tests.support.samples import EMULATED_WORKER, summary


def by_turns(direction, summary):
    """Every other level on the mirrors."""
    if direction is Direction.TOP_DOWN:
        return Implementation.TC
    return Implementation.BG if summary.bottom_up_steps % 2 else Implementation.BC


@pytest.fixture(scope="module")
def kron10():
    return daskbfs.kronecker(10)


@pytest.mark.parametrize("way", ["bottom_up", "beamer"])
@pytest.mark.parametrize("choice", [*map(always, Implementation), by_turns])
@pytest.mark.parametrize("devices", [[CPU, EMULATED], [CPU, CPU, EMULATED, EMULATED], [CPU, CPU]])
def test_the_tree_is_right_whether_owners_or_mirrors_search(kron10, devices, choice, way):
    for source in kron10.random_sources(2):
        parent, _ = search_mirrored(kron10, int(source), devices, way=way, choice=choice)
        expected = daskbfs.bfs(kron10, int(source), driver="direct")
        daskbfs.validate(kron10, int(source), parent, expected.level)


@pytest.mark.parametrize("choice", [always(Implementation.BGC), by_turns])
def test_directed_graphs_are_mirrored_too(choice):
    edges = np.random.default_rng(5).integers(0, 300, size=(900, 2))
    graph = daskbfs.from_edges(edges, directed=True)
    for source in graph.random_sources(3):
        parent, _ = search_mirrored(graph, int(source), [CPU, EMULATED], choice=choice)
        expected = daskbfs.bfs(graph, int(source), driver="direct")
        daskbfs.validate(graph, int(source), parent, expected.level)


def test_only_one_side_looks_at_edges(kron10):
    source = int(kron10.random_sources(1)[0])
    _, records = search_mirrored(kron10, source, [CPU, EMULATED], way="beamer", choice=by_turns)
    by_level = {}
    for record in records:
        by_level.setdefault(record.level, []).append(record)
    working = {
        level: {record.device for record in found if record.edges_examined}
        for level, found in by_level.items()
    }
    assert all(len(devices) <= 1 for devices in working.values())
    assert set.union(*working.values()) == {CPU, EMULATED}


@pytest.mark.parametrize(
    ("left", "frontier", "chosen"),
    [
        (4100, 100, Implementation.BC),
        (4000, 100, Implementation.BGC),
        (501, 100, Implementation.BGC),
        (500, 100, Implementation.BG),
        (0, 100, Implementation.BG),
    ],
)
def test_the_third_rule(left, frontier, chosen):
    standing = summary(edges_left=left, scout_count=frontier)
    assert by_frontier(Direction.BOTTOM_UP, standing, alpha1=40, alpha2=5) is chosen
    assert by_frontier(Direction.TOP_DOWN, standing, alpha1=40, alpha2=5) is Implementation.TC


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["resident", "waves"])
def test_the_adaptive_policy_moves_a_search_between_a_cpu_and_a_gpu_worker(driver):
    graph = daskbfs.kronecker(12)
    hybrid = daskbfs.HybridCluster(1, gpus=0, emulated_gpus=1)
    with hybrid as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(graph, client, strategy="mirror")
        assert placed.strategy == "mirror"
        assert placed.nbytes > 1.9 * daskbfs.distribute(graph, client, strategy="high").nbytes
        for source in map(int, graph.random_sources(3)):
            result = daskbfs.bfs(placed, source, driver=driver, direction="adaptive")
            daskbfs.validate(graph, source, result.parent, result.level)
            busy = {r.device for r in result.levels if r.edges_examined}
            assert busy == {CPU, EMULATED}
            still = daskbfs.bfs(placed, source, driver=driver, direction="beamer")
            assert {r.device for r in still.levels if r.edges_examined} == {CPU}
            vertex, parent = (column.compute() for column in result.to_dask())
            assert np.array_equal(result.parent[vertex], parent)
        with dask.config.set({"daskbfs.direction.adaptive.alpha1": -1}):
            result = daskbfs.bfs(placed, source, driver=driver, direction="adaptive")
        assert {r.device for r in result.levels if r.edges_examined} == {CPU}
        with pytest.raises(ValueError, match="'mirror' has every row twice"):
            daskbfs.pagerank(placed, driver=driver)


@pytest.mark.slow
@pytest.mark.usefixtures("on_the_cluster")
def test_a_mirror_that_is_lost_is_made_again(kron10, tmp_path):
    source = int(kron10.random_sources(1)[0])
    crew = Crew(1, tmp_path)
    try:
        crew.start_worker(*EMULATED_WORKER)
        crew.client.wait_for_workers(2, timeout=60)
        placed = daskbfs.distribute(kron10, crew.client, strategy="mirror")
        level = daskbfs.bfs(placed, source, direction="adaptive").level
        os.kill(crew.pids()[placed.placement.holders[1]], signal.SIGKILL)
        second = daskbfs.bfs(placed, source, direction="adaptive")
        daskbfs.validate(kron10, source, second.parent, level)
    finally:
        crew.close()


def test_mirrors_need_as_many_accelerators_as_cpus(kron10):
    with pytest.raises(ValueError, match="2 CPU partitions and 0 on accelerators"):
        daskbfs.distribute(kron10, n_partitions=2, strategy="mirror")
    for devices in ([EMULATED], [EMULATED] * 2, [CPU, CPU, EMULATED]):
        with pytest.raises(ValueError, match="as many GPU workers as CPU workers"):
            choose_cut(kron10, devices, Wish("mirror"), None).lay_out(kron10)
    with pytest.raises(ValueError, match=r"cpu_share 0.3 means nothing to strategy 'mirror'"):
        choose_cut(kron10, [CPU, EMULATED], Wish("mirror", cpu_share=0.3), None).lay_out(kron10)


def test_a_mirror_has_the_boundary_of_its_owner(kron10):
    cut = choose_cut(kron10, [CPU, CPU, EMULATED, EMULATED], Wish("mirror"), None)
    found = survey(kron10, cut.lay_out(kron10), [CPU, CPU, EMULATED, EMULATED])
    assert found[0].boundary_edges == found[2].boundary_edges > 0
    assert found[1].aggregated_messages == found[3].aggregated_messages
    alone = choose_cut(kron10, [CPU, EMULATED], Wish("mirror"), None).lay_out(kron10)
    assert [p.boundary_edges for p in survey(kron10, alone, [CPU, EMULATED])] == [0, 0]
