"""Graphs from what users already have in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskbfs.construction import construct
from daskbfs.edges import ArrayEdges, edge_arrays, require_finite
from daskbfs.graph import Graph
from daskbfs.progress import Progress, silent
from daskbfs.types import as_integer


def from_edges(
    edges: Any,
    *,
    directed: bool = False,
    n_vertices: int | None = None,
    weights: Any = None,
    name: str = "edges",
    progress: Progress = silent,
) -> Graph:
    """A graph from edges: an array of shape (m, 2), a pair of arrays, or a list of pairs.

    Parameters
    ----------
    edges
        Vertex ids are integers from 0 on. When they are dense (0 to n - 1), results are arrays
        indexed by vertex; otherwise ``result.vertices`` tells which entry belongs to whom.
    directed
        Keep the edges' directions.
    n_vertices
        Declare the vertices to be 0 to n_vertices - 1; isolated ones count.
    weights
        Checked, and not used: a search counts edges.
    name
        What to call the graph in records.
    progress
        Told how far the work has come.

    Examples
    --------
    >>> import daskbfs
    >>> daskbfs.from_edges([(0, 1), (1, 2), (2, 0)]).n_edges
    3
    """
    heads, tails = edge_arrays(edges)
    if n_vertices is not None:
        n_vertices = as_integer(n_vertices, "n_vertices")
        if n_vertices < 0:
            raise ValueError(f"n_vertices {n_vertices} is negative")
    if weights is not None:
        if np.shape(weights) != heads.shape:
            raise ValueError(f"{np.size(weights)} weights for {heads.size} edges: one each")
        require_finite(weights)
    return construct(
        ArrayEdges(heads, tails, n_vertices), directed=directed, name=name, progress=progress
    )


def from_scipy(matrix: Any, *, directed: bool = False, name: str = "scipy") -> Graph:
    """A graph from a square scipy.sparse matrix or array; every stored entry is an edge.

    Parameters
    ----------
    matrix
        Entry (u, v) is the edge from u to v; its value does not matter, but may not be nan.
    directed
        Keep the edges' directions.
    name
        What to call the graph in records.

    Examples
    --------
    >>> import daskbfs, numpy as np, scipy.sparse
    >>> daskbfs.from_scipy(scipy.sparse.coo_array(np.ones((3, 3)))).n_edges
    3
    """
    if not hasattr(matrix, "tocoo"):
        raise TypeError(f"a {type(matrix).__name__} is no scipy.sparse matrix or array")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a matrix of shape {matrix.shape} is no graph: it must be square")
    coo = matrix.tocoo()
    require_finite(coo.data)
    row, col = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
    return from_edges((row, col), directed=directed, n_vertices=matrix.shape[0], name=name)


def from_networkx(graph: Any, *, directed: bool | None = None, name: str | None = None) -> Graph:
    """A graph from a networkx graph whose nodes are integers from 0 on.

    Parameters
    ----------
    graph
        Parallel edges and self-loops are dropped; isolated nodes stay.
    directed
        None follows the networkx graph.
    name
        What to call the graph in records.

    Examples
    --------
    >>> import daskbfs, networkx
    >>> daskbfs.from_networkx(networkx.path_graph(4)).n_edges
    3
    """
    if not hasattr(graph, "nodes"):
        raise TypeError(f"a {type(graph).__name__} is no networkx graph")
    for node in graph.nodes:
        if isinstance(node, bool) or not isinstance(node, (int, np.integer)):
            raise TypeError(
                f"node {node!r} is not an integer: relabel the graph first, for example with "
                "networkx.convert_node_labels_to_integers"
            )
        if not 0 <= node < 2**63:
            raise ValueError(f"node {node} is out of range: vertex ids are 0 to 2**63 - 1")
    pairs = np.array([(u, v) for u, v in graph.edges()], np.int64).reshape(-1, 2)
    weights = [w for _, _, w in graph.edges(data="weight") if w is not None]
    require_finite(np.asarray(weights))
    # isolated nodes come as self-loops, so that they count as vertices
    isolated = np.array([node for node in graph.nodes if graph.degree(node) == 0], np.int64)
    edges = np.concatenate([pairs, np.stack([isolated, isolated], axis=1)])
    made = from_edges(
        edges,
        directed=graph.is_directed() if directed is None else directed,
        name=name or graph.name or "networkx",
    )
    made.n_input_edges = len(pairs)
    return made
