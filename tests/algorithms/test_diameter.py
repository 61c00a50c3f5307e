"""Diameter and eccentricities by bounds: against networkx, on every driver."""

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
from daskbfs import asynchronous
from daskbfs.cli import main
from tests.support import naive
from tests.support.in_loop import cluster

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60)


def both(edges, n_vertices=None):
    """A graph of ours, and the same of networkx."""
    ours = daskbfs.from_edges(np.array(edges).reshape(-1, 2), n_vertices=n_vertices)
    theirs = nx.Graph(np.column_stack(daskbfs.to_edges(ours)).tolist())
    theirs.add_nodes_from(ours.vertices.tolist())
    return ours, theirs


def check(result, theirs):
    """What networkx says of some largest component, and a path that is there."""
    parts = sorted(nx.connected_components(theirs), key=len, reverse=True)
    assert result.component_size == len(parts[0])
    mine = next(part for part in parts if result.ends[0] in part)
    assert len(mine) == len(parts[0])
    component = theirs.subgraph(mine)
    exact = nx.diameter(component)
    assert result.lower <= exact <= result.upper
    assert result.radius in (None, nx.radius(component))
    if result.is_exact:
        assert result.diameter == exact
    else:
        assert result.diameter is None
    path = result.path.tolist()
    assert (path[0], path[-1]) == result.ends
    assert len(path) == result.lower + 1 == nx.shortest_path_length(component, *result.ends) + 1
    assert all(component.has_edge(*edge) for edge in itertools.pairwise(path))


@given(PAIRS, st.sampled_from([1, 7, 10**11]))
def test_the_diameter_is_that_of_networkx(pairs, factor):
    ours, theirs = both(np.array(pairs) * factor)
    result = daskbfs.diameter(ours)
    assert result.is_exact
    check(result, theirs)


@given(PAIRS, st.integers(1, 8))
def test_bounds_hold_after_any_number_of_searches(pairs, most):
    ours, theirs = both(pairs, n_vertices=45)
    result = daskbfs.diameter(ours, max_searches=most)
    assert result.n_searches <= max(2, most)
    check(result, theirs)


@given(PAIRS, st.integers(0, 40), st.booleans())
def test_eccentricities_are_those_of_the_oracle(pairs, vertex, directed):
    graph = daskbfs.from_edges(np.array(pairs), directed=directed, n_vertices=41)
    expected = max(naive.levels(pairs, vertex, directed).values())
    assert daskbfs.eccentricity(graph, vertex) == expected


@pytest.mark.parametrize(
    "theirs",
    [
        nx.path_graph(200), nx.cycle_graph(101), nx.star_graph(50), nx.complete_graph(20),
        nx.grid_2d_graph(15, 31), nx.balanced_tree(2, 7), nx.barbell_graph(10, 20),
        nx.hypercube_graph(7), nx.random_regular_graph(3, 300, seed=1), nx.petersen_graph(),
        nx.gnp_random_graph(400, 0.006, seed=2), nx.barabasi_albert_graph(400, 2, seed=3),
    ],
    ids=str,
)  # fmt: skip
def test_graphs_of_every_shape(theirs):
    theirs = nx.convert_node_labels_to_integers(theirs)
    result = daskbfs.diameter(daskbfs.from_networkx(theirs))
    assert result.is_exact
    check(result, theirs)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_small_graphs_with_many_edges(share):
    for seed in range(60):
        n = 10 + seed % 10
        tree = nx.random_labeled_tree(n, seed=seed)
        theirs = nx.compose(tree, nx.gnp_random_graph(n, share, seed=seed))
        result = daskbfs.diameter(daskbfs.from_networkx(theirs))
        assert result.is_exact
        check(result, theirs)


def test_the_vertex_of_highest_degree_may_be_in_a_small_component():
    star, path = nx.star_graph(30), nx.path_graph(90)
    ours, theirs = both(list(nx.disjoint_union(star, path).edges))
    result = daskbfs.diameter(ours)
    check(result, theirs)
    assert (result.diameter, result.component_size) == (89, 90)


def test_few_vertices_and_few_edges():
    alone = daskbfs.diameter(daskbfs.from_edges(np.empty((0, 2), int), n_vertices=3))
    assert (alone.diameter, alone.radius, alone.component_size) == (0, 0, 1)
    assert (alone.ends, alone.path.tolist(), alone.n_searches) == ((0, 0), [0], 1)
    two = daskbfs.diameter(daskbfs.from_edges([(7, 10**12)]))
    assert (two.diameter, two.radius, sorted(two.ends)) == (1, 1, [7, 10**12])
    assert daskbfs.eccentricity(daskbfs.from_edges([(0, 1)], n_vertices=3), 2) == 0


def test_real_graphs_have_the_diameter_of_networkx(data):
    for name, searches in (("power.graph", 20), ("PGPgiantcompo.graph", 20)):
        graph = daskbfs.read_graph(data / name)
        result = daskbfs.diameter(graph)
        assert result.diameter == nx.diameter(daskbfs.to_networkx(graph), usebounds=True)
        assert result.n_searches < searches


