"""Shortest paths by searches that stop at their target: against the oracle."""

from __future__ import annotations

import itertools
import json

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.cli import main
from tests.support import naive

PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=50)
VERTEX = st.integers(0, 30)


def check(path, edges, source, target, directed=False):
    """A path of the oracle's length along edges, or none where there is none."""
    level = naive.levels(edges, source, directed)
    if target not in level:
        assert path is None
        return
    path = path.tolist()
    assert (path[0], path[-1], len(path)) == (source, target, level[target] + 1)
    neighbours = naive.neighbours(edges, directed)
    assert all(after in neighbours[at] for at, after in itertools.pairwise(path))


@given(PAIRS, VERTEX, VERTEX, st.booleans(), st.sampled_from([1, 10**11]))
def test_paths_are_as_short_as_the_oracles(pairs, source, target, directed, factor):
    edges = np.concatenate([np.array(pairs), np.column_stack([np.arange(31)] * 2)]) * factor
    graph = daskbfs.from_edges(edges, directed=directed)
    source, target = source * factor, target * factor
    path = daskbfs.shortest_path(graph, source, target)
    check(path, edges, source, target, directed)
    result = daskbfs.bfs(graph, source)
    if result.has_reached(target):
        check(result.path(target), edges, source, target, directed)
    else:
        with pytest.raises(ValueError, match=rf"vertex {target} was not reached from {source}"):
            result.path(target)


def test_vertices_without_edges():
    graph = daskbfs.from_edges([(0, 1), (1, 2)], n_vertices=5)
    assert daskbfs.shortest_path(graph, 3, 3).tolist() == [3]
    assert daskbfs.shortest_path(graph, 1, 1).tolist() == [1]
    assert daskbfs.shortest_path(graph, 3, 4) is None
    assert daskbfs.shortest_path(graph, 0, 4) is None


def test_a_limited_search_says_how_far_it_went():
    result = daskbfs.bfs(daskbfs.from_networkx(nx.path_graph(9)), 0, depth_limit=3)
    assert result.path(3).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="vertex 4 was not reached from 0 within 3 levels"):
        result.path(4)


def test_vertices_that_are_not_there_are_named():
    graph = daskbfs.from_edges([(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="source 7 is not in the graph"):
        daskbfs.shortest_path(graph, 7, 0)
    with pytest.raises(ValueError, match="target 8 is not in the graph"):
        daskbfs.shortest_path(graph, 0, 8)
    with pytest.raises(TypeError, match=r"target 'x' is a str"):
        daskbfs.shortest_path(graph, 0, "x")
    with pytest.raises(ValueError, match="vertex 9 is not in the graph"):
        daskbfs.bfs(graph, 0).path(9)


@pytest.mark.usefixtures("on_the_cluster")
@pytest.mark.parametrize("directed", [False, True])
def test_two_workers_find_paths_as_short(exchange, two_workers, directed):
    edges = np.random.default_rng(2).integers(0, 300, size=(420, 2))
    graph = daskbfs.from_edges(edges, directed=directed, n_vertices=300)
    placed = daskbfs.distribute(graph, two_workers)
    for source, target in np.random.default_rng(3).integers(0, 300, size=(8, 2)).tolist():
        path = daskbfs.shortest_path(placed, source, target)
        check(path, edges, source, target, directed)
    placed.release()


def invoke(*words):
    return CliRunner().invoke(main, ["path", *map(str, words)])


@pytest.mark.parametrize(
    "words", [("--driver", "direct"), pytest.param(("--workers", 2), marks=pytest.mark.slow)]
)
def test_the_command_writes_a_path(tmp_path, words):
    (tmp_path / "steps.el").write_text("10 20\n20 30\n30 40\n20 40\n50 60\n")
    done = invoke(tmp_path / "steps.el", 10, 40, "--json", tmp_path / "p.json", *words)
    assert done.exit_code == 0, done.output
    assert "10 20 40\n2 edges from 10 to 40" in done.output
    report = json.loads((tmp_path / "p.json").read_text())
    assert (report["path"], report["length"]) == ([10, 20, 40], 2)
    assert (report["source"], report["target"]) == (10, 40)
    done = invoke(tmp_path / "steps.el", 40, 10, "--directed", "--json", "-", *words)
    assert json.loads(done.stdout)["path"] is None


def test_the_command_tells_where_there_is_no_path(tmp_path):
    (tmp_path / "steps.el").write_text("10 20\n50 60\n")
    done = invoke(tmp_path / "steps.el", 10, 60, "--driver", "direct")
    assert (done.exit_code, done.output) == (0, "no path leads from 10 to 60\n")
    assert invoke(tmp_path / "steps.el", 10, 20, "--driver", "direct", "--quiet").output == ""
    done = invoke(tmp_path / "steps.el", 10, 2_000_000, "--driver", "direct")
    assert (done.exit_code, "target 2000000 is not in the graph" in done.output) == (2, True)
    done = invoke("kron:5", 1, 2, "--direction", "top_down")
    assert (done.exit_code, "chooses its own" in done.output) == (2, True)
