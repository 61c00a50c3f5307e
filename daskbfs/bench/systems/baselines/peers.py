"""Searches of other packages on the same edges.

A peer makes its own graph of the input edges (``kernel1``), by the fastest way that it documents,
and searches it (``kernel2``).
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from daskbfs.bench.systems.baselines import Edges
from daskbfs.names import Device

_ALPHA = 8.0  # LAGraph's numbers
_BETA = 512


@dataclass(frozen=True, slots=True)
class Peer:
    """Another package that searches."""

    name: str
    modules: tuple[str, ...]
    """What is imported."""
    packages: tuple[str, ...]
    """What is installed, by any of these names."""
    kernel1: Callable[[Edges], Any]
    """The package's own graph of the edges, undirected."""
    kernel2: Callable[[Any, int], np.ndarray]
    """Parents from such a graph and a source, by vertex; -1 where the search does not come."""
    device: Device = Device.CPU

    def installed(self) -> bool:
        """Whether it can be imported; nothing is."""
        return all(importlib.util.find_spec(name) is not None for name in self.modules)

    def version(self) -> str:
        """The version that is installed, as far as its package tells."""
        for package in self.packages:
            with contextlib.suppress(metadata.PackageNotFoundError):
                return metadata.version(package)
        return "of unknown version"


def _scipy_graph(edges: Edges) -> Any:
    """Rows of a symmetric matrix, in the types that csgraph takes without a copy."""
    from scipy.sparse import csr_array

    heads, tails = (ends.astype(np.int32) for ends in (edges.heads, edges.tails))
    arcs = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    shape = (edges.n_vertices, edges.n_vertices)
    return csr_array((np.ones(arcs[0].size, np.float64), arcs), shape=shape)


def _scipy_parents(graph: Any, source: int) -> np.ndarray:
    """``breadth_first_order``; a symmetric matrix is searched as a directed one, without a copy."""
    from scipy.sparse.csgraph import breadth_first_order

    return _with_source(breadth_first_order(graph, source)[1], source)


def _networkx_graph(edges: Edges) -> Any:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(edges.n_vertices))
    graph.add_edges_from(zip(edges.heads.tolist(), edges.tails.tolist(), strict=True))
    return graph


def _networkx_parents(graph: Any, source: int) -> np.ndarray:
    import networkx as nx

    found = np.fromiter(
        itertools.chain.from_iterable(nx.bfs_predecessors(graph, source)), np.int64
    ).reshape(-1, 2)
    parent = np.full(len(graph), -1, np.int64)
    parent[found[:, 0]] = found[:, 1]
    parent[source] = source
    return parent


def _networkit_graph(edges: Edges) -> Any:
    """NetworKit's graph, and the edges, from which parents are told."""
    import networkit

    # NetworKit reads the arrays as int64, whatever they are.
    heads, tails = (ends.astype(np.int64) for ends in (edges.heads, edges.tails))
    return networkit.GraphFromCoo((heads, tails), n=edges.n_vertices), heads, tails


def _networkit_parents(graph: Any, source: int) -> np.ndarray:
    """NetworKit finds levels; numpy finds an edge from the level before.

    NetworKit keeps predecessors too, but hands them out one vertex at a time: with that, a search
    of kron:16 takes about three times as long.
    """
    import networkit

    made, heads, tails = graph
    search = networkit.distance.BFS(made, source, storePaths=False).run()
    distance = np.asarray(search.getDistances(asarray=True))
    level = np.where(distance < distance.size, distance, -1).astype(np.int32)
    step = level[tails] - level[heads]
    parent = np.full(level.size, -1, np.int64)
    for ends, others, one in ((tails, heads, 1), (heads, tails, -1)):
        down = np.flatnonzero(step == one)
        parent[ends[down]] = others[down]
    parent[source] = source
    return parent


def _igraph_graph(edges: Edges) -> Any:
    """From a list of pairs, which igraph reads faster than an array; simple ones search faster."""
    import igraph

    pairs = list(zip(edges.heads.tolist(), edges.tails.tolist(), strict=True))
    return igraph.Graph(edges.n_vertices, pairs).simplify()


def _igraph_parents(graph: Any, source: int) -> np.ndarray:
    _, _, parents = graph.bfs(source)
    return _with_source(np.array(parents, np.int64), source)


