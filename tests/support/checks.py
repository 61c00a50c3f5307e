"""What must hold of trees, rows and graphs, wherever a test made them."""

from __future__ import annotations

import numpy as np

import daskbfs
import daskbfs.config
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import cut
from tests.support import naive


def check(graph, source, result):
    """The direct driver's levels, and a tree that passes the checks."""
    expected = daskbfs.bfs(graph, source, driver="direct")
    assert np.array_equal(result.level, expected.level)
    assert (result.reached, result.edges) == (expected.reached, expected.edges)
    assert result.levels.n_levels == expected.levels.n_levels
    daskbfs.validate(graph, source, result.parent, result.level, last_level=result.last_level)


def rows_as_lists(graph, rows):
    """Adjacency in the user's ids."""
    ids = graph.vertices
    vertex = ids[graph.original_index[: graph.n_rows]]
    return {
        int(vertex[r]): [int(vertex[u]) for u in rows.indices[rows.indptr[r] : rows.indptr[r + 1]]]
        for r in range(graph.n_rows)
    }


def check_adjacency(graph, edges):
    """A graph holds just the oracle's adjacency, and columns that follow from its rows."""
    adjacency = naive.neighbours(edges, graph.directed)
    back = {v: set() for v in adjacency}
    for v, others in adjacency.items():
        for u in others:
            back[u].add(v)
    there = rows_as_lists(graph, graph.out)
    into = rows_as_lists(graph, graph.into)
    for v in adjacency:
        assert sorted(there.get(v, [])) == sorted(adjacency[v])
        assert sorted(into.get(v, [])) == sorted(back[v])
        assert (v in there) == bool(adjacency[v] or back[v])
    for rows in (graph.out, graph.into):
        for r in range(graph.n_rows):
            row = rows.indices[rows.indptr[r] : rows.indptr[r + 1]]
            assert rows.hub[r] == (row[0] if row.size else graph.n_rows)
            assert row.size <= 1 or r < rows.n_long_rows


def check_rows(graph, edges):
    """A graph holds just the oracle's adjacency, hubs first."""
    check_adjacency(graph, edges)
    for rows in (graph.out, graph.into):
        for r in range(graph.n_rows):
            row = rows.indices[rows.indptr[r] : rows.indptr[r + 1]]
            assert np.all(np.diff(row.astype(np.int64)) > 0)


def contents(partition):
    """All arrays of a partition, by name."""
    columns = {}
    for side in ("out", "into"):
        rows = getattr(partition, side)
        for name in ("indptr", "indices", "hub", "mean_degree"):
            columns[f"{side}.{name}"] = getattr(rows, name)
    numbering = partition.numbering
    return columns | {
        "hub_vertex": partition.hub_vertex,
        "vertex": numbering.vertex,
        "mean_degree": numbering.mean_degree,
        "counts": np.array([numbering.n_rows, numbering.n_arcs, partition.out.n_long_rows]),
    }


def check_equal(placed, graph, strategy):
    """The partitions on the workers are those that would be cut here."""
    n = placed.n_partitions
    layout = lay_out(graph, n, strategy)
    numbering = number(graph, layout)
    for p, future in enumerate(placed.placed_partitions.partitions):
        here = contents(cut(graph, layout, p, numbering))
        there = placed.client.submit(contents, future).result()
        for name, column in here.items():
            assert column.dtype == there[name].dtype, name
            assert np.array_equal(column, there[name]), name
    for name in ("order", "original_index", "input_degree"):
        assert np.array_equal(getattr(placed.graph, name), getattr(graph, name)), name
    assert (placed.n_edges, placed.graph.n_input_edges) == (graph.n_edges, graph.n_input_edges)


def check_against_oracle(graph, edges, source, result) -> None:
    """Levels compare equal; parents are validated, since several can be right."""
    expected = naive.levels(edges, source, graph.directed)
    level = dict(zip(graph.vertices.tolist(), result.level.tolist(), strict=True))
    assert {v: at for v, at in level.items() if at >= 0} == expected
    assert result.reached == len(expected)
    assert np.array_equal(result.parent >= 0, result.level >= 0)
    daskbfs.validate(graph, source, result.parent, result.level)
    daskbfs.validate(graph, source, result.parent)
