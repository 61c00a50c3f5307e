from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from tests.support import naive
from tests.support.checks import check_against_oracle

DIRECTIONS = ["beamer", "coordinator", "top_down", "bottom_up"]


def edge_lists(largest):
    vertex = st.integers(0, largest)
    return st.lists(st.tuples(vertex, vertex), min_size=1, max_size=120)


@pytest.mark.parametrize("directed", [False, True])
@given(edges=edge_lists(30), data=st.data())
def test_every_direction_finds_the_oracles_levels(directed, edges, data):
    graph = daskbfs.from_edges(edges, directed=directed)
    source = data.draw(st.integers(0, graph.n_vertices - 1))
    for direction in DIRECTIONS:
        result = daskbfs.bfs(graph, source, direction=direction)
        check_against_oracle(graph, [*edges, (source, source)], source, result)


@pytest.mark.parametrize("directed", [False, True])
@given(edges=edge_lists(2**62), data=st.data())
def test_sparse_ids_come_back_in_every_result(directed, edges, data):
    # ids this large are never taken for dense ones, whatever hypothesis makes small
    edges = [*edges, (2**62 + 1, 2**62 + 2)]
    graph = daskbfs.from_edges(edges, directed=directed)
    source = data.draw(st.sampled_from(graph.vertices.tolist()))
    result = daskbfs.bfs(graph, source)
    check_against_oracle(graph, edges, source, result)
    assert result.parent.dtype == np.int64
    assert set(graph.vertices.tolist()) == {v for edge in edges for v in edge}


SHAPES = {
    "path": [(i, i + 1) for i in range(300)],
    "star": [(0, i) for i in range(1, 300)],
    "clique": [(i, j) for i in range(70) for j in range(i)],
    "cycle": [(i, (i + 1) % 129) for i in range(129)],
    "two components": [(i, i + 1) for i in range(100)] + [(i, i + 1) for i in range(200, 264)],
    "self-loops": [(i, i) for i in range(10)] + [(0, 1), (1, 2)],
    "duplicates": [(0, 1)] * 50 + [(1, 0)] * 50 + [(1, 2)] * 3,
    "bipartite": [(i, 100 + j) for i in range(20) for j in range(30)],
}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_known_shapes(shape, direction):
    edges = SHAPES[shape]
    graph = daskbfs.from_edges(edges)
    for source in {edges[0][0], edges[-1][1]}:
        result = daskbfs.bfs(graph, source, direction=direction)
        check_against_oracle(graph, [*edges, (source, source)], source, result)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_directed_edges_are_followed_one_way_only(direction):
    graph = daskbfs.from_edges([(0, 1), (1, 2), (3, 0), (2, 4), (5, 4)], directed=True)
    result = daskbfs.bfs(graph, 0, direction=direction)
    assert result.level.tolist() == [0, 1, 2, -1, 3, -1]


def test_an_isolated_source_reaches_itself():
    graph = daskbfs.from_edges([(1, 2)], n_vertices=4)
    result = daskbfs.bfs(graph, 0)
    assert result.parent.tolist() == [0, -1, -1, -1]
    assert result.level.tolist() == [0, -1, -1, -1]
    assert (result.reached, result.edges, result.teps, len(result.levels)) == (1, 0, None, 0)
    daskbfs.validate(graph, 0, result.parent, result.level)


def test_a_single_vertex():
    graph = daskbfs.from_edges([(0, 0)])
    assert (graph.n_vertices, graph.n_edges) == (1, 0)
    assert daskbfs.bfs(graph, 0).parent.tolist() == [0]


def test_an_empty_graph_has_nowhere_to_start():
    graph = daskbfs.from_edges([])
    assert (graph.n_vertices, graph.n_edges) == (0, 0)
    with pytest.raises(ValueError, match="source 0 is not in the graph: it is empty"):
        daskbfs.bfs(graph, 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_kronecker_trees_pass_the_graph500_checks(kron12, direction):
    for source in kron12.random_sources(8):
        result = daskbfs.bfs(kron12, source, direction=direction)
        daskbfs.validate(kron12, source, result.parent, result.level)


def test_levels_do_not_depend_on_direction_or_threads(kron12):
    source = int(kron12.random_sources(1)[0])
    expected = daskbfs.bfs(kron12, source, direction="top_down", threads=1).level
    for direction in DIRECTIONS:
        for threads in (1, 2):
            level = daskbfs.bfs(kron12, source, direction=direction, threads=threads).level
            assert np.array_equal(level, expected)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 100])
def test_a_depth_limit_cuts_the_tree(kron12, limit, direction):
    source = int(kron12.random_sources(1)[0])
    full = daskbfs.bfs(kron12, source).level
    result = daskbfs.bfs(kron12, source, depth_limit=limit, direction=direction)
    assert np.array_equal(result.level, np.where(full <= limit, full, -1))
    daskbfs.validate(kron12, source, result.parent, result.level, last_level=result.last_level)