def _graphblas_graph(edges: Edges) -> Any:
    """A symmetric matrix, and the length of each of its rows."""
    from graphblas import Matrix, agg, binary

    n = edges.n_vertices
    once = Matrix.from_coo(edges.heads, edges.tails, True, nrows=n, ncols=n)
    matrix = once.ewise_add(once.T, binary.lor).new()
    return matrix, matrix.reduce_rowwise(agg.count).new().to_dense(0)


def _graphblas_parents(graph: Any, source: int) -> np.ndarray:
    """Products in the semiring any_secondi, pushed or pulled by the rule of LAGraph.

    Pushing alone takes about twice as long on kron:16; graphblas-algorithms tells no parents.
    """
    from graphblas import Vector, dtypes, replace, semiring

    matrix, degree = graph
    times = semiring.ss.any_secondi
    parent, frontier = (Vector(dtypes.INT64, degree.size) for _ in range(2))
    parent[source] = frontier[source] = source
    parent.ss.config["sparsity_control"] = "bitmap"
    edges_to_check, before, now, pull = matrix.nvals, 0, 1, False
    while now:
        if pull:
            pull = now >= before or now > degree.size / _BETA
        else:
            scout_count = int(degree[frontier.to_coo(values=False)[0]].sum())
            edges_to_check -= scout_count
            pull = now > before and scout_count > edges_to_check / _ALPHA
        frontier.ss.config["sparsity_control"] = "bitmap" if pull else "sparse"
        product = times(matrix @ frontier if pull else frontier @ matrix)
        frontier(~parent.S, replace) << product
        parent(frontier.S) << frontier
        before, now = now, frontier.nvals
    return parent.to_dense(-1)


def _cugraph_graph(edges: Edges) -> Any:
    """The graph on the GPU, by cuGraph's lower interface, which takes arrays and drops duplicates.

    Written from its documentation; not yet run on a GPU.
    """
    import cupy
    import pylibcugraph as plc

    handle = plc.ResourceHandle()
    heads, tails = (cupy.asarray(ends.astype(np.int32)) for ends in (edges.heads, edges.tails))
    graph = plc.SGGraph(
        handle,
        plc.GraphProperties(is_symmetric=True, is_multigraph=False),
        heads,
        tails,
        store_transposed=False,
        renumber=True,
        do_expensive_check=False,
        vertices_array=cupy.arange(edges.n_vertices, dtype=np.int32),
        drop_self_loops=True,
        drop_multi_edges=True,
        symmetrize=True,
    )
    return handle, graph, edges.n_vertices


def _cugraph_parents(graph: Any, source: int) -> np.ndarray:
    """Direction-optimized, which ``cugraph.bfs`` is not; parents in the host's memory."""
    import cupy
    import pylibcugraph as plc

    handle, made, n_vertices = graph
    sources = cupy.asarray([source], dtype=np.int32)
    no_limit = -1
    _, parents, vertices = plc.bfs(handle, made, sources, True, no_limit, True, False)
    parent = np.full(n_vertices, -1, np.int64)
    parent[vertices.get()] = parents.get()
    return _with_source(parent, source)


def _with_source(parent: np.ndarray, source: int) -> np.ndarray:
    """Parents in the common form: -1 for whatever is below 0, and the source is its own parent."""
    found = np.maximum(parent.astype(np.int64), -1)
    found[source] = source
    return found


PEERS = (
    Peer("scipy", ("scipy",), ("scipy",), _scipy_graph, _scipy_parents),
    Peer("networkx", ("networkx",), ("networkx",), _networkx_graph, _networkx_parents),
    Peer("networkit", ("networkit",), ("networkit",), _networkit_graph, _networkit_parents),
    Peer("igraph", ("igraph",), ("igraph",), _igraph_graph, _igraph_parents),
    Peer("graphblas", ("graphblas",), ("python-graphblas",), _graphblas_graph, _graphblas_parents),
    Peer(
        "cugraph",
        ("pylibcugraph", "cupy"),
        ("pylibcugraph-cu13", "pylibcugraph-cu12", "pylibcugraph"),
        _cugraph_graph,
        _cugraph_parents,
        Device.GPU,
    ),
)
"""The packages that are known, installed or not."""
