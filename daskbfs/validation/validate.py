"""The five checks of Graph500 on a search tree.

1. The parents form a tree that has no cycle and hangs from the source.
2. Every tree edge joins levels that differ by one.
3. Every edge joins levels that differ by at most one.
4. The tree spans the source's whole component: no edge leaves it.
5. Every tree edge is an edge of the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskbfs.graph.edge_stream import ArrayEdges, EdgeStream, edge_arrays
from daskbfs.graph.graph import Graph, Outline, RemoteGraph
from daskbfs.kernels import tree_checks as tree
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.validation.trees import RULES, Claim, Trees, ValidationError

__all__ = ["ValidationError", "validate"]


def validate(
    graph: Outline,
    source: int,
    parent: Any,
    level: Any = None,
    *,
    last_level: int | None = None,
    edges: Any = None,
) -> None:
    """Make the five Graph500 checks; raises ValidationError, which names an offender.

    Parameters
    ----------
    graph
        What was searched.
    source
        Where the search started.
    parent, level
        Arrays aligned with ``graph.vertices``, in the user's ids, -1 where unreached. Levels
        follow from the parents when they are not given.
    last_level
        The level at which the search was told to stop (``result.last_level``): edges out of that
        level need not have been followed.
    edges
        The input edges, as for :func:`from_edges`, to check against these instead of the rows that
        were made of them. Graphs that were built on workers are checked against their edges anyway,
        made or read again.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(0, 1), (1, 2)])
    >>> daskbfs.validate(graph, 0, [0, 0, 1])
    >>> daskbfs.validate(graph, 0, [0, 0, 0])
    Traceback (most recent call last):
    ...
    daskbfs.validation.trees.ValidationError: check 5 fails at vertex 2: no edge from its parent 0
    """
    stream = _stream(graph, edges)
    if stream is None:
        assert isinstance(graph, Graph)
        _check_rows(graph, Claim(graph, source, parent, level), last_level)
        return
    trees = Trees(graph, alone=True)
    trees.add(source, parent, level, last_level=last_level)
    trees.check(stream)


def _stream(graph: Outline, edges: Any) -> EdgeStream | None:
    """The edges to check against; None where the graph's own rows will do."""
    if edges is None:
        return graph.stream if isinstance(graph, RemoteGraph) else None
    heads, tails = edge_arrays(edges)
    if heads.size != graph.n_input_edges:
        raise ValueError(
            f"{heads.size} edges were given, but {graph.name} was made of {graph.n_input_edges}: "
            "give all of them"
        )
    first = graph.ids.first_id
    if first:  # a stream's vertices count from 0 on
        heads, tails = heads - first, tails - first
    return ArrayEdges(heads, tails)


def _check_rows(graph: Graph, claim: Claim, last_level: int | None) -> None:
    """All checks, in one parallel pass over the rows."""
    parent = claim.parent_indices()
    source_row = graph.row_of(claim.source)
    isolated = (graph.order == graph.n_rows) & (parent != NONE)
    isolated[claim.source_index] = False
    if isolated.any():
        raise claim.error(5, int(isolated.argmax()), "it has no edges, but a parent")
    if source_row is None:
        reached = parent != NONE
        reached[claim.source_index] = False
        if reached.any():
            index = int(reached.argmax())
            raise claim.error(1, index, "it was reached from a source that has no edges")
        return
    index_of_row = graph.original_index[: graph.n_rows]
    parent_row = np.full(graph.n_rows, NONE, np.uint32)
    by_row = parent[index_of_row]
    reached = by_row != NONE
    parent_row[reached] = graph.order[by_row[reached]]
    bad = reached & (parent_row == graph.n_rows)
    if bad.any():
        index = int(index_of_row[bad.argmax()])
        raise claim.error(5, index, f"its parent {claim.parent[index]} has no edge to it")
    row_level = np.full(graph.n_rows, tree.UNKNOWN, np.int32)
    offender = tree.levels_from_parents(parent_row, row_level, n_threads())
    if offender != tree.FINE:
        index = int(index_of_row[offender])
        raise claim.error(1, index, "its chain of parents runs into a cycle")
    if claim.level is not None:
        row_level = claim.level[index_of_row].astype(np.int32)
    offence = tree.check_tree(
        graph.out.indptr,
        graph.out.indices,
        graph.into.indptr,
        graph.into.indices,
        graph.locality.ascending,
        parent_row,
        row_level,
        np.iinfo(np.int32).max if last_level is None else last_level,
        n_threads(),
    )
    if offence == tree.FINE:
        return
    row, rule = tree.decode_offence(offence)
    check, message = RULES[rule]
    index = int(index_of_row[row])
    facts = {
        "level": row_level[row],
        "parent": claim.parent[index],
        "parent_level": row_level[parent_row[row]] if parent_row[row] != NONE else -1,
    }
    raise claim.error(check, index, message.format(**facts))