def test_targets_end_the_search_early():
    graph = daskbfs.from_edges([(i, i + 1) for i in range(100)])
    result = daskbfs.bfs(graph, 50, targets=[53, 48])
    assert result.levels.n_levels == 3
    assert (result.level[53], result.level[48], result.level[54]) == (3, 2, -1)
    daskbfs.validate(graph, 50, result.parent, result.level, last_level=result.last_level)


def test_targets_may_be_an_array():
    graph = daskbfs.from_edges([(i, i + 1) for i in range(9)])
    for targets in (np.array([0, 2]), np.array([2]), iter([2]), (2,)):
        assert daskbfs.bfs(graph, 0, targets=targets).reached == 3
    assert daskbfs.bfs(graph, 3, targets=np.array([3])).reached == 1


def test_a_source_that_is_its_own_target_ends_at_once(kron12):
    source = int(kron12.random_sources(1)[0])
    result = daskbfs.bfs(kron12, source, targets=[source])
    assert (len(result.levels), result.reached) == (0, 1)


def test_a_target_that_cannot_be_reached_takes_a_full_search():
    graph = daskbfs.from_edges([(0, 1), (2, 3)], n_vertices=5)
    for target in (3, 4):
        assert daskbfs.bfs(graph, 0, targets=[target, 1]).level.tolist() == [0, 1, -1, -1, -1]


def test_a_second_search_never_changes_the_first_ones_result(kron12):
    sources = kron12.random_sources(6)
    held = [daskbfs.bfs(kron12, v) for v in sources]
    first = [(r.parent.copy(), r.level.copy()) for r in held]
    slices = [r.parent[10:20] for r in held]
    views = [s.copy() for s in slices]
    for v in sources[::-1]:
        daskbfs.bfs(kron12, v).parent.sum()
    for result, (parent, level) in zip(held, first, strict=True):
        assert np.array_equal(result.parent, parent)
        assert np.array_equal(result.level, level)
    parents = [r.parent for r in held]
    del held, result
    daskbfs.bfs(kron12, sources[0]).parent.sum()
    for mine, (parent, _) in zip(parents, first, strict=True):
        assert np.array_equal(mine, parent)
    del parents, mine
    for _ in range(4):
        daskbfs.bfs(kron12, sources[0]).parent.sum()
    for mine, copy in zip(slices, views, strict=True):
        assert np.array_equal(mine, copy)


def test_result_buffers_are_used_again_when_nobody_holds_them(kron12):
    source = int(kron12.random_sources(1)[0])
    addresses = {daskbfs.bfs(kron12, source).parent.ctypes.data for _ in range(10)}
    assert len(addresses) <= 2


