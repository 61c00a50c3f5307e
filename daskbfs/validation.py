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

from daskbfs.construction import relabelled_blocks
from daskbfs.graph import Graph, Outline, RemoteGraph
from daskbfs.kernels import tree
from daskbfs.kernels.compiling import n_threads
from daskbfs.types import NONE


class ValidationError(ValueError):
    """A search tree is wrong: ``check`` is the failed check, ``vertex`` the first offender."""

    def __init__(self, check: int, vertex: int, message: str) -> None:
        super().__init__(f"check {check} fails at vertex {vertex}: {message}")
        self.check = check
        self.vertex = vertex


_RULES = {
    tree.ENDS_ELSEWHERE: (1, "its parent {parent} was not reached"),
    tree.LEVEL_OF_PARENT: (
        2,
        "its level {level} is not one more than its parent's, {parent_level}",
    ),
    tree.NOT_AN_EDGE: (5, "no edge from its parent {parent}"),
    tree.EDGE_SPANS_LEVELS: (3, "an edge goes from its level {level} to level {level} + 2 or more"),
    tree.EDGE_LEAVES_TREE: (4, "an edge leads from it to a vertex that was not reached"),
}


def validate(
    graph: Outline, source: int, parent: Any, level: Any = None, *, last_level: int | None = None
) -> None:
    """Make the five Graph500 checks; raises ValidationError, which names the first offender.

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

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(0, 1), (1, 2)])
    >>> daskbfs.validate(graph, 0, [0, 0, 1])
    >>> daskbfs.validate(graph, 0, [0, 0, 0])
    Traceback (most recent call last):
    ...
    daskbfs.validation.ValidationError: check 5 fails at vertex 2: no edge from its parent 0
    """
    parent = _aligned(graph, parent, "parent")
    source = graph.vertex(source, "source")
    source_index = graph.ids.index(source)
    source_row = graph.row_of(source)
    vertices = graph.vertices
    if parent[source_index] != source:
        raise ValidationError(
            1, source, f"the source's parent is {parent[source_index]}, not itself"
        )
    if level is not None:
        level = _aligned(graph, level, "level")
        disagree = (parent < 0) != (level < 0)
        if disagree.any():
            where = int(np.flatnonzero(disagree)[0])
            raise ValidationError(
                2, vertices[where], f"its parent is {parent[where]} but its level {level[where]}"
            )
        too_far = (level < -1) | (level >= max(1, graph.n_vertices))
        if too_far.any():
            where = int(np.flatnonzero(too_far)[0])
            raise ValidationError(
                2, vertices[where], f"no vertex of this graph can have the level {level[where]}"
            )
        if level[source_index] != 0:
            raise ValidationError(2, source, f"the source's level is {level[source_index]}, not 0")
    _check_isolated(graph, source_index, parent)
    if source_row is None:
        reached = np.flatnonzero(parent >= 0)
        reached = reached[reached != source_index]
        if reached.size:
            raise ValidationError(
                1, vertices[reached[0]], "it was reached from a source that has no edges"
            )
        return
    parent_row = _parent_rows(graph, source_row, parent)
    row_level = np.full(graph.n_rows, tree.UNKNOWN, np.int32)
    offender = tree.levels_from_parents(parent_row, row_level, n_threads())
    if offender != tree.FINE:
        vertex = vertices[graph.original_index[offender]]
        raise ValidationError(1, vertex, "its chain of parents runs into a cycle")
    if level is not None:
        row_level = level[graph.original_index[: graph.n_rows]].astype(np.int32)
    _check_rows(graph, parent, parent_row, row_level, last_level)


def _aligned(graph: Outline, values: Any, what: str) -> np.ndarray:
    """An array of integers, one for each vertex."""
    values = np.asarray(values)
    if values.size and values.dtype.kind not in "iu":
        raise TypeError(f"{what} has dtype {values.dtype}: it must hold integers")
    if values.shape != (graph.n_vertices,):
        raise ValueError(
            f"{what} has shape {values.shape}: it must have one entry for each of the "
            f"{graph.n_vertices} vertices"
        )
    return values


def _check_isolated(graph: Outline, source_index: int, parent: np.ndarray) -> None:
    """Vertices without edges are reached only where they are the source."""
    reached = (graph.order == graph.n_rows) & (parent >= 0)
    reached[source_index] = False
    if reached.any():
        vertex = graph.vertices[int(np.flatnonzero(reached)[0])]
        raise ValidationError(5, vertex, "it has no edges, but a parent")


def _parent_rows(graph: Outline, source_row: int, parent: np.ndarray) -> np.ndarray:
    """Parents by row, as rows; refuses parents that are no vertices, or have no edges."""
    ids = graph.ids.values
    by_row = parent[graph.original_index[: graph.n_rows]]
    reached = by_row >= 0
    wanted = by_row[reached]
    if ids is None:
        known = wanted < graph.n_vertices
        index = np.where(known, wanted, 0)
    else:
        index = np.minimum(np.searchsorted(ids, wanted), ids.size - 1)
        known = ids[index] == wanted
    rows = graph.order[index]
    bad = ~known | (rows == graph.n_rows)
    if bad.any():
        where = int(np.flatnonzero(reached)[np.flatnonzero(bad)[0]])
        vertex = graph.vertices[graph.original_index[where]]
        raise ValidationError(5, vertex, f"its parent {by_row[where]} has no edge to it")
    parent_row = np.full(graph.n_rows, NONE, np.uint32)
    parent_row[reached] = rows
    own = np.flatnonzero(parent_row == np.arange(graph.n_rows))
    own = own[own != source_row]
    if own.size:
        vertex = graph.vertices[graph.original_index[own[0]]]
        raise ValidationError(1, vertex, "it is its own parent, but not the source")
    return parent_row


def _first_offence(
    graph: RemoteGraph, parent_row: np.ndarray, row_level: np.ndarray, last: int
) -> int:
    """The first row that breaks a rule, by the edges that the graph was made of."""
    # vertices that had no edge when the graph was built have a row behind the last
    found = np.zeros(graph.n_rows + 1, np.bool_)
    parent_row, row_level = np.append(parent_row, NONE), np.append(row_level, np.int32(-1))
    both_ways = not graph.directed
    offence = min(
        (
            tree.check_edges(
                rows, neighbours, both_ways, parent_row, row_level, last, found, n_threads()
            )
            for rows, neighbours in relabelled_blocks(graph)
        ),
        default=tree.FINE,
    )
    return min(offence, tree.check_tree_edges(parent_row, row_level, found, n_threads()))


def _check_rows(
    graph: Outline,
    parent: np.ndarray,
    parent_row: np.ndarray,
    row_level: np.ndarray,
    last_level: int | None,
) -> None:
    """Checks 2 to 5, in one parallel pass over all rows, or over all edges where there are none."""
    last = np.iinfo(np.int32).max if last_level is None else last_level
    if isinstance(graph, Graph):
        offence = tree.check_tree(
            graph.out.indptr,
            graph.out.indices,
            graph.into.indptr,
            graph.into.indices,
            parent_row,
            row_level,
            last,
            n_threads(),
        )
    else:
        assert isinstance(graph, RemoteGraph)
        offence = _first_offence(graph, parent_row, row_level, last)
    if offence == tree.FINE:
        return
    row, rule = tree.decode_offence(offence)
    check, message = _RULES[rule]
    vertex = int(graph.original_index[row])
    facts = {
        "level": row_level[row],
        "parent": parent[vertex],
        "parent_level": row_level[parent_row[row]] if parent_row[row] != NONE else -1,
    }
    raise ValidationError(check, int(graph.vertices[vertex]), message.format(**facts))
