from __future__ import annotations

import numpy as np
import pytest

import daskbfs
from daskbfs import ValidationError, validate


@pytest.fixture
def tree():
    #  0 - 1 - 2 - 3    and 5 - 6, and 7 isolated;   0 - 4 - 2
    graph = daskbfs.from_edges([(0, 1), (1, 2), (2, 3), (0, 4), (4, 2), (5, 6)], n_vertices=8)
    result = daskbfs.bfs(graph, 0)
    return graph, result.parent.copy(), result.level.copy()


def failing(graph, parent, level=None, source=0, **options):
    with pytest.raises(ValidationError) as caught:
        validate(graph, source, parent, level, **options)
    return caught.value


def test_a_right_tree_passes_with_and_without_levels(tree):
    graph, parent, level = tree
    validate(graph, 0, parent, level)
    validate(graph, 0, parent)
    validate(graph, 0, parent.tolist(), level.tolist())


def test_another_right_parent_passes(tree):
    graph, parent, level = tree
    parent[2] = 4 if parent[2] == 1 else 1
    validate(graph, 0, parent, level)


@pytest.mark.parametrize(
    ("change", "check", "vertex", "words"),
    [
        ({0: 1}, 1, 0, "the source's parent is 1"),
        ({5: 6, 6: 5}, 1, 5, "cycle"),
        ({3: 3}, 1, 3, "its own parent"),
        ({2: 3, 3: 2}, 1, 2, "cycle"),
        ({3: -1}, 4, 2, "not reached"),
        ({3: 0}, 5, 3, "no edge from its parent 0"),
        ({7: 0}, 5, 7, "no edges"),
        ({3: 7}, 5, 3, "parent 7 has no edge"),
        ({3: 100}, 5, 3, "parent 100 has no edge"),
    ],
)
def test_each_kind_of_wrong_parent_is_found_and_named(tree, change, check, vertex, words):
    graph, parent, _ = tree
    for v, p in change.items():
        parent[v] = p
    error = failing(graph, parent)
    assert (error.check, error.vertex) == (check, vertex)
    assert words in str(error)


@pytest.mark.parametrize(
    ("change", "check", "vertex"),
    [
        ({0: 1}, 2, 0),
        ({3: 2}, 2, 3),
        ({3: 4}, 3, 2),
        ({3: -1}, 2, 3),
        ({5: 1}, 2, 5),
        ({4: 2}, 3, 0),
    ],
)
def test_wrong_levels_are_found(tree, change, check, vertex):
    graph, parent, level = tree
    for v, at in change.items():
        level[v] = at
    error = failing(graph, parent, level)
    assert (error.check, error.vertex) == (check, vertex)


def test_an_edge_that_spans_levels_is_found():
    # a path is no shortest tree of a cycle
    graph = daskbfs.from_edges([(i, (i + 1) % 9) for i in range(9)])
    parent = np.array([0, 0, 1, 2, 3, 4, 5, 6, 7])
    error = failing(graph, parent)
    assert error.check == 3
    assert error.vertex in (0, 1)


@pytest.mark.parametrize("source_edges", [True, False])
def test_isolated_sources(source_edges):
    graph = daskbfs.from_edges([(1, 2)], n_vertices=4)
    validate(graph, 3, [-1, -1, -1, 3])
    assert failing(graph, [-1, 1, 1, 3], source=3).vertex == 1
    assert failing(graph, [-1, -1, -1, -1], source=3).check == 1


def test_directed_trees():
    graph = daskbfs.from_edges([(0, 1), (1, 2), (3, 2)], directed=True)
    validate(graph, 0, [0, 0, 1, -1])
    assert failing(graph, [0, 0, 3, 2]).check in (1, 5)
    assert failing(graph, [0, 0, -1, -1]).check == 4


@pytest.mark.parametrize("level", [None, [0, 1, -1, 0]])
def test_a_tree_that_hangs_from_elsewhere_is_found(level):
    graph = daskbfs.from_edges([(0, 1), (2, 3)], directed=True)
    error = failing(graph, [0, 0, -1, 2], level)
    assert (error.check, error.vertex) == (1, 3)
    graph = daskbfs.from_edges([(0, 1), (2, 3)])
    assert failing(graph, [0, -1, -1, 2], last_level=0).check == 1


@pytest.mark.parametrize("far", [-(2**32), 2**32, -2, 8])
def test_levels_that_cannot_be_are_found(tree, far):
    graph, parent, level = tree
    level = level.astype(np.int64)
    level[5 if far < 0 else 3] = far
    assert failing(graph, parent, level).check == 2


def test_a_limit_excuses_only_its_own_level(tree):
    graph, _, _ = tree
    cut = daskbfs.bfs(graph, 0, depth_limit=1)
    validate(graph, 0, cut.parent, cut.level, last_level=1)
    assert failing(graph, cut.parent, cut.level).check == 4
    assert failing(graph, cut.parent, cut.level, last_level=2).check == 4


def test_sparse_ids():
    graph = daskbfs.from_edges([(10**12, 5), (5, 70), (70, 10**9)])
    result = daskbfs.bfs(graph, 70)
    validate(graph, 70, result.parent, result.level)
    wrong = result.parent.copy()
    wrong[-1] = 10**9
    assert failing(graph, wrong, source=70).vertex == 10**12
    wrong[-1] = 123
    assert failing(graph, wrong, source=70).vertex == 10**12


def test_arrays_of_the_wrong_size_are_refused(tree):
    graph, parent, level = tree
    with pytest.raises(ValueError, match=r"parent has shape \(7,\): .* each of the 8 vertices"):
        validate(graph, 0, parent[:-1])
    with pytest.raises(TypeError, match="level has dtype float64: it must hold integers"):
        validate(graph, 0, parent, level + 0.5)
    with pytest.raises(TypeError, match="source '0' is a str"):
        validate(graph, "0", parent)
    with pytest.raises(ValueError, match="level has shape"):
        validate(graph, 0, parent, level[:-1])


@pytest.mark.parametrize("seed", range(20))
def test_planted_faults_in_a_larger_tree_are_found(kron12, seed):
    rng = np.random.default_rng(seed)
    source = int(kron12.random_sources(1, seed)[0])
    result = daskbfs.bfs(kron12, source)
    validate(kron12, source, result.parent, result.level)
    deep = np.flatnonzero(result.level >= 2)
    vertex = int(rng.choice(deep))
    level = result.level.copy()
    level[vertex] -= 1
    assert failing(kron12, result.parent, level, source=source).check in (2, 3)
    parent = result.parent.copy()
    parent[vertex] = -1
    assert failing(kron12, parent, source=source).check in (1, 2, 4)


def test_many_cycles_in_a_large_tree_are_found_quickly():
    n = 200_000
    graph = daskbfs.from_edges([(i, i + 1) for i in range(n)])
    parent = np.arange(-1, n)
    parent[0] = 0
    validate(graph, 0, parent)
    parent[n // 2 :: 2] = np.arange(n // 2, n + 1, 2) + 1
    parent[n] = n - 1
    error = failing(graph, parent)
    assert error.check == 1
