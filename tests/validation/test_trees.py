"""Several trees against the input edges, in one pass."""

from __future__ import annotations

import numpy as np
import pytest

import daskbfs
from daskbfs.graph.edge_stream import ArrayEdges
from daskbfs.graph.generators import KroneckerEdges
from daskbfs.kernels.tree_checks import MOST_TREES
from daskbfs.validation.trees import Trees, ValidationError

SCALE = 11


@pytest.fixture(scope="module")
def edges():
    heads, tails = (np.concatenate(ends) for ends in zip(*_copied(), strict=True))
    return ArrayEdges(heads, tails, 2**SCALE)


def _copied():
    for heads, tails in KroneckerEdges(SCALE, 8, 3).blocks():
        yield heads.copy(), tails.copy()


@pytest.fixture(scope="module")
def graph():
    return daskbfs.kronecker(SCALE, 8, seed=3)


@pytest.fixture(scope="module")
def searched(graph):
    return [daskbfs.bfs(graph, int(source)) for source in graph.random_sources(MOST_TREES)]


def filled(graph, results, tampered=None):
    """Trees of some results; of one, with other parents."""
    trees = Trees(graph)
    for i, result in enumerate(results):
        parent = result.parent.copy()
        if tampered is not None and i == tampered[0]:
            for vertex, other in tampered[1].items():
                parent[vertex] = other
        trees.add(result.source, parent)
    return trees


@pytest.mark.parametrize("n", [1, 3, MOST_TREES])
def test_right_trees_pass_together_and_the_place_can_be_used_again(graph, edges, searched, n):
    trees = filled(graph, searched[:n])
    assert (len(trees), trees.full) == (n, n == MOST_TREES)
    trees.check(edges)
    assert len(trees) == 0
    for result in searched[-2:]:
        trees.add(result.source, result.parent, result.level)
    trees.check(edges)


def neighbours(edges, vertex):
    there = np.concatenate([edges.tails[edges.heads == vertex], edges.heads[edges.tails == vertex]])
    return set(there.tolist())


@pytest.mark.parametrize("lane", [0, 7, MOST_TREES - 1])
def test_a_parent_without_an_edge_is_found_in_its_tree(graph, edges, searched, lane):
    result = searched[lane]
    vertex = int(np.flatnonzero(result.level == 3)[0])
    strangers = set(np.flatnonzero(result.level == 2).tolist()) - neighbours(edges, vertex)
    other = min(strangers)
    with pytest.raises(ValidationError, match=f"no edge from its parent {other}") as caught:
        filled(graph, searched, (lane, {vertex: other})).check(edges)
    assert (caught.value.check, caught.value.vertex) == (5, vertex)
    assert caught.value.source == result.source


@pytest.mark.parametrize("lane", [0, MOST_TREES - 1])
def test_a_vertex_that_was_left_out_is_found(graph, edges, searched, lane):
    result = searched[lane]
    leaves = np.setdiff1d(np.flatnonzero(result.level >= 2), result.parent)
    with pytest.raises(ValidationError, match="leads from it to a vertex that was not") as caught:
        filled(graph, searched, (lane, {int(leaves[0]): -1})).check(edges)
    assert (caught.value.check, caught.value.source) == (4, result.source)


def test_a_tree_that_is_too_deep_is_found(graph, edges, searched):
    result = searched[5]
    deep = {}
    for vertex in np.setdiff1d(np.flatnonzero(result.level == 2), result.parent):
        beside = [v for v in neighbours(edges, int(vertex)) if result.level[v] == 2 and v != vertex]
        if beside:
            deep = {int(vertex): beside[0]}
            break
    (vertex,) = deep
    hangs_from_level_1 = [v for v in neighbours(edges, vertex) if result.level[v] == 1]
    assert hangs_from_level_1
    with pytest.raises(
        ValidationError, match=r"from its level 1 to level 1 \+ 2 or more"
    ) as caught:
        filled(graph, searched, (5, deep)).check(edges)
    assert caught.value.check == 3


def test_an_edge_that_the_construction_lost_is_noticed_only_against_the_edges():
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (2, 3)])
    lost = edges.copy()
    lost[[2, 4]] = edges[1]  # 2 - 3 is gone, though as many edges came
    graph = daskbfs.from_edges(lost)
    result = daskbfs.bfs(graph, 0)
    daskbfs.validate(graph, 0, result.parent)
    with pytest.raises(ValidationError, match="check 4 fails at vertex 2"):
        daskbfs.validate(graph, 0, result.parent, edges=edges)


