"""Searches over several partitions in one process: no Dask, so whatever fails is the program's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.algorithms.bfs.direction import policy
from daskbfs.algorithms.bfs.frontier import Frontier
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.algorithms.bfs.state import SearchState
from daskbfs.cluster.threads import Share
from daskbfs.engine.state import StaleState
from daskbfs.engine.superstep import AttemptStates
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import (
    ensure_all_owned,
    partition_of,
    rows_from_arrays,
    rows_to_arrays,
    to_arrays,
)
from tests.support.checks import check_against_oracle
from tests.support.partitioned import partitions_of, search

DIRECTIONS = ["beamer", "coordinator", "top_down", "bottom_up"]


@pytest.mark.parametrize("directed", [False, True])
@given(
    edges=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=120
    ).filter(lambda edges: any(u != v for u, v in edges)),
    n=st.sampled_from([2, 3, 7]),
    seed=st.integers(0, 5),
    data=st.data(),
)
def test_every_number_of_partitions_finds_the_oracles_levels(directed, edges, n, seed, data):
    graph = daskbfs.from_edges(edges, directed=directed)
    source = data.draw(st.sampled_from(graph.original_index[: graph.n_rows].tolist()))
    for direction in DIRECTIONS:
        check_against_oracle(graph, edges, source, search(graph, n, source, direction, seed))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_levels_do_not_depend_on_how_a_graph_is_partitioned(kron12, n, direction):
    for source in kron12.random_sources(4):
        result = search(kron12, n, int(source), direction)
        expected = daskbfs.bfs(kron12, source)
        assert np.array_equal(result.level, expected.level)
        assert (result.reached, result.edges) == (expected.reached, expected.edges)
        daskbfs.validate(kron12, int(source), result.parent, result.level)


@pytest.mark.parametrize("n", [2, 5])
def test_limits_and_targets_hold_over_partitions(kron12, n):
    source = int(kron12.random_sources(1)[0])
    full = daskbfs.bfs(kron12, source).level
    for limit in (0, 1, 2):
        result = search(kron12, n, source, depth_limit=limit)
        assert np.array_equal(result.level, np.where(full <= limit, full, -1))
    layout = lay_out(kron12, n)
    target = int(np.flatnonzero(full == 2)[0])
    goal = int(layout.global_id[kron12.order[target]])
    result = search(kron12, n, source, targets=(goal,))
    assert np.array_equal(result.level, np.where(full <= 2, full, -1))


def test_more_partitions_than_vertices():
    graph = daskbfs.from_edges([(0, 1), (1, 2)])
    assert search(graph, 20, 0).level.tolist() == [0, 1, 2]


def test_a_vertex_found_here_and_elsewhere_in_one_level_keeps_a_right_parent():
    # a complete bipartite graph: every partition finds every vertex of the other side
    edges = [(i, 50 + j) for i in range(50) for j in range(50)]
    graph = daskbfs.from_edges(edges)
    for n in (2, 3, 7):
        check_against_oracle(graph, edges, 0, search(graph, n, 0, "top_down"))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_layout_gives_every_row_one_place_of_its_own(kron12, n):
    layout, partitions = partitions_of(kron12, n)
    assert len(set(layout.global_id.tolist())) == kron12.n_rows + 1
    assert sum(part.n_rows for part in partitions) == kron12.n_rows
    assert sum(part.out.n_arcs for part in partitions) == kron12.n_arcs
    for part in partitions:
        assert part.first % 64 == 0
        assert part.rows.stop - part.rows.start == part.n_padded > part.n_rows
        vertices = part.numbering.vertex[part.first : part.first + part.n_rows]
        assert np.all(kron12.order[vertices][1:] > kron12.order[vertices][:-1])


def test_partitions_travel_as_arrays_and_in_no_other_way(kron12):
    _, partitions = partitions_of(kron12, 3)
    for thing in (
        partitions[0],
        partitions[0].numbering,
        SearchState(partitions[0]),
        AttemptStates(BFS(0, 1, policy()), [], Share()),
    ):
        with pytest.raises(TypeError, match="pinned to"):
            pickle.dumps(thing)
    out, into = partitions[1].out, partitions[1].into
    frozen = pickle.loads(pickle.dumps(rows_to_arrays(out, into)))
    frozen["out"]["indices"].flags.writeable = False
    columns = pickle.loads(pickle.dumps(to_arrays(partitions[1].numbering)))
    columns["vertex"].flags.writeable = False
    numbering = Numbering(**ensure_all_owned(columns))
    again = partition_of(1, partitions[1].first, numbering, *rows_from_arrays(frozen))
    assert again.out.indices.flags.writeable
    assert again.numbering.vertex.flags.writeable
    assert np.array_equal(again.out.indices, partitions[1].out.indices)
    assert (again.first, again.number, again.nbytes) == (
        partitions[1].first,
        1,
        partitions[1].nbytes,
    )


def test_a_state_refuses_a_level_that_is_not_its_next(kron12):
    _, partitions = partitions_of(kron12, 1)
    states = AttemptStates(BFS(0, kron12.out.degree(0), policy()), partitions, Share())
    message = states.program.first_message(states.numbering)
    states.compute(message)
    with pytest.raises(StaleState, match="a state for level 1 met level 0"):
        states.compute(message)
    with pytest.raises(StaleState, match="met level 0"):
        states.close(message)


@given(ids=st.sets(st.integers(0, 639), max_size=200))
def test_frontiers_travel_as_whichever_is_smaller(ids):
    array = np.array(sorted(ids), np.uint32)
    for frontier in (
        Frontier(len(ids), ids=array),
        Frontier(len(ids), ids=array).smaller(10),
        Frontier(len(ids), ids=array).smaller(10).smaller(10),
    ):
        small = frontier.smaller(10)
        assert small.nbytes == min(4 * len(ids), 80)
        assert {v for v in range(640) if small.holds(v)} == ids


def test_bad_layouts_are_refused(kron12):
    with pytest.raises(ValueError, match="n_partitions 0 is out of range"):
        lay_out(kron12, 0)
    with pytest.raises(ValueError, match="strategy 'x' is unknown: choose one of auto, high"):
        lay_out(kron12, 2, "x")
