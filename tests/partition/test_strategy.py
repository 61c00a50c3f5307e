"""Partitions by degree: every row once, shares as asked, the same searches, memory as foretold."""

from __future__ import annotations

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.algorithms.bfs import shared
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.algorithms.bfs.shared import SharedSearchState
from daskbfs.graph.ordering import has_even_degrees
from daskbfs.names import Device
from daskbfs.partition.footprint import RESULTS, footprint
from daskbfs.partition.layout import arcs_before, lay_out, lay_out_to_fit, partition_footprint
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import cut
from daskbfs.partition.statistics import survey
from daskbfs.partition.strategy import STRATEGIES, Sides, choose
from tests.support import naive
from tests.support.checks import check_against_oracle
from tests.support.partitioned import search

EDGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=120
).filter(lambda edges: any(u != v for u, v in edges))


@pytest.fixture(scope="module")
def even():
    return daskbfs.from_edges([(i, (i + 1) % 500) for i in range(500)])


@pytest.mark.parametrize("directed", [False, True])
@given(
    edges=EDGES,
    strategy=st.sampled_from(STRATEGIES),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.83, 1.0]),
    counts=st.sampled_from([(1, 1), (2, 1), (1, 3), (3, 0), (0, 2), (20, 30)]),
    seed=st.integers(0, 3),
)
def test_every_vertex_is_in_one_partition_and_every_edge_is_kept(
    directed, edges, strategy, share, counts, seed
):
    graph = daskbfs.from_edges(edges, directed=directed)
    n = sum(counts)
    layout = lay_out(graph, n, strategy, seed, n_cpu=counts[0], cpu_share=share)
    assert sorted(np.concatenate(layout.rows).tolist()) == list(range(graph.n_rows))
    numbering = number(graph, layout)
    vertex, kept = numbering.vertex, set()
    for p in range(n):
        part = cut(graph, layout, p, numbering)
        for row in range(part.n_rows):
            ends = part.out.indices[int(part.out.indptr[row]) : int(part.out.indptr[row + 1])]
            kept |= {(int(vertex[part.first + row]), int(vertex[e])) for e in ends}
    expected = {(u, v) for u, v in edges if u != v}
    assert kept == (expected if directed else expected | {(v, u) for u, v in expected})
    # the share is what was asked, as nearly as whole rows allow
    arcs = np.diff(arcs_before(graph))
    on_cpu = np.concatenate([np.empty(0, np.uint32), *layout.rows[: counts[0]]])
    wanted = {0: 0.0, n: 1.0}.get(counts[0], share)
    off = abs(int(arcs[on_cpu].sum()) - wanted * int(arcs.sum()))
    assert off <= arcs.max() / 2


@given(edges=EDGES, strategy=st.sampled_from(STRATEGIES), data=st.data())
def test_every_strategy_finds_the_oracles_levels(edges, strategy, data):
    graph = daskbfs.from_edges(edges)
    source = data.draw(st.sampled_from(graph.original_index[: graph.n_rows].tolist()))
    for share in (0.0, 0.4, 1.0):
        sides = {"strategy": strategy, "n_cpu": 1, "cpu_share": share}
        check_against_oracle(graph, edges, source, search(graph, 3, source, sides=sides))
    assert naive.levels(edges, source, False)[source] == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_high_and_low_are_what_they_say(kron12, strategy):
    layout = lay_out(kron12, 3, strategy, n_cpu=1, cpu_share=0.5)
    degree = np.diff(kron12.out.indptr)
    cpu, others = degree[layout.rows[0]], degree[np.concatenate(layout.rows[1:])]
    shares = cpu.sum() / degree.sum()
    assert shares == pytest.approx(0.5, abs=0.02)
    vertices = cpu.size / degree.size
    if strategy in ("high", "contiguous"):  # by decreasing degree, as the rows of this graph are
        assert cpu.mean() > 5 * others.mean() and vertices < 0.15
    elif strategy == "low":
        assert others.mean() > 5 * cpu.mean() and vertices > 0.85
    else:
        assert vertices == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_blocks_are_rows_as_they_are_of_about_the_same_arcs(n, even):
    layout = lay_out(even, n + 1, "contiguous", n_cpu=n, cpu_share=0.8)
    assert np.array_equal(np.concatenate(layout.rows), np.arange(even.n_rows))
    arcs = [int(np.diff(even.out.indptr)[rows].sum()) for rows in layout.rows]
    assert sum(arcs[:n]) == pytest.approx(0.8 * even.n_arcs, rel=0.01)
    assert max(arcs[:n]) < 1.1 * min(arcs[:n])


