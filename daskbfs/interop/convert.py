"""Graphs from what users already have in memory, and back into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskbfs.graph.build import construct
from daskbfs.graph.edge_stream import (
    ArrayEdges,
    Block,
    EdgeStream,
    PlainStream,
    edge_arrays,
    require_finite,
)
from daskbfs.graph.edge_table import choose_columns, column_names, table_ends
from daskbfs.graph.graph import Graph
from daskbfs.graph.vertex_ids import as_integer
from daskbfs.io.export import csr_columns, exported_edges
from daskbfs.machine.devices import require_package
from daskbfs.progress import Progress, silent

_BLOCK_ROWS = 2**20  # what a Dask partition is guessed to have


def from_edges(
    edges: Any,
    *,
    directed: bool = False,
    n_vertices: int | None = None,
    columns: Sequence[str] | None = None,
    weights: Any = None,
    name: str = "edges",
    progress: Progress = silent,
) -> Graph:
    """A graph from edges: an array of shape (m, 2), a pair of arrays, a list of pairs, or a table.

    Parameters
    ----------
    edges
        Vertex ids are integers from 0 on. When they are dense (0 to n - 1), results are arrays
        indexed by vertex; otherwise ``result.vertices`` tells which entry belongs to whom. Tables
        are those of pandas, polars, pyarrow and cuDF. Dask's arrays and dataframes are computed
        partition by partition, on its cluster where there is a client: persist what was shuffled.
    directed
        Keep the edges' directions.
    n_vertices
        Declare the vertices to be 0 to n_vertices - 1; isolated ones count.
    columns
        Of a table, the two that are the ends of an edge; None knows them by names such as
        ``source`` and ``target``.
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
    >>> import pandas
    >>> calls = pandas.DataFrame({"caller": [5, 7], "called": [7, 9], "minutes": [3, 1]})
    >>> daskbfs.from_edges(calls, columns=("caller", "called")).n_edges
    2
    """
    if n_vertices is not None:
        n_vertices = as_integer(n_vertices, "n_vertices")
        if n_vertices < 0:
            raise ValueError(f"n_vertices {n_vertices} is negative")
    stream = _stream_of(edges, columns, name, n_vertices)
    if weights is not None:
        if isinstance(stream, DaskEdges):
            raise ValueError("weights are for edges in memory: leave them out, they are not used")
        if np.shape(weights) != (stream.n_edges,):
            raise ValueError(f"{np.size(weights)} weights for {stream.n_edges} edges: one each")
        require_finite(weights)
    return construct(stream, directed=directed, name=name, progress=progress)


def _stream_of(
    edges: Any, columns: Sequence[str] | None, name: str, n_vertices: int | None
) -> EdgeStream:
    """Edges as a user may have them, as a stream."""
    there = column_names(edges)
    chosen = None if there is None else choose_columns(name, there, columns)
    if there is None and columns is not None:
        raise ValueError(
            f"columns {tuple(columns)!r} are for tables: a {type(edges).__name__} has none"
        )
    if hasattr(edges, "__dask_graph__"):
        return DaskEdges(edges, chosen, name, n_vertices)
    if chosen is not None:
        return ArrayEdges(*table_ends(edges, name, chosen), n_vertices)
    if hasattr(edges, "__cuda_array_interface__"):
        edges = edges.get()
    return ArrayEdges(*edge_arrays(edges), n_vertices)


@dataclass(frozen=True, slots=True)
class DaskEdges(PlainStream):
    """A stream of the rows of a Dask array or dataframe, a partition at a time."""

    collection: Any
    columns: tuple[str, str] | None
    """The ends of an edge; None for an array of shape (m, 2)."""
    name: str
    n_vertices: int | None = None
    slow = True

    @property
    def n_edges(self) -> int:
        return _BLOCK_ROWS * len(self._parts())

    def blocks(self) -> Iterator[Block]:
        n_before = 0
        for part in self._parts():
            rows = part.compute()
            heads, tails = (
                edge_arrays(rows)
                if self.columns is None
                else table_ends(rows, self.name, self.columns, n_before)
            )
            n_before += heads.size
            yield heads, tails

    def _parts(self) -> list[Any]:
        """Each can be computed without the others."""
        if self.columns is not None:
            frame = self.collection[list(self.columns)]
            return [frame.partitions[i] for i in range(frame.npartitions)]
        array = self.collection
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"a Dask array of shape {array.shape} cannot be read: its shape must be (m, 2)"
            )
        rows = array.rechunk({1: 2})
        return [rows.blocks[i] for i in range(rows.numblocks[0])]


def _require(given: Any, attribute: str, what: str) -> None:
    """Refuse what lacks an attribute that another package's graphs have."""
    if not hasattr(given, attribute):
        raise TypeError(f"a {type(given).__name__} is no {what}")


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
    _require(matrix, "tocoo", "scipy.sparse matrix or array")
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
    _require(graph, "nodes", "networkx graph")
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


