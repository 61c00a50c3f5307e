"""Graphs built on the workers: bit for bit the graph that one process builds."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import daskbfs
from daskbfs.graph.edge_stream import Origin, split_stream
from daskbfs.graph.generators import random_origin
from daskbfs.io.spec import open_origin
from tests.support.checks import check_equal
from tests.support.crew import Crew, left_behind

pytestmark = pytest.mark.usefixtures("on_the_cluster")


@pytest.fixture(scope="module")
def client():
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        yield client


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("n_partitions", [1, 2, 5])
@pytest.mark.parametrize("strategy", ["high", "low", "random"])
@pytest.mark.parametrize("spec", ["kron:12", "uniform:11"])
def test_generated_graphs_are_the_same_wherever_they_are_built(
    client, spec, strategy, n_partitions
):
    kind, scale = spec.split(":")
    graph = {"kron": daskbfs.kronecker, "uniform": daskbfs.uniform}[kind](int(scale))
    placed = daskbfs.distribute(spec, client, n_partitions=n_partitions, strategy=strategy)
    check_equal(placed, graph, strategy)
    source = int(graph.random_sources(1)[0])
    result = daskbfs.bfs(placed, source)
    assert np.array_equal(result.level, daskbfs.bfs(graph, source, driver="direct").level)
    assert result.edges == daskbfs.bfs(graph, source, driver="direct").edges


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("factor", [1, 10**11 + 7])
def test_files_are_read_on_the_workers(client, tmp_path, directed, factor):
    edges = np.random.default_rng(6).integers(0, 500, size=(3000, 2)) * factor
    path = tmp_path / "edges.txt"
    np.savetxt(path, edges, fmt="%d")
    graph = daskbfs.read_graph(path, directed=directed)
    origin = open_origin(path, directed=directed)
    placed = daskbfs.distribute(origin, client, n_partitions=3, strategy="random")
    check_equal(placed, graph, "random")
    source = int(graph.random_sources(1)[0])
    result = daskbfs.bfs(placed, source)
    expected = daskbfs.bfs(graph, source, driver="direct")
    assert dict(zip(result.vertices, result.level, strict=True)) == dict(
        zip(expected.vertices, expected.level, strict=True)
    )
    daskbfs.validate(placed.graph, source, result.parent, result.level)


def test_trees_of_graphs_built_elsewhere_are_checked_against_the_edges(client):
    placed = daskbfs.distribute("kron:11", client)
    here = daskbfs.kronecker(11)
    source = int(here.random_sources(1)[0])
    result = daskbfs.bfs(placed, source)
    parent, level = result.parent, result.level
    for graph in (placed.graph, here):
        daskbfs.validate(graph, source, parent)
        daskbfs.validate(graph, source, parent, level)
    rng = np.random.default_rng(1)
    wrong = 0
    for v in rng.permutation(np.flatnonzero(level > 1))[:40]:  # plant faults
        broken = parent.copy()
        broken[v] = rng.choice(np.flatnonzero(level == level[v] - 1))
        verdicts = []
        for graph in (placed.graph, here):
            try:
                daskbfs.validate(graph, source, broken)
                verdicts.append(None)
            except daskbfs.ValidationError as error:
                verdicts.append(str(error))
        assert verdicts[0] == verdicts[1]
        wrong += verdicts[0] is not None
    assert wrong > 10
    lost = parent.copy()
    lost[np.flatnonzero(level == level.max())[0]] = -1
    with pytest.raises(daskbfs.ValidationError, match="check 4"):
        daskbfs.validate(placed.graph, source, lost)


def test_a_stream_in_portions_is_the_whole_stream():
    origin = random_origin("kron", 14, 16, 1)
    whole = np.concatenate([np.stack(block).copy() for block in origin.stream.blocks()], axis=1)
    parts = [
        np.stack(block).copy()
        for portion in split_stream(origin.stream, 3)
        for block in portion.blocks()
    ]
    apart = np.concatenate(parts, axis=1)
    assert sorted(map(tuple, whole.T)) == sorted(map(tuple, apart.T))


def test_errors_on_the_workers_reach_the_caller(client, tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("0 1\n1 x\n")
    with pytest.raises(ValueError, match=r"edges.txt, line 2: '1 x'"):
        daskbfs.distribute(str(path), client)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        daskbfs.distribute(tmp_path / "none.txt", client)
    with pytest.raises(ValueError, match="scale 40 is out of range"):
        daskbfs.distribute("kron:40", client)
    placed = daskbfs.distribute("kron:6", client)
    with pytest.raises(ValueError, match="the graph's rows are on the workers"):
        daskbfs.bfs(placed, 1, driver="direct")


@pytest.mark.slow
def test_a_worker_killed_during_and_after_construction(tmp_path):
    crew = Crew(3, tmp_path)
    try:
        graph = daskbfs.kronecker(17)
        source = int(graph.random_sources(1)[0])
        expected = daskbfs.bfs(graph, source, driver="direct").level
        daskbfs.distribute("kron:8", crew.client)  # kernels are loaded
        for delay in (0.1, 0.5):
            crew.restore(3)
            victim = sorted(crew.client.nthreads())[1]
            pid = crew.pids()[victim]
            timer = threading.Timer(delay, os.kill, (pid, signal.SIGKILL))
            timer.start()
            placed = daskbfs.distribute("kron:17", crew.client, n_partitions=3)
            timer.join()
            assert np.array_equal(daskbfs.bfs(placed, source).level, expected)
        # what a worker had is made again by another, from the generator
        victim = placed.placement.workers[0]
        os.kill(crew.pids()[victim], signal.SIGKILL)
        result = daskbfs.bfs(placed, source)
        assert np.array_equal(result.level, expected)
        assert victim not in placed.where()
        daskbfs.validate(placed.graph, source, result.parent, result.level)
        del result
        assert left_behind(crew.client, placed.placed_partitions) == ([], [])
    finally:
        crew.close()


def test_an_origin_is_what_the_command_line_calls_a_graph(tmp_path):
    assert isinstance(open_origin("kron:10"), Origin)
    with pytest.raises(ValueError, match="after 'kron:' comes a scale"):
        open_origin("kron:x")
