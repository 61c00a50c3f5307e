from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse

import daskbfs
from tests.test_construction import check_rows


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "dok"])
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("directed", [False, True])
def test_scipy_matrices_of_every_kind(kind, container, directed):
    dense = np.array([[0, 1, 0, 0], [0, 0, 5, 0], [0, 0, 7, 0], [0, 0, 0, 0]])
    matrix = getattr(scipy.sparse, f"{kind}_{container}")(dense)
    graph = daskbfs.from_scipy(matrix, directed=directed)
    assert graph.n_vertices == 4
    check_rows(graph, [(0, 1), (1, 2), (2, 2)])


def test_bad_matrices_are_refused():
    with pytest.raises(TypeError, match=r"a ndarray is no scipy.sparse matrix"):
        daskbfs.from_scipy(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"shape \(2, 3\) is no graph: it must be square"):
        daskbfs.from_scipy(scipy.sparse.coo_array(np.ones((2, 3))))
    with pytest.raises(ValueError, match="the weight of edge 0 is nan"):
        daskbfs.from_scipy(scipy.sparse.coo_array(np.array([[np.nan, 0], [0, 1]])))


@pytest.mark.parametrize(
    "graph",
    [
        networkx.karate_club_graph(),
        networkx.path_graph(5, create_using=networkx.DiGraph),
        networkx.MultiGraph([(0, 1), (0, 1), (1, 1), (3, 4)]),
        networkx.gnp_random_graph(60, 0.05, seed=1, directed=True),
        networkx.empty_graph(4),
        networkx.Graph([(10**12, 3), (3, 10**15)]),
    ],
    ids=str,
)
def test_networkx_graphs_have_networkx_distances(graph):
    ours = daskbfs.from_networkx(graph)
    assert ours.directed == graph.is_directed()
    for source in list(graph)[:5]:
        level = daskbfs.bfs(ours, source).level
        found = {int(v): int(at) for v, at in zip(ours.vertices, level, strict=True) if at >= 0}
        assert found == dict(networkx.single_source_shortest_path_length(graph, source))


def test_networkx_nodes_must_be_integers():
    with pytest.raises(TypeError, match="node 'a' is not an integer: relabel the graph first"):
        daskbfs.from_networkx(networkx.Graph([("a", "b")]))
    with pytest.raises(TypeError, match="node True is not an integer"):
        daskbfs.from_networkx(networkx.Graph([(True, 5)]))
    with pytest.raises(ValueError, match=r"is out of range: vertex ids are 0 to 2\*\*63 - 1"):
        daskbfs.from_networkx(networkx.Graph([(2**63, 1)]))
    assert daskbfs.from_networkx(networkx.empty_graph(3)).n_input_edges == 0
    broken = networkx.Graph()
    broken.add_edge(0, 1, weight=float("nan"))
    with pytest.raises(ValueError, match="weight of edge 0 is nan"):
        daskbfs.from_networkx(broken)
