"""Vertices and neighbours in every order: the same adjacency, the same levels."""

from __future__ import annotations

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.names import Device
from daskbfs.partition.layout import arcs_before, lay_out
from tests.support.checks import check_adjacency, check_against_oracle, check_equal, rows_as_lists
from tests.support.in_process import search as search_on
from tests.support.partitioned import search

ORDERS = [
    (vertices, neighbours)
    for vertices in ("degree", "input")
    for neighbours in ("hubs-first", "input")
]
OTHERS = ORDERS[1:]
EDGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=120
).filter(lambda edges: any(u != v for u, v in edges))


def configure(vertices, neighbours):
    """The switches, for a while."""
    return dask.config.set(
        {
            "daskbfs.construction.vertices": vertices,
            "daskbfs.construction.neighbours": neighbours,
        }
    )


def make_graph(kind, orders):
    """A Kronecker graph, or a directed one."""
    with configure(*orders):
        if kind == "kron":
            return daskbfs.kronecker(11)
        edges = np.random.default_rng(3).integers(0, 2000, size=(9000, 2)) ** 2 // 2000
        return daskbfs.from_edges(edges, directed=True)


@pytest.fixture(scope="module")
def client():
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("directed", [False, True])
@given(edges=EDGES, data=st.data())
def test_every_order_has_the_oracles_rows_and_levels(directed, orders, edges, data):
    with configure(*orders):
        graph = daskbfs.from_edges(edges, directed=directed)
    check_adjacency(graph, edges)
    source = data.draw(st.sampled_from(graph.original_index[: graph.n_rows].tolist()))
    check_against_oracle(graph, edges, source, daskbfs.bfs(graph, source))
    check_against_oracle(graph, edges, source, search(graph, 3, source))


@pytest.mark.parametrize("kind", ["kron", "directed"])
def test_each_switch_decides_its_own_order(kind):
    graphs = {orders: make_graph(kind, orders) for orders in ORDERS}
    plain = graphs["degree", "hubs-first"]
    degree = np.diff(arcs_before(plain))
    for (vertices, neighbours), graph in graphs.items():
        rows = graph.original_index[: graph.n_rows]
        expected = plain.original_index[: plain.n_rows]
        assert np.array_equal(rows, expected if vertices == "degree" else np.sort(expected))
        assert np.array_equal(graph.order[rows], np.arange(graph.n_rows))
        assert np.array_equal(np.diff(arcs_before(graph)), degree[plain.order[rows]])
        for side in ("out", "into"):
            mine = rows_as_lists(graph, getattr(graph, side))
            by_degree = rows_as_lists(plain, getattr(plain, side))
            for v, row in by_degree.items():
                assert mine[v] == (row if neighbours == "hubs-first" else sorted(row))
            assert any(row != sorted(row) for row in by_degree.values())


@pytest.mark.slow
@pytest.mark.parametrize("orders", OTHERS)
@pytest.mark.parametrize("kind", ["kron", "directed"])
def test_levels_do_not_depend_on_the_order(client, kind, orders):
    plain, graph = make_graph(kind, ORDERS[0]), make_graph(kind, orders)
    placed = [daskbfs.distribute(graph, client, n_partitions=n) for n in (2, 5)]
    for source in plain.random_sources(2):
        source = int(source)
        expected = daskbfs.bfs(plain, source)
        found = [
            daskbfs.bfs(graph, source, driver="direct", direction=direction)
            for direction in ("beamer", "top_down", "bottom_up", "coordinator")
        ]
        for driver in ("resident", "waves"):
            found += [daskbfs.bfs(there, source, driver=driver) for there in placed]
        for result in found:
            assert np.array_equal(result.level, expected.level)
            assert (result.reached, result.edges) == (expected.reached, expected.edges)
            for checked in (plain, graph):
                daskbfs.validate(checked, source, result.parent, result.level)


@pytest.mark.parametrize("orders", OTHERS)
@pytest.mark.parametrize("strategy", ["high", "low"])
def test_gpus_take_rows_in_any_order(orders, strategy):
    plain, graph = make_graph("kron", ORDERS[0]), make_graph("kron", orders)
    source = int(plain.random_sources(1)[0])
    parent, _, _ = search_on(graph, source, [Device.CPU, Device.GPU_EMULATED], strategy=strategy)
    daskbfs.validate(plain, source, parent, daskbfs.bfs(plain, source).level)


