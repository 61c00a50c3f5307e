from __future__ import annotations

import copy
import pickle

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.graph.build import Selection, build_outline, construct, fill_rows, outline_of
from daskbfs.graph.degrees import tally
from daskbfs.graph.edge_stream import ArrayEdges, BothWays, Origin, PlainStream
from daskbfs.graph.ordering import Locality
from daskbfs.graph.prebuilt import outline_stored
from daskbfs.graph.vertex_ids import DenseIds
from daskbfs.kernels import construction as build
from daskbfs.kernels.threads import threads
from daskbfs.progress import silent
from tests.support.checks import check_rows


@pytest.mark.parametrize("directed", [False, True])
@given(
    edges=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=150),
    n_threads=st.sampled_from([1, 2]),
)
def test_kernel_1_keeps_each_edge_once_and_drops_self_loops(directed, edges, n_threads):
    with threads(n_threads):
        graph = daskbfs.from_edges(edges, directed=directed)
    check_rows(graph, edges)
    assert graph.n_input_edges == len(edges)
    assert graph.n_vertices == max((v for edge in edges for v in edge), default=-1) + 1


@given(edges=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=90))
def test_rows_are_numbered_by_decreasing_input_degree_and_ties_keep_the_users_order(edges):
    with dask.config.set({"daskbfs.construction.vertices": "degree"}):
        graph = daskbfs.from_edges(edges)
    degree = np.zeros(graph.n_vertices, int)
    for u, v in edges:
        if u != v:
            degree[u] += 1
            degree[v] += 1
    expected = [v for v in np.argsort(-degree, kind="stable") if degree[v]]
    assert graph.original_index[: graph.n_rows].tolist() == expected
    assert graph.order[expected].tolist() == list(range(len(expected)))


@given(edges=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=60))
def test_input_degrees_sum_to_twice_the_input_edges_of_connected_vertices(edges):
    graph = daskbfs.from_edges(edges)
    connected = set(graph.original_index[: graph.n_rows].tolist())
    assert graph.input_degree.sum() == 2 * sum(u in connected for u, v in edges)


@pytest.mark.parametrize("length", [1, 39, 40, 41, 2047, 2048, 2049, 70_000])
def test_rows_of_every_length_are_sorted(length):
    rng = np.random.default_rng(length)
    leaves = rng.integers(1, length + 1, size=2 * length)
    graph = daskbfs.from_edges(np.stack([np.zeros_like(leaves), leaves], axis=1))
    hub = graph.row_of(0)
    row = graph.out.indices[graph.out.indptr[hub] : graph.out.indptr[hub + 1]]
    found = graph.original_index[row]
    assert np.array_equal(np.sort(found), np.unique(leaves))
    assert np.all(np.diff(row.astype(np.int64)) > 0)


def test_buckets_cover_all_rows_without_gaps():
    first = np.empty(build.N_BUCKETS + 1, np.int64)
    build.bucket_rows(2**32, first)
    assert first[0] == 0
    assert first[-1] == 2**32
    assert np.all(np.diff(first) > 0)


class Blocks(PlainStream):
    """A stream in blocks of a chosen size."""

    def __init__(self, edges, size, n_vertices=None):
        self.edges = np.array(edges, np.int64).reshape(-1, 2)
        self.size = size
        self.n_edges = len(self.edges)
        self.n_vertices = n_vertices
        self.passes = 0

    def blocks(self):
        self.passes += 1
        for i in range(0, len(self.edges), self.size):
            part = self.edges[i : i + self.size]
            yield part[:, 0], part[:, 1]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("size", [1, 3, 64, 10_000])
def test_a_stream_gives_the_same_graph_whatever_its_blocks(size, directed):
    edges = np.random.default_rng(1).integers(0, 200, size=(1000, 2))
    whole = daskbfs.from_edges(edges, directed=directed)
    stream = Blocks(edges, size)
    graph = construct(stream, directed=directed)
    assert stream.passes == 2
    for mine, theirs in ((graph.out, whole.out), (graph.into, whole.into)):
        assert np.array_equal(mine.indptr, theirs.indptr)
        assert np.array_equal(mine.indices, theirs.indices)
    assert np.array_equal(graph.order, whole.order)