def test_searches_at_once_from_several_threads_are_right(kron12):
    sources = kron12.random_sources(4)
    expected = [daskbfs.bfs(kron12, v).level for v in sources]
    right = []

    def search(i):
        for _ in range(20):
            level = daskbfs.bfs(kron12, sources[i]).level
            right.append(np.array_equal(level, expected[i]))

    threads = [threading.Thread(target=search, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 80
    assert all(right)


def test_edges_are_input_tuples_within_the_component():
    # duplicates and self-loops count (Graph500), the other component does not
    edges = [(0, 1), (1, 0), (1, 1), (1, 2), (7, 8), (8, 8)]
    result = daskbfs.bfs(daskbfs.from_edges(edges), 0)
    assert result.edges == 4
    assert result.teps == pytest.approx(4 / result.seconds)
    directed = daskbfs.bfs(daskbfs.from_edges(edges, directed=True), 1)
    assert directed.edges == 4


def test_records_tell_what_each_level_did(kron12):
    result = daskbfs.bfs(kron12, int(kron12.random_sources(1)[0]))
    sizes = np.bincount(result.level[result.level >= 0]).tolist()
    assert [r.frontier_vertices for r in result.levels] == sizes
    assert {str(r.direction) for r in result.levels} == {"top_down", "bottom_up"}
    assert all(r.kernel_seconds > 0 and r.edges_examined > 0 for r in result.levels)
    assert 0 < result.kernel_seconds < result.seconds
    assert result.overhead_seconds == pytest.approx(result.seconds - result.kernel_seconds)


def test_no_level_examines_more_arcs_than_there_are():
    graph = daskbfs.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    for record in daskbfs.bfs(graph, 0, direction="bottom_up").levels:
        assert record.edges_examined <= graph.n_arcs


def test_top_down_examines_every_arc_of_the_component():
    edges = SHAPES["clique"]
    result = daskbfs.bfs(daskbfs.from_edges(edges), 0, direction="top_down")
    assert sum(r.edges_examined for r in result.levels) == 2 * len(edges)


@pytest.mark.parametrize("source", [-1, 5, 2**40, 2**70])
def test_an_unknown_source_is_refused_with_the_range(source):
    graph = daskbfs.from_edges([(0, 1), (3, 4)])
    with pytest.raises(
        ValueError, match=f"source {source} is not in the graph: vertices are 0 to 4"
    ):
        daskbfs.bfs(graph, source)


@pytest.mark.parametrize("source", [1.5, "1", None])
def test_a_source_that_is_no_integer_is_refused(source):
    with pytest.raises(TypeError, match="vertex ids are integers"):
        daskbfs.bfs(daskbfs.from_edges([(0, 1)]), source)


def test_an_unknown_sparse_source_is_refused():
    graph = daskbfs.from_edges([(10**15, 5)])
    for source in (6, 2**70, -3):
        with pytest.raises(ValueError, match=f"source {source} is not in the graph"):
            daskbfs.bfs(graph, source)


def test_bad_options_name_the_choices(kron12):
    with pytest.raises(ValueError, match="driver 'x' is unknown: choose one of auto, direct"):
        daskbfs.bfs(kron12, 0, driver="x")
    with pytest.raises(ValueError, match="direction 'x' is unknown: choose one of beamer"):
        daskbfs.bfs(kron12, 0, direction="x")
    with pytest.raises(ValueError, match="depth_limit -1 is negative"):
        daskbfs.bfs(kron12, 0, depth_limit=-1)
    with pytest.raises(ValueError, match="threads=99999: kernels can use 1 to"):
        daskbfs.bfs(kron12, 0, threads=99999)
    with pytest.raises(TypeError, match=r"depth_limit 1.5 is a float: it must be an integer"):
        daskbfs.bfs(kron12, 0, depth_limit=1.5)
    with pytest.raises(TypeError, match="targets 3 is no list"):
        daskbfs.bfs(kron12, 0, targets=3)
    with pytest.raises(TypeError, match="a list is no graph: make one with from_edges"):
        daskbfs.bfs([(0, 1)], 0)
    with pytest.raises(ValueError, match="target 99999 is not in the graph"):
        daskbfs.bfs(kron12, 0, targets=[99999])


def test_real_graphs_have_the_levels_that_others_computed(data, reference):
    for name, sources in reference.items():
        graph = daskbfs.read_graph(data / name)
        for source, facts in sources.items():
            result = daskbfs.bfs(graph, int(source))
            sizes = np.bincount(result.level[result.level >= 0]).tolist()
            assert sizes == facts["histogram"], (name, source)
            assert (result.reached, result.levels.n_levels) == (facts["reached"], facts["levels"])
            daskbfs.validate(graph, int(source), result.parent, result.level)


@pytest.mark.parametrize("scale", [1, 10**10])
def test_levels_come_from_parents_where_the_rest_is_lost(scale):
    edges = np.array([(0, 1), (1, 2), (2, 3), (1, 4), (6, 7)]) * scale
    graph = daskbfs.from_edges(edges)
    expected, result = (daskbfs.bfs(graph, 0) for _ in range(2))
    _ = result.parent

    def fail():
        raise RuntimeError("the result is lost")

    result.__dict__.pop("_found", None)
    result._tree = replace(result._tree, result=SimpleNamespace(fetch=fail))
    assert np.array_equal(result.level, expected.level)
    assert (result.reached, result.edges) == (expected.reached, expected.edges)


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_larger_graph_agrees_with_scipy(direction):
    import scipy.sparse.csgraph

    from daskbfs.graph.generators import KroneckerEdges

    stream = KroneckerEdges(16, 16, seed=1)
    heads, tails = np.empty(stream.n_edges, np.uint32), np.empty(stream.n_edges, np.uint32)
    stream.make(0, heads, tails)
    graph = daskbfs.kronecker(16)
    matrix = scipy.sparse.coo_array((np.ones(heads.size), (heads, tails)), shape=(2**16, 2**16))
    for source in graph.random_sources(4):
        distance = scipy.sparse.csgraph.dijkstra(
            matrix.tocsr(), directed=False, indices=source, unweighted=True
        )
        expected = np.where(np.isinf(distance), -1, distance).astype(int)
        assert np.array_equal(daskbfs.bfs(graph, source, direction=direction).level, expected)


def test_the_oracle_itself():
    assert naive.levels([(0, 1), (1, 2), (5, 6)], 0) == {0: 0, 1: 1, 2: 2}
    assert naive.levels([(1, 0), (1, 2)], 0, directed=True) == {0: 0}


@pytest.mark.parametrize("n_isolated", [0, 5])
@pytest.mark.parametrize("reach", [1, 4, 9])
def test_rows_of_even_graphs_are_searched_until_one_neighbour_is_in_the_frontier(n_isolated, reach):
    n = 300  # on a ring, with neighbours up to some way along it
    edges = [(v, (v + step) % n) for v in range(n) for step in range(1, reach + 1)]
    graph = daskbfs.from_edges(edges, n_vertices=n + n_isolated)
    assert graph.keeps_input_order is (n_isolated == 0)
    result = daskbfs.bfs(graph, 7, direction="bottom_up", driver="direct")
    expected = naive.levels(edges, 7, False)
    assert {v: at for v, at in enumerate(result.level.tolist()) if at >= 0} == expected
    daskbfs.validate(graph, 7, result.parent, result.level)
    neighbours = {v: sorted({(v + d) % n for d in range(-reach, reach + 1) if d}) for v in range(n)}
    for record in result.levels:
        examined = 0
        for v in range(n):
            if expected[v] > record.level:
                hits = [expected[u] == record.level for u in neighbours[v]]
                examined += hits.index(True) + 1 if any(hits) else len(hits)
        assert record.edges_examined == examined