@pytest.mark.parametrize("n", [200, 253, 254, 300, 70_000])
@pytest.mark.parametrize("directed", [False, True])
def test_levels_of_any_depth(n, directed):
    edges = np.arange(n)[:, None] + [0, 1]
    graph = daskbfs.from_edges(edges, directed=directed)
    at = np.arange(n + 1)
    deep = np.maximum(at - 1, 0)
    below = np.full(n + 1, -1) if directed else at + 1
    shallow = np.where(at < n // 2, below, at - (at > n // 2))
    stream = ArrayEdges(*edges.T)
    trees = Trees(graph)
    trees.add(n // 2, shallow)
    trees.add(0, deep)
    trees.check(stream)
    parent = deep.copy()
    parent[n] = -1
    trees.add(n // 2, shallow)
    trees.add(0, parent)
    with pytest.raises(ValidationError, match=f"check 4 fails at vertex {n - 1}"):
        trees.check(stream)


def test_limits_of_trees_side_by_side(graph, edges):
    full, cut = daskbfs.bfs(graph, 5), daskbfs.bfs(graph, 5, depth_limit=2)
    trees = Trees(graph)
    trees.add(5, cut.parent, last_level=2)
    trees.add(5, full.parent)
    trees.check(edges)
    trees.add(5, full.parent)
    trees.add(5, cut.parent)
    with pytest.raises(ValidationError, match="check 4"):
        trees.check(edges)


def test_other_edges_than_those_of_the_graph_are_refused(graph, edges, searched):
    with pytest.raises(ValueError, match="gave other edges when it was read the second time"):
        filled(graph, searched[:1]).check(ArrayEdges(edges.heads[1:], edges.tails[1:]))
    beyond = edges.heads.copy()
    beyond[7] = 2**SCALE
    with pytest.raises(ValueError, match="gave other edges"):
        filled(graph, searched[:1]).check(ArrayEdges(beyond, edges.tails))


@pytest.mark.parametrize("seed", range(10))
def test_both_ways_of_checking_agree_on_planted_faults(graph, edges, seed):
    rng = np.random.default_rng(seed)
    result = daskbfs.bfs(graph, int(graph.random_sources(1, seed)[0]))
    parent = result.parent.copy()
    for vertex in rng.choice(np.flatnonzero(result.level > 0), 2, replace=False):
        parent[vertex] = rng.choice([-1, *np.flatnonzero(result.level >= 0)])
    verdicts = []
    for options in ({}, {"edges": (edges.heads, edges.tails)}):
        try:
            daskbfs.validate(graph, result.source, parent, **options)
            verdicts.append(True)
        except ValidationError:
            verdicts.append(False)
    assert verdicts[0] == verdicts[1]


def test_there_is_room_for_so_many_trees_and_a_failed_check_empties_it(graph, edges, searched):
    trees = filled(graph, searched)
    with pytest.raises(ValueError, match=r"16 trees are checked at once, .*: check these first"):
        trees.add(searched[0].source, searched[0].parent)
    leaf = int(np.setdiff1d(np.flatnonzero(searched[0].level >= 2), searched[0].parent)[0])
    trees = filled(graph, searched, (0, {leaf: -1}))
    with pytest.raises(ValidationError):
        trees.check(edges)
    assert len(trees) == 0
    trees.add(searched[0].source, searched[0].parent)
    trees.check(edges)


def test_edges_of_formats_that_count_from_one(tmp_path):
    (tmp_path / "a.gr").write_text("p sp 4 3\na 1 2 1\na 2 3 1\na 3 4 1\n")
    graph = daskbfs.read_graph(tmp_path / "a.gr")
    parent = daskbfs.bfs(graph, 1).parent
    daskbfs.validate(graph, 1, parent, edges=[(1, 2), (2, 3), (3, 4)])
    with pytest.raises(ValueError, match="vertex id -1"):
        daskbfs.validate(graph, 1, parent, edges=[(0, 1), (1, 2), (2, 3)])
    with pytest.raises(ValueError, match=r"2 edges were given, but a\.gr was made of 3: give"):
        daskbfs.validate(graph, 1, parent, edges=[(1, 2), (2, 3)])
    with pytest.raises(ValidationError, match="check 3"):
        daskbfs.validate(graph, 1, parent, edges=[(1, 2), (2, 3), (1, 4)])