def test_sparse_ids_in_a_stream_are_collected_first():
    edges = np.array([(5, 10**9), (10**9, 10**12), (7, 5)] * 10)
    graph = construct(Blocks(edges, 4))
    assert graph.vertices.tolist() == [5, 7, 10**9, 10**12]
    check_rows(graph, edges)


def test_ids_are_dense_or_sparse_by_a_rule_that_can_be_overruled():
    assert daskbfs.from_edges([(0, 2**20 - 1)]).vertices.size == 2**20
    assert daskbfs.from_edges([(0, 2**20)]).vertices.tolist() == [0, 2**20]
    assert daskbfs.from_edges([(0, 2**20)], n_vertices=2**20 + 1).vertices.size == 2**20 + 1


def test_both_ways_makes_arcs_of_edges():
    stream = BothWays(ArrayEdges(np.array([0, 1]), np.array([1, 2])))
    graph = construct(stream, directed=True)
    assert graph.n_arcs == 4
    check_rows(graph, [(0, 1), (1, 0), (1, 2), (2, 1)])


@pytest.mark.parametrize(
    "second",
    [
        [(0, 1), (1, 2), (0, 1)],
        [(0, 1)] * 100_000,
        [(0, 1)],
        [(0, 1), (0, 1)],
        [(0, 1), (0, 2)],
        [(0, 1), (1, 9)],
        [(0, 1), (2, 10**9)],
    ],
)
@pytest.mark.parametrize("first", [[(0, 1), (1, 2)], [(0, 1), (10**15, 2)]])
@pytest.mark.parametrize("directed", [False, True])
def test_a_stream_that_changes_between_passes_is_noticed(first, second, directed):
    class Changing(Blocks):
        def blocks(self):
            if self.passes >= (3 if first[1][0] > 10**9 else 1):
                self.edges = np.array(second, np.int64)
            yield from super().blocks()

    message = "gave other edges when it was read the second time|was not there when ids were"
    with pytest.raises(ValueError, match=message):
        construct(Changing(first, 10**6), directed=directed, name="x")


def test_a_stream_that_changes_is_noticed_by_a_worker_that_keeps_some_rows():
    before = np.array([(0, 1), (1, 2)])
    stream = Blocks(before, 10**6)
    stream.n_vertices = 64
    counts = tally(stream, False, silent)
    outline = outline_of(counts, Origin(stream, False, "x"), Locality("degree", "hubs-first"))
    stream.edges = np.array([(0, 63), (1, 2)])  # 63 had no row
    some = Selection(np.array([0, 2], np.uint32), np.arange(4, dtype=np.uint32), 3)
    with pytest.raises(ValueError, match="x gave other edges when it was read the second time"):
        fill_rows(outline, [some], silent)
    with pytest.raises(ValueError, match="gave other edges"):
        tally(Blocks([(0, 99)], 10), False, silent, DenseIds(10))


def test_an_estimate_does_not_decide_whether_ids_are_dense():
    edges = np.random.default_rng(1).integers(0, 2**21, size=(600_000, 2))
    stream = Blocks(edges, 10_000)
    stream.n_edges = 1000  # as if a file were well compressed
    graph = construct(stream)
    assert graph.ids.values is None
    assert graph.n_input_edges == 600_000


def test_degrees_of_words_count_only_rows_that_are_there():
    clique = daskbfs.from_edges([(i, j) for i in range(20) for j in range(i)])
    assert clique.out.mean_degree.tolist() == [19]


def test_a_graph_can_be_pickled_and_copied_before_and_after_a_search(kron12):
    source = int(kron12.random_sources(1)[0])
    expected = daskbfs.bfs(kron12, source).level
    for other in (pickle.loads(pickle.dumps(kron12)), copy.deepcopy(kron12)):
        assert np.array_equal(daskbfs.bfs(other, source).level, expected)
        assert repr(other) == repr(kron12)


@pytest.mark.parametrize("directed", [False, True])
def test_an_outline_and_its_copies_tell_whether_duplicates_are_counted_out(directed):
    heads, tails = np.array([0, 0, 1]), np.array([1, 1, 2])
    origin = Origin(ArrayEdges(heads, tails), directed, "x")
    before = build_outline(origin)
    stored = outline_stored(construct(origin.stream, directed=directed), origin)
    for outline, filled, n_edges in ((before, False, 3), (stored, True, 2)):
        copies = (copy.copy(outline), copy.deepcopy(outline), pickle.loads(pickle.dumps(outline)))
        for one in (outline, *copies):
            assert (one.filled, one.n_edges, one.directed) == (filled, n_edges, directed)
            assert one.nbytes == outline.nbytes