@pytest.mark.parametrize("strategy", ["high", "low"])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_within_a_side_rows_and_arcs_are_balanced(strategy, n):
    graph = daskbfs.kronecker(14)
    layout = lay_out(graph, n + 1, strategy, n_cpu=n, cpu_share=0.8)
    sizes = [rows.size for rows in layout.rows[:n]]
    assert max(sizes) - min(sizes) <= 1
    degree = np.diff(graph.out.indptr)
    arcs = [int(degree[rows].sum()) for rows in layout.rows[:n]]
    assert max(arcs) < 1.05 * min(arcs)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_memory_model_foretells_what_is_allocated(directed, strategy):
    rng = np.random.default_rng(4)
    edges = (rng.pareto(1.0, size=(60_000, 2)) * 50).astype(np.int64) % 9000
    graph = daskbfs.from_edges(edges, directed=directed)
    layout = lay_out(graph, 3, strategy, n_cpu=1, cpu_share=0.6)
    numbering = number(graph, layout)
    for p in range(3):
        part = cut(graph, layout, p, numbering)
        state = BFS(0, 1, None).open_state(part)
        foretold = partition_footprint(graph, layout, p)
        assert foretold.rows == pytest.approx(part.nbytes, rel=0.05)
        assert foretold.numbering == pytest.approx(numbering.__sizeof__(), rel=0.05)
        state = state.nbytes + 4 * part.n_padded * (RESULTS - 1)
        assert foretold.state == pytest.approx(state, rel=0.05)
        columns = shared.share(numbering)
        arrays = {c.name: np.empty(c.size, c.dtype) for c in (*columns.work, *columns.result)}
        sharing = SharedSearchState(part, arrays)
        assert foretold.beside_shared == pytest.approx(sharing.nbytes, rel=0.05)
        of_host = sum(array.nbytes for array in arrays.values()) + numbering.__sizeof__()
        of_host += (RESULTS - 1) * arrays["parent"].nbytes
        assert foretold.shared == pytest.approx(of_host, rel=0.05)


def test_offsets_of_64_bits_are_foretold_where_arcs_need_them():
    small, large = footprint(100, 2**32 - 1, None, 128), footprint(100, 2**32, None, 128)
    assert large.rows - small.rows == 4 * 101 + 4


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_others", [1, 3])
def test_as_much_as_fits_goes_to_the_accelerators(strategy, n_others):
    graph = daskbfs.kronecker(13)
    whole = partition_footprint(graph, lay_out(graph, 1), 0).on_device
    for room in (whole // 2, whole // 3, 2 * whole):
        layout = lay_out_to_fit(graph, 1, n_others, room, strategy)
        needs = [partition_footprint(graph, layout, p).on_device for p in range(1, n_others + 1)]
        assert max(needs) <= room
        if room >= whole:
            assert layout.rows[0].size == 0
        elif n_others == 1:
            assert max(needs) > 0.9 * room
    with pytest.raises(MemoryError, match="too small for any part of the graph"):
        lay_out_to_fit(graph, 1, n_others, 1000, strategy)


def test_auto_follows_the_guidelines(kron12, even):
    arcs, gib = arcs_before(kron12), 2**30

    def chosen(arcs, **more):
        return choose("auto", arcs, **{"n_cpu": 1, "n_others": 2} | more)

    large = {"needed_bytes": 10 * gib, "other_bytes": gib}
    small = {"needed_bytes": gib, "other_bytes": gib}
    assert chosen(arcs, **large)[0] == "high"
    assert chosen(arcs, **small)[0] == "low"
    assert chosen(arcs, **large, algorithm="pagerank")[0] == "low"
    assert chosen(arcs, **small, algorithm="pagerank")[0] == "high"
    assert "10.0 GiB with one search, the accelerators hold 1.0 GiB" in chosen(arcs, **large)[1]
    assert "nothing to specialise in" in chosen(arcs_before(even), **large)[1]
    assert "all partitions are on CPU workers" in chosen(arcs, n_others=0)[1]
    assert has_even_degrees(np.diff(arcs_before(even))) and not has_even_degrees(np.diff(arcs))
    with dask.config.set({"daskbfs.partition.nearly-fits": 0.05}):
        assert chosen(arcs, **large)[0] == "low"
    with pytest.raises(ValueError, match="algorithm 'sssp' is unknown"):
        chosen(arcs, algorithm="sssp")


def test_a_survey_counts_what_a_slow_loop_counts(kron12):
    layout = lay_out(kron12, 4, "high", n_cpu=1, cpu_share=0.3)
    devices = [Device.CPU, *[Device.GPU] * 3]
    owner = {int(row): p for p, rows in enumerate(layout.rows) for row in rows}
    indptr, indices = kron12.out.indptr, kron12.out.indices
    found = survey(kron12, layout, devices)
    for p, part in enumerate(found):
        ends = [
            int(other)
            for row in layout.rows[p]
            for other in indices[int(indptr[row]) : int(indptr[row + 1])]
        ]
        leaving = [other for other in ends if owner[other] != p]
        assert (part.n_edges, part.boundary_edges) == (len(ends), len(leaving))
        assert part.aggregated_messages == len(set(leaving)) < part.boundary_edges
        assert part.device == devices[p]
    assert sum(part.n_vertices for part in found) == kron12.n_rows
    assert sum(part.edge_share for part in found) == pytest.approx(1)


def test_bad_shares_are_refused(kron12):
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=rf"cpu_share {share} is out of range"):
            lay_out(kron12, 2, "high", n_cpu=1, cpu_share=share)


def test_equal_degrees_split_anywhere(even):
    layout = lay_out(even, 2, "high", n_cpu=1, cpu_share=0.25)
    assert [rows.size for rows in layout.rows] == [125, 375]
    nothing = Sides(None, np.zeros(1, np.int64), np.zeros(0, np.uint32))
    assert (nothing.cpu_rows(0.5), nothing.n_arcs) == (0, 0)
