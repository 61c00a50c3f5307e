from __future__ import annotations

import subprocess
import sys

import dask.array
import dask.dataframe
import igraph
import networkit
import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from distributed import Client

import daskbfs
from tests.support.checks import check_rows


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


EDGES = np.array([(3, 1), (1, 2), (2, 3), (3, 3), (1, 3), (5, 6)])


def frame(**columns):
    return pandas.DataFrame(columns)


TABLES = {
    "pandas": frame,
    "pandas-arrow": lambda **c: frame(**c).convert_dtypes(dtype_backend="pyarrow"),
    "pandas-nullable": lambda **c: frame(**c).convert_dtypes(),
    "polars": lambda **c: polars.DataFrame(c),
    "pyarrow": lambda **c: pyarrow.table(c),
    "pyarrow-batch": lambda **c: pyarrow.table(c).to_batches()[0],
    "dask": lambda **c: dask.dataframe.from_pandas(frame(**c), npartitions=3),
    "dask-arrow": lambda **c: dask.dataframe.from_pandas(
        frame(**c).convert_dtypes(dtype_backend="pyarrow"), npartitions=3
    ),
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind(kind, directed):
    table = TABLES[kind](weight=[0.5] * len(EDGES), src=EDGES[:, 0], dst=EDGES[:, 1])
    check_rows(daskbfs.from_edges(table, directed=directed), EDGES)
    table = TABLES[kind](a=EDGES[:, 0], b=EDGES[:, 1], c=EDGES[:, 1])
    check_rows(daskbfs.from_edges(table, columns=("a", "c"), directed=directed), EDGES)
    with pytest.raises(ValueError, match=r"calls has the columns 'a', 'b', 'c': name the two"):
        daskbfs.from_edges(table, name="calls")


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind != "dask"])  # there, floats
def test_tables_with_gaps_or_words_are_refused(kind):
    with pytest.raises(ValueError, match="column 'v' has no value in row 1, from 0 on"):
        daskbfs.from_edges(TABLES[kind](u=[0, 1], v=[1, None]))
    with pytest.raises(TypeError, match=r"column .u. has the type .*: vertex ids are integers"):
        daskbfs.from_edges(TABLES[kind](u=["a", "b"], v=[1, 2]))


def test_tables_that_cannot_be_read_say_why():
    with pytest.raises(ValueError, match="columns 'a' and 'a' are not two, or stand there twice"):
        daskbfs.from_edges(pandas.DataFrame(EDGES, columns=["a", "a"]))
    with pytest.raises(TypeError, match=r"a LazyFrame has no rows yet: collect\(\) it first"):
        daskbfs.from_edges(polars.LazyFrame({"u": [0], "v": [1]}))
    table = dask.dataframe.from_pandas(frame(u=EDGES[:, 0], v=EDGES[:, 1]), npartitions=2)
    with pytest.raises(ValueError, match="weights are for edges in memory"):
        daskbfs.from_edges(table, weights=[1] * len(EDGES))


def test_columns_are_for_tables():
    with pytest.raises(ValueError, match="are for tables: a ndarray has none"):
        daskbfs.from_edges(EDGES, columns=("a", "b"))


@pytest.mark.parametrize("chunks", [(2, 2), (4, 1), (100, 2)])
def test_dask_arrays(chunks):
    check_rows(daskbfs.from_edges(dask.array.from_array(EDGES, chunks=chunks)), EDGES)
    with pytest.raises(ValueError, match=r"a Dask array of shape \(6,\) cannot be read"):
        daskbfs.from_edges(dask.array.from_array(EDGES[:, 0]))


def test_dask_collections_of_unknown_length_and_sparse_ids():
    table = dask.dataframe.from_pandas(frame(u=EDGES[:, 0], v=EDGES[:, 1]), npartitions=2)
    table = table[table.u > 1] * 10**12
    wanted = EDGES[EDGES[:, 0] > 1] * 10**12
    check_rows(daskbfs.from_edges(table), wanted)
    check_rows(daskbfs.from_edges(table.to_dask_array()), wanted)