def test_two_tuples_in_a_tuple_are_two_edges_and_two_lists_are_heads_and_tails():
    check_rows(daskbfs.from_edges(((0, 1), (2, 3))), [(0, 1), (2, 3)])
    check_rows(daskbfs.from_edges(([0, 1], [2, 3])), [(0, 2), (1, 3)])
    with pytest.raises(ValueError, match="both must have one dimension"):
        daskbfs.from_edges((np.zeros((2, 2), int), np.zeros(2, int)))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint32, np.int64, np.uint64])
def test_any_integer_dtype_will_do(dtype):
    edges = np.array([(0, 1), (1, 2), (2, 3)], dtype)
    assert daskbfs.from_edges(edges).n_edges == 3
    assert daskbfs.from_edges((edges[:, 0], edges[:, 1])).n_edges == 3


@pytest.mark.parametrize(
    ("edges", "error", "message"),
    [
        (np.zeros((3, 3), int), ValueError, r"edges of shape \(3, 3\) cannot be read"),
        (np.zeros(4, int), ValueError, r"edges of shape \(4,\) cannot be read"),
        (np.zeros((2, 2, 2), int), ValueError, "cannot be read"),
        (([0, 1], [1]), ValueError, "heads have 2 entries and tails 1"),
        ([(0.5, 1.0)], TypeError, "vertex ids have dtype float64: they must be integers"),
        ([(0.0, float("nan"))], ValueError, "edge 0 has the vertex id nan"),
        ([("a", "b")], TypeError, "they must be integers"),
        ([(0, 1), (2, -3)], ValueError, "edge 1 has the vertex id -3: vertex ids are 0 or more"),
        (np.array([(1, 2**63)], np.uint64), ValueError, f"vertex id {2**63} is too large"),
    ],
)
def test_bad_edges_are_refused_by_value_and_rule(edges, error, message):
    with pytest.raises(error, match=message):
        daskbfs.from_edges(edges)


def test_a_declared_range_is_enforced():
    with pytest.raises(
        ValueError, match="vertex 9 is out of range: vertices were declared to be 0 to 4"
    ):
        daskbfs.from_edges([(0, 9)], n_vertices=5)
    with pytest.raises(ValueError, match="n_vertices -1 is negative"):
        daskbfs.from_edges([(0, 9)], n_vertices=-1)


def test_too_many_vertices_are_refused():
    with pytest.raises(ValueError, match=rf"a graph of {2**32} vertices is too large"):
        daskbfs.from_edges([(0, 1)], n_vertices=2**32)


def test_a_graph_that_cannot_fit_is_refused_with_numbers(monkeypatch):
    monkeypatch.setattr("daskbfs.machine.hardware.available_bytes", lambda: 2**20)
    with pytest.raises(
        MemoryError, match=r"needs about .* MiB and 1.0 MiB are free: take a smaller"
    ):
        daskbfs.from_edges([(0, 1)], n_vertices=10**7)


def test_nan_weights_are_refused():
    with pytest.raises(ValueError, match="the weight of edge 1 is nan"):
        daskbfs.from_edges([(0, 1), (1, 2)], weights=[1.0, float("nan")])
    with pytest.raises(ValueError, match="3 weights for 1 edges"):
        daskbfs.from_edges([(0, 1)], weights=[1, 2, 3])
    assert daskbfs.from_edges([(0, 1)], weights=[2.5]).n_edges == 1


def test_a_graph_says_what_it_is(kron12):
    assert repr(kron12).startswith("Graph 'kron:12': 4096 vertices, ")
    assert kron12.nbytes > 4 * kron12.n_arcs
    assert kron12.n_edges * 2 == kron12.n_arcs


def test_random_sources_are_distinct_connected_and_repeatable(kron12):
    sources = kron12.random_sources(100, seed=3)
    assert len(set(sources.tolist())) == 100
    assert all(kron12.row_of(v) is not None for v in sources)
    assert np.array_equal(sources, kron12.random_sources(100, seed=3))
    assert not np.array_equal(sources, kron12.random_sources(100, seed=4))
    assert daskbfs.from_edges([(0, 1)]).random_sources(10).size == 2
