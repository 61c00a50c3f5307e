"""Networkx with daskbfs behind it: what networkx says itself is right, also about its order."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.interop import networkx_backend, networkx_graph
from daskbfs.interop.networkx_info import get_info

nx.config.warnings_to_ignore.add("cache")

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
NAMES = st.one_of(st.integers(0, 12), st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 3)))


@st.composite
def graphs(draw, kinds=tuple(KINDS)):
    """Graphs of any kind, with nodes of any type, in any order."""
    graph = draw(st.sampled_from(kinds))()
    graph.add_nodes_from(draw(st.lists(NAMES, min_size=1, max_size=5)))
    graph.add_edges_from(draw(st.lists(st.tuples(NAMES, NAMES), max_size=30)))
    return graph


def both(function, graph, *args, then=lambda value: value, **kwargs):
    """Whatever networkx and daskbfs say: an answer, or an error."""
    said = []
    for backend in ("networkx", "daskbfs"):
        try:
            said.append(then(function(graph, *args, backend=backend, **kwargs)))
        except (nx.NetworkXException, KeyError, ZeroDivisionError) as error:
            said.append((type(error), str(error)))
    return said


def in_order(pairs):
    return list(pairs.items())


@given(graphs(), st.integers(0, 100), st.sampled_from([None, 0, 1, 2, 3]), st.booleans())
def test_searches_have_the_order_of_networkx(graph, which, depth_limit, reverse):
    source = list(graph)[which % len(graph)]
    limited = {"depth_limit": depth_limit}
    theirs, ours = both(nx.bfs_edges, graph, source, reverse=reverse, **limited, then=list)
    assert theirs == ours
    theirs, ours = both(nx.bfs_tree, graph, source, reverse=reverse, **limited)
    assert list(theirs.nodes) == list(ours.nodes)
    assert list(theirs.edges) == list(ours.edges)
    for function in (nx.bfs_predecessors, nx.bfs_successors):
        theirs, ours = both(function, graph, source, **limited, then=list)
        assert theirs == ours


@given(graphs(), st.lists(st.integers(0, 100), min_size=1, max_size=3))
def test_layers_have_the_order_of_networkx(graph, which):
    sources = [list(graph)[place % len(graph)] for place in which]
    theirs, ours = both(nx.bfs_layers, graph, sources, then=list)
    assert theirs == ours
    theirs, ours = both(nx.bfs_layers, graph, sources[0], then=list)
    assert theirs == ours


@given(graphs(), st.integers(0, 100), st.sampled_from([None, 0, 1, 1.5, 2, -1, float("inf")]))
def test_distances_are_those_of_networkx(graph, which, cutoff):
    source = list(graph)[which % len(graph)]
    theirs, ours = both(nx.single_source_shortest_path_length, graph, source, cutoff=cutoff)
    assert theirs == ours
    assert list(ours.values()) == sorted(ours.values())
    for distance in range(4):
        theirs, ours = both(nx.descendants_at_distance, graph, source, distance)
        assert theirs == ours


@given(graphs(), st.integers(0, 100))
def test_components_are_those_of_networkx(graph, which):
    for function in (nx.connected_components, nx.weakly_connected_components):
        theirs, ours = both(function, graph, then=list)
        assert theirs == ours
    for function in (
        nx.number_connected_components,
        nx.is_connected,
        nx.number_weakly_connected_components,
        nx.is_weakly_connected,
    ):
        theirs, ours = both(function, graph)
        assert theirs == ours
    node = list(graph)[which % len(graph)]
    theirs, ours = both(nx.node_connected_component, graph, node)
    assert theirs == ours


@given(graphs(), st.integers(0, 100))
def test_eccentricities_and_diameters_are_those_of_networkx(graph, which):
    node = list(graph)[which % len(graph)]
    for v in (None, node, [node, "stranger"], list(graph)[:3]):
        theirs, ours = both(nx.eccentricity, graph, v)
        assert theirs == ours
    for options in ({}, {"e": {node: 3}}):
        theirs, ours = both(nx.diameter, graph, **options)
        assert theirs == ours
    theirs, ours = both(nx.diameter, graph, usebounds=True)
    assert theirs == ours


@given(graphs(kinds=(nx.Graph, nx.DiGraph)), st.lists(st.integers(1, 5), max_size=4))
def test_ranks_are_those_of_networkx(graph, weights):
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    personal = dict(zip(graph, weights, strict=False)) or None
    for personalization in (None, personal):
        theirs, ours = both(
            nx.pagerank, graph, personalization=personalization, tol=1e-9, max_iter=500
        )
        assert list(theirs) == list(ours)
        assert ours == pytest.approx(theirs, abs=1e-7)


def test_components_are_found_once(monkeypatch):
    graph = nx.disjoint_union_all([nx.path_graph(n) for n in (3, 40, 1, 2, 1)])
    found = []

    def counted(*args, **kwargs):
        found.append(args)
        return daskbfs.connected_components(*args, **kwargs)

    monkeypatch.setattr(networkx_graph, "find_components", counted)
    converted = networkx_backend.convert_from_nx(graph)
    sizes = [len(one) for one in networkx_backend.connected_components(converted)]
    assert sizes == [3, 40, 1, 2, 1]
    assert networkx_backend.number_connected_components(converted) == 5
    assert len(found) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (nx.bfs_edges, ("stranger",)),
        (nx.bfs_layers, (["stranger"],)),
        (nx.single_source_shortest_path_length, ("stranger",)),
        (nx.descendants_at_distance, ("stranger", 1)),
        (nx.node_connected_component, ("stranger",)),
        (nx.eccentricity, (7,)),
        (nx.eccentricity, ()),
        (nx.connected_components, ()),
        (nx.is_connected, ()),
        (nx.weakly_connected_components, ()),
        (nx.is_weakly_connected, ()),
        (nx.pagerank, ()),
    ],
)
def test_errors_are_those_of_networkx(function, args, kind):
    def told(value):
        return list(value) if hasattr(value, "__iter__") else value

    theirs, ours = both(function, kind(), *args, then=told)
    assert theirs == ours


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda graph: graph.add_edge(0, 1, weight=7), {}),
        (lambda graph: graph.add_edge(2, 2), {}),
        (lambda graph: None, {"nstart": {0: 1}}),
        (lambda graph: None, {"dangling": {0: 1}}),
        (lambda graph: graph.add_edge(0, 2), {"alpha": 1, "max_iter": 1000}),
    ],
)
def test_what_our_pagerank_does_not_know_is_left_to_networkx(change, options):
    graph = nx.path_graph(5)
    change(graph)
    with pytest.raises(NotImplementedError, match="daskbfs"):
        nx.pagerank(graph, backend="daskbfs", **options)
    expected = nx.pagerank(graph, backend="networkx", **options)
    with nx.config(backend_priority=["daskbfs"], fallback_to_nx=True):
        assert nx.pagerank(graph, **options) == expected


def test_weights_of_distances_are_left_to_networkx():
    graph = nx.path_graph(4)
    graph.add_edge(0, 1, weight=5)
    for function in (nx.diameter, nx.eccentricity):
        with pytest.raises(NotImplementedError, match="daskbfs"):
            function(graph, weight="weight", backend="daskbfs")
    with nx.config(backend_priority=["daskbfs"], fallback_to_nx=True):
        assert nx.diameter(graph, weight="weight") == 7
        assert nx.diameter(graph) == 3


def test_weights_that_nobody_looked_at_are_not_left_out():
    graph = nx.path_graph(3)
    graph.add_edge(0, 1, weight=5)
    for options in ({}, {"edge_attrs": {"weight": 1}}, {"preserve_edge_attrs": True}):
        with pytest.raises(NotImplementedError, match="without weights"):
            networkx_backend.pagerank(networkx_backend.convert_from_nx(graph, **options))
    converted = networkx_backend.convert_from_nx(graph)
    plain = nx.pagerank(graph, weight=None, backend="networkx")
    assert networkx_backend.pagerank(converted, weight=None) == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -1, 10**30])
def test_numbers_that_are_no_distances(number):
    graph = nx.path_graph(4)
    for function in (nx.descendants_at_distance, nx.single_source_shortest_path_length):
        theirs, ours = both(function, graph, 0, number)
        assert theirs == ours


def test_sorting_is_left_to_networkx():
    graph = nx.star_graph(4)
    with pytest.raises(NotImplementedError, match="'daskbfs' backend raised") as caught:
        nx.bfs_edges(graph, 0, sort_neighbors=sorted, backend="daskbfs")
    assert "daskbfs knows no sort_neighbors" in str(caught.value.__cause__)
    with nx.config(backend_priority=["daskbfs"], fallback_to_nx=True):
        assert len(list(nx.bfs_edges(graph, 0, sort_neighbors=sorted))) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_come_back(kind):
    graph = kind([("a", 1), (1, "c"), ("c", "c")], name="three")
    graph.add_node("lonely")
    again = networkx_backend.convert_to_nx(networkx_backend.convert_from_nx(graph))
    assert type(again) is type(graph)
    assert list(again.nodes) == list(graph.nodes)
    assert {frozenset(edge[:2]) for edge in again.edges} == {frozenset(e[:2]) for e in graph.edges}
    assert again.name == "three"


def test_the_driver_can_be_chosen(on_the_cluster):
    graph = nx.path_graph(6)
    with nx.config.backends.daskbfs(driver="resident"):
        found = nx.single_source_shortest_path_length(graph, 0, backend="daskbfs")
    assert found == {n: n for n in range(6)}


def test_networkx_knows_our_functions():
    told = get_info()["functions"]
    assert all(callable(getattr(networkx_backend, name)) for name in told)
    for name in told:
        assert "daskbfs" in getattr(nx, name).backends, name
    code = "import sys, networkx; print({'dask', 'numba', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"  # importing networkx does not load us