def test_dask_collections_are_computed_on_the_cluster(on_the_cluster):
    def touched(part, dask_worker=None):
        from distributed import get_worker

        get_worker().touched = True
        return part

    table = dask.dataframe.from_pandas(frame(u=EDGES[:, 0], v=EDGES[:, 1]), npartitions=2)
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        graph = daskbfs.from_edges(table.map_partitions(touched, meta=table._meta))
        assert client.run(lambda dask_worker: dask_worker.touched) != {}
        placed = daskbfs.distribute(graph, client)
        result = daskbfs.bfs(placed, 1)
        vertices, parents = (column.compute() for column in result.to_dask())
        tree = result.to_dask_dataframe().compute()
    check_rows(graph, EDGES)
    assert tree.vertex.tolist() == vertices.tolist()
    assert tree.parent.tolist() == parents.tolist()
    assert set(zip(tree.vertex, tree.parent, strict=True)) == {
        (1, 1),
        (2, 1),
        (3, 1),
        (5, -1),
        (6, -1),
    }


def test_results_as_dataframes():
    graph = daskbfs.from_edges(EDGES * 10**12)
    tree = daskbfs.bfs(graph, 10**12).to_pandas()
    assert tree.columns.tolist() == ["vertex", "parent", "level"]
    assert tree.set_index("vertex").level.to_dict() == {
        10**12: 0, 2 * 10**12: 1, 3 * 10**12: 1, 5 * 10**12: -1, 6 * 10**12: -1
    }  # fmt: skip
    ranks = daskbfs.pagerank(graph).to_pandas()
    assert ranks.columns.tolist() == ["vertex", "rank"]
    assert ranks["rank"].sum() == pytest.approx(1)


@pytest.mark.parametrize("directed", [False, True])
def test_igraph(directed):
    theirs = igraph.Graph(n=9, edges=EDGES.tolist(), directed=directed)
    ours = daskbfs.from_igraph(theirs)
    assert (ours.directed, ours.n_vertices) == (directed, 9)
    check_rows(ours, EDGES)
    far = theirs.distances(3)[0]
    assert daskbfs.bfs(ours, 3).level.tolist() == [-1 if d == float("inf") else d for d in far]
    heads, tails = daskbfs.to_edges(ours)
    again = igraph.Graph(n=9, edges=np.stack([heads, tails], axis=1), directed=directed)
    assert again.isomorphic(theirs.copy().simplify())
    with pytest.raises(TypeError, match="a list is no graph of igraph"):
        daskbfs.from_igraph([])


@pytest.mark.parametrize("directed", [False, True])
def test_networkit(directed):
    heads, tails = EDGES.T.copy()
    theirs = networkit.GraphFromCoo((heads, tails), n=9, directed=directed)
    ours = daskbfs.from_networkit(theirs)
    assert (ours.directed, ours.n_vertices) == (directed, 9)
    check_rows(ours, EDGES)
    again = networkit.GraphFromCoo(daskbfs.to_edges(ours), n=9, directed=directed)
    assert again.numberOfEdges() == ours.n_edges
    with pytest.raises(TypeError, match="a list is no graph of networkit"):
        daskbfs.from_networkit([])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("ids", [1, 10**12])
def test_graphs_go_back_to_where_they_came_from(directed, ids):
    graph = daskbfs.from_edges(EDGES * ids, directed=directed)
    check_rows(daskbfs.from_networkx(daskbfs.to_networkx(graph)), EDGES * ids)
    assert daskbfs.to_networkx(graph).is_directed() == directed
    check_rows(daskbfs.from_edges(daskbfs.to_edges(graph), directed=directed), EDGES * ids)
    matrix = daskbfs.to_scipy(graph)
    assert matrix.shape == (graph.n_vertices, graph.n_vertices)
    places = np.searchsorted(graph.vertices, EDGES * ids)
    check_rows(daskbfs.from_scipy(matrix, directed=directed), places)


def test_nothing_is_a_graph_too():
    empty = daskbfs.from_edges([])
    assert daskbfs.to_scipy(empty).shape == (0, 0)
    assert len(daskbfs.to_networkx(empty)) == 0
    assert daskbfs.to_edges(empty)[0].size == 0
    table = dask.dataframe.from_pandas(frame(u=EDGES[:, 0], v=EDGES[:, 1]), npartitions=2)
    assert daskbfs.from_edges(table[table.u > 99]).n_edges == 0


def test_searches_need_none_of_these_packages():
    code = """
import sys
for name in ("pandas", "polars", "pyarrow", "igraph", "networkit", "networkx", "scipy", "bokeh"):
    sys.modules[name] = None
import daskbfs
print(daskbfs.bfs(daskbfs.from_edges([(0, 1)]), 0, driver="direct").reached)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "2", done.stderr