def test_no_vertex_of_a_road_network_is_farther_than_its_diameter(data):
    graph = daskbfs.read_graph(data / "USA-road-d.NY.gr.gz")
    result = daskbfs.diameter(graph)
    assert (result.diameter, result.is_exact) == (720, True)
    assert daskbfs.eccentricity(graph, result.ends[1]) == 720
    found = [daskbfs.eccentricity(graph, int(v)) for v in graph.random_sources(50)]
    assert max(found) <= 720
    assert min(found) >= 360


def test_a_result_tells_what_is_known():
    graph = grid(40)
    result = daskbfs.diameter(graph, max_searches=1)
    assert (result.diameter, result.is_exact, result.n_searches) == (None, False, 1)
    assert f"{result.lower} to {result.upper}, from" in repr(result)
    assert "by 1 search in" in repr(result)
    assert json.loads(json.dumps(result.to_dict()))["diameter"] is None
    result = daskbfs.diameter(graph)
    assert repr(result).startswith("DiameterResult: 78, ")
    assert result.to_dict()["ends"] == list(result.ends)


def grid(side):
    return daskbfs.from_networkx(nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side)))


def test_progress_is_told():
    told = []
    daskbfs.diameter(grid(30), progress=lambda *now: told.append(now))
    phases, done, totals = zip(*told, strict=True)
    assert set(phases) == {"ruling out vertices"}
    assert list(done) == sorted(done)
    assert done[-1] == totals[-1] == 900


def test_bad_input(kron12):
    with pytest.raises(ValueError, match=r"the graph is directed.*directed=False"):
        daskbfs.diameter(daskbfs.from_edges([(0, 1)], directed=True))
    with pytest.raises(ValueError, match="the graph is empty"):
        daskbfs.diameter(daskbfs.from_edges(np.empty((0, 2), int)))
    with pytest.raises(ValueError, match="max_searches 0 is too small"):
        daskbfs.diameter(kron12, max_searches=0)
    with pytest.raises(TypeError, match="max_searches 'x'"):
        daskbfs.diameter(kron12, max_searches="x")
    with pytest.raises(ValueError, match="driver 'x' is unknown"):
        daskbfs.diameter(kron12, driver="x")
    with pytest.raises(ValueError, match="vertex 9999 is not in the graph"):
        daskbfs.eccentricity(kron12, 9999)
    with pytest.raises(TypeError, match="a str is no graph"):
        daskbfs.diameter("kron:5")


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_two_workers_find_the_same(exchange, two_workers, driver):
    edges = np.random.default_rng(1).integers(0, 400, size=(500, 2))
    ours, theirs = both(edges * 10**9)
    placed = daskbfs.distribute(ours, two_workers)
    result = daskbfs.diameter(placed, driver=driver)
    assert result.is_exact
    check(result, theirs)
    assert result.driver == driver
    start, end = result.ends
    assert daskbfs.eccentricity(placed, start, driver=driver) == result.diameter
    assert daskbfs.shortest_path(placed, start, end, driver=driver).size == result.diameter + 1
    placed.release()


@pytest.mark.parametrize("driver", ["waves", "resident"])
@cluster(2)
async def test_an_asynchronous_client_awaits(c, s, *workers, driver):
    ours, theirs = both([(u, u + 1) for u in range(9)] + [(20, 21), (3, 20)])
    placed = await daskbfs.distribute(ours, c)
    result = await asynchronous.diameter(placed, driver=driver)
    check(result, theirs)
    assert await asynchronous.eccentricity(placed, 0, driver=driver) == 9
    assert (await daskbfs.diameter(placed, driver=driver)).diameter == 9
    path = await asynchronous.shortest_path(placed, 21, 4, driver=driver)
    assert path.tolist() == [21, 20, 3, 4]
    assert await daskbfs.shortest_path(placed, 21, 12, driver=driver) is None
    with pytest.raises(ValueError, match="vertex 99 is not in the graph"):
        await asynchronous.eccentricity(placed, 99)
    placed.release()


def invoke(*words):
    return CliRunner().invoke(main, ["diameter", *map(str, words)])


@pytest.mark.parametrize(
    "words", [("--driver", "direct"), pytest.param(("--workers", 2), marks=pytest.mark.slow)]
)
def test_the_command_writes_the_diameter(tmp_path, words):
    done = invoke("kron:9", "--json", tmp_path / "d.json", *words)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "d.json").read_text())
    expected = daskbfs.diameter(daskbfs.kronecker(9))
    assert report["diameter"] == expected.diameter
    assert report["graph"]["n_vertices"] == 512
    assert len(report["path"]) == expected.diameter + 1
    assert f"DiameterResult: {expected.diameter}," in done.output


def test_the_command_reads_files_as_undirected(tmp_path):
    (tmp_path / "out.steps").write_text("% asym unweighted\n1 2\n3 2\n3 4\n")
    done = invoke(tmp_path / "out.steps", "--driver", "direct")
    assert "DiameterResult: 3, radius 2" in done.output


def test_the_command_refuses_what_has_no_meaning():
    done = invoke("kron:5", "--directed")
    assert (done.exit_code, "of undirected graphs" in done.output) == (2, True)
    done = invoke("kron:5", "--direction", "top_down")
    assert (done.exit_code, "chooses its own" in done.output) == (2, True)
    assert invoke("kron:5", "--driver", "direct", "--quiet").output == ""
    done = invoke("uniform:9", "--driver", "direct", "--max-searches", 1)
    assert " to " in done.output