def from_igraph(graph: Any, *, directed: bool | None = None, name: str = "igraph") -> Graph:
    """A graph from one of igraph; vertices keep their numbers.

    Parameters
    ----------
    graph
        Parallel edges and self-loops are dropped; isolated vertices stay.
    directed
        None follows igraph's graph.
    name
        What to call the graph in records.

    Examples
    --------
    >>> import daskbfs, igraph
    >>> daskbfs.from_igraph(igraph.Graph.Ring(5)).n_edges
    5
    """
    _require(graph, "get_edgelist", "graph of igraph")
    pairs = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    directed = graph.is_directed() if directed is None else directed
    return from_edges(pairs, directed=directed, n_vertices=graph.vcount(), name=name)


def from_networkit(graph: Any, *, directed: bool | None = None, name: str = "networkit") -> Graph:
    """A graph from one of networkit; vertices keep their numbers.

    Parameters
    ----------
    graph
        Parallel edges and self-loops are dropped; isolated vertices stay, and removed ones are
        isolated.
    directed, name
        As of :func:`from_igraph`.

    Examples
    --------
    >>> import daskbfs, networkit
    >>> theirs = networkit.Graph(3)
    >>> _ = theirs.addEdge(0, 2)
    >>> graph = daskbfs.from_networkit(theirs)
    >>> graph.n_vertices, graph.n_edges
    (3, 1)
    """
    _require(graph, "iterEdges", "graph of networkit")
    pairs = np.fromiter(graph.iterEdges(), np.dtype((np.int64, 2)), graph.numberOfEdges())
    directed = graph.isDirected() if directed is None else directed
    return from_edges(pairs, directed=directed, n_vertices=graph.upperNodeIdBound(), name=name)


def to_edges(graph: Graph) -> Block:
    """Heads and tails of a graph's edges, in the user's ids: undirected ones once, smaller first.

    Examples
    --------
    >>> import daskbfs
    >>> heads, tails = daskbfs.to_edges(daskbfs.from_edges([(20, 10), (10, 10), (10, 30)]))
    >>> heads.tolist(), tails.tolist()
    ([10, 10], [20, 30])
    """
    blocks = [(np.empty(0, np.int64), np.empty(0, np.int64)), *exported_edges(graph, silent)]
    heads, tails = (np.concatenate(ends).astype(np.int64) for ends in zip(*blocks, strict=True))
    return heads, tails


def to_scipy(graph: Graph) -> Any:
    """A graph as a ``scipy.sparse.csr_array`` of ones: entry (u, v) is the edge from u to v.

    Rows and columns are the vertices in ascending order; undirected edges are entries both ways.

    Examples
    --------
    >>> import daskbfs
    >>> daskbfs.to_scipy(daskbfs.from_edges([(0, 1), (1, 2)])).toarray()
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]], dtype=int8)
    """
    sparse = require_package("scipy.sparse", "networkx", "a sparse matrix")
    indptr, indices = csr_columns(graph, silent)
    shape = (graph.n_vertices, graph.n_vertices)
    return sparse.csr_array((np.ones(indices.size, np.int8), indices, indptr), shape=shape)


def to_networkx(graph: Graph) -> Any:
    """A graph as a ``networkx.Graph``, or ``DiGraph`` where it is directed; isolated nodes too.

    Examples
    --------
    >>> import daskbfs
    >>> theirs = daskbfs.to_networkx(daskbfs.from_edges([(0, 1), (1, 2)]))
    >>> sorted(theirs.edges)
    [(0, 1), (1, 2)]
    """
    networkx = require_package("networkx", "networkx", "a graph of networkx")
    made = networkx.DiGraph() if graph.directed else networkx.Graph()
    made.graph["name"] = graph.name
    made.add_nodes_from(graph.vertices.tolist())
    heads, tails = to_edges(graph)
    made.add_edges_from(zip(heads.tolist(), tails.tolist(), strict=True))
    return made