@pytest.mark.parametrize("orders", OTHERS)
def test_workers_build_in_the_order_that_their_client_wants(client, orders, tmp_path):
    edges = np.random.default_rng(6).integers(0, 300, size=(2000, 2)) * (10**11 + 7)
    path = tmp_path / "edges.txt"
    np.savetxt(path, edges, fmt="%d")
    for what in ("kron:11", path):
        with configure(*orders):
            graph = daskbfs.kronecker(11) if what == "kron:11" else daskbfs.read_graph(path)
            placed = daskbfs.distribute(what, client, n_partitions=3, strategy="random")
            assert placed.graph.locality == graph.locality
        check_equal(placed, graph, "random")
        source = int(graph.random_sources(1)[0])
        result = daskbfs.bfs(placed, source, driver="waves")
        assert np.array_equal(result.level, daskbfs.bfs(graph, source, driver="direct").level)
        daskbfs.validate(placed.graph, source, result.parent, result.level)


@pytest.mark.parametrize("directed", [False, True])
@given(edges=EDGES, share=st.sampled_from([0.1, 0.5, 0.83]))
def test_a_share_by_degree_needs_no_rows_by_degree(directed, edges, share):
    with configure("input", "hubs-first"):
        graph = daskbfs.from_edges(edges, directed=directed)
    arcs, degree = np.diff(arcs_before(graph)), graph.input_degree
    high, low = (
        lay_out(graph, 2, strategy, n_cpu=1, cpu_share=share).rows for strategy in ("high", "low")
    )
    for more, less in (high, low[::-1]):
        assert np.concatenate([more, less]).size == graph.n_rows
        assert degree[more].min(initial=10**9) >= degree[less].max(initial=0)
    for rows in (high, low):
        assert abs(arcs[rows[0]].sum() - share * arcs.sum()) <= arcs.max() / 2


@pytest.mark.parametrize("orders", OTHERS)
def test_a_parent_that_is_no_neighbour_is_found_in_any_order(orders):
    graph = make_graph("kron", orders)
    source = int(graph.random_sources(1)[0])
    result = daskbfs.bfs(graph, source)
    neighbours = rows_as_lists(graph, graph.into)
    rng = np.random.default_rng(1)
    for v in rng.permutation(np.flatnonzero(result.level > 1))[:40]:
        above = np.flatnonzero(result.level == result.level[v] - 1)
        broken = result.parent.copy()
        broken[v] = rng.choice(np.setdiff1d(above, neighbours[int(v)]))
        with pytest.raises(ValueError, match="check 5"):
            daskbfs.validate(graph, source, broken, result.level)


def test_files_do_not_depend_on_the_order(tmp_path):
    for i, orders in enumerate(ORDERS):
        daskbfs.write_graph(make_graph("directed", orders), tmp_path / f"{i}.sg")
    assert len({(tmp_path / f"{i}.sg").read_bytes() for i in range(len(ORDERS))}) == 1


@pytest.mark.parametrize(
    ("key", "known"), [("vertices", "auto, degree, input"), ("neighbours", "hubs-first, input")]
)
def test_unknown_orders_are_refused(client, key, known):
    message = f"daskbfs.construction.{key} 'random' is unknown: choose one of {known}"
    with dask.config.set({f"daskbfs.construction.{key}": "random"}):
        with pytest.raises(ValueError, match=message):
            daskbfs.from_edges([(0, 1)])
        with pytest.raises(ValueError, match=message):
            daskbfs.distribute("kron:6", client)


def test_rows_are_numbered_by_degree_unless_degrees_are_even():
    skewed, even = daskbfs.kronecker(10), daskbfs.uniform(10)
    assert skewed.locality.by_degree
    assert skewed.locality.why.startswith("degrees are skewed: mean ")
    assert even.locality.vertices == "input"
    assert even.locality.why.startswith("no degree is far above the mean: mean 32.0, ")
    assert even.original_index[: even.n_rows].tolist() == sorted(even.original_index[: even.n_rows])
