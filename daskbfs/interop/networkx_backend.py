"""A backend of networkx: ``nx.bfs_edges(G, source, backend="daskbfs")``.

Networkx converts a graph once, and keeps what it got with the graph. Nodes may be anything. What is
a number for each node (distances, components, ranks) is found by our searches, with the driver in
``nx.config.backends.daskbfs.driver``. Where the order of nodes is part of the answer it is that of
networkx: a walk in the order of its queue, over rows in the order of its adjacency; that takes less
time than making Python's tuples of what it finds (``kron:16``: 8 of 33 ms). Parents of our searches
would not do there: they are any parent of the level before, and networkx's own tests compare lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from daskbfs.algorithms.pagerank.api import pagerank as rank
from daskbfs.interop.networkx_graph import Adjacency, BackendGraph
from daskbfs.kernels.serial_bfs import walk

_EVERY_LEVEL = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk visited: nodes in its order, by place."""

    order: np.ndarray
    parent: np.ndarray
    level: np.ndarray
    """Both of each node that was visited, in its order."""

    @classmethod
    def of(cls, rows: Adjacency, sources: Iterable[int], last_level: int = _EVERY_LEVEL) -> Walk:
        n = rows.indptr.size - 1
        queue, parent, level = np.empty(n, np.uint32), np.zeros(n, np.uint32), _unvisited(n)
        size = 0
        for source in sources:
            if level[source] < 0:
                queue[size], level[source] = source, 0
                size += 1
        size = walk(rows.indptr, rows.indices, queue, 0, size, last_level, parent, level)
        order = queue[:size]
        return cls(order, parent[order], level[order])


def _unvisited(n: int) -> np.ndarray:
    return np.full(n, -1, np.int32)


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    **_: Any,
) -> BackendGraph:
    """A networkx graph as a backend's; attributes are looked at, and not kept."""
    nodes = list(graph)
    places = {node: place for place, node in enumerate(nodes)}
    successors = Adjacency.of(graph._adj, places)
    predecessors = Adjacency.of(graph._pred, places) if graph.is_directed() else successors
    parallel = graph.is_multigraph() and any(
        len(edges) > 1 for _, row in graph.adjacency() for edges in row.values()
    )
    wanted = dict(edge_attrs or {})
    if preserve_edge_attrs:
        there = {name for _, _, kept in graph.edges(data=True) for name in kept}
        wanted |= dict.fromkeys(there | {"weight"}, 1)
    weights = {
        attribute: any(w != 1 for _, _, w in graph.edges(data=attribute, default=default))
        for attribute, default in wanted.items()
    }
    return BackendGraph(
        nodes,
        successors,
        predecessors,
        graph.is_multigraph(),
        parallel,
        weights,
        dict(graph.graph),
    )


def convert_to_nx(value: Any, **_: Any) -> Any:
    """A backend's graph as networkx's; anything else as it is."""
    if not isinstance(value, BackendGraph):
        return value
    kinds = [[nx.Graph, nx.MultiGraph], [nx.DiGraph, nx.MultiDiGraph]]
    made = kinds[value.is_directed()][value.is_multigraph()](**value.attributes)
    made.add_nodes_from(value.nodes)
    heads, tails = value.edges
    made.add_edges_from(zip(value.nodes_at(heads), value.nodes_at(tails), strict=True))
    return made


def can_run(name: str, args: Any, kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call is one of ours; else why not."""
    for option in ("sort_neighbors", "nstart", "dangling"):
        if kwargs.get(option) is not None:
            return f"daskbfs knows no {option}"
    return True


def _walked_edges(
    graph: BackendGraph, source: Any, depth_limit: int | None, reverse: bool
) -> Iterator[tuple[Any, Any]]:
    kind = "digraph" if graph.is_directed() else "graph"
    start = graph.place(source, nx.NetworkXError, f"The node {source} is not in the {kind}.")
    rows = graph.predecessors if reverse else graph.successors
    found = Walk.of(rows, [start], _last_level(depth_limit))
    parents, children = graph.nodes_at(found.parent[1:]), graph.nodes_at(found.order[1:])
    yield from zip(parents, children, strict=True)


def _last_level(limit: float | None) -> int:
    """The last level that networkx would visit."""
    if limit is None or limit > _EVERY_LEVEL:
        return _EVERY_LEVEL
    return max(0, math.ceil(limit)) if limit > 0 else 0  # nan is not


def bfs_edges(
    G: BackendGraph,
    source: Any,
    reverse: bool = False,
    depth_limit: int | None = None,
    sort_neighbors: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """As networkx's: edges of the tree, in the order of the walk."""
    if sort_neighbors is not None:  # refused at once, so that networkx can do it itself
        raise NotImplementedError("daskbfs knows no sort_neighbors")
    return _walked_edges(G, source, depth_limit, reverse)


def bfs_tree(G: BackendGraph, source: Any, *arguments: Any, **options: Any) -> Any:
    """As networkx's, with what ``bfs_edges`` takes; the tree is a graph of networkx."""
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(bfs_edges(G, source, *arguments, **options))
    return tree


def bfs_predecessors(
    G: BackendGraph, source: Any, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """As networkx's."""
    edges = bfs_edges(G, source, False, depth_limit, sort_neighbors)
    return ((child, parent) for parent, child in edges)


def bfs_successors(
    G: BackendGraph, source: Any, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    """As networkx's."""
    return _families(source, bfs_edges(G, source, False, depth_limit, sort_neighbors))


def _families(source: Any, edges: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, list[Any]]]:
    """Each parent with all its children; the source even without any."""
    parent: Any = source
    children: list[Any] = []
    for its_parent, child in edges:
        if its_parent is not parent and its_parent != parent:
            yield parent, children
            parent, children = its_parent, []
        children.append(child)
    yield parent, children


def bfs_layers(G: BackendGraph, sources: Any) -> Iterator[list[Any]]:
    """As networkx's."""
    if sources in G:
        sources = [sources]
    starts = [
        G.place(source, nx.NetworkXError, f"The node {source} is not in the graph.")
        for source in set(sources)  # in whose order networkx takes them
    ]
    found = Walk.of(G.successors, starts)
    ends = np.cumsum(np.bincount(found.level))
    for nodes in np.split(found.order, ends)[:-1]:
        yield G.nodes_at(nodes)


def descendants_at_distance(G: BackendGraph, source: Any, distance: int) -> set[Any]:
    """As networkx's."""
    start = G.place(source, nx.NetworkXError, f"The node {source} is not in the graph.")
    if not 0 <= distance < _EVERY_LEVEL or distance != int(distance):
        return set()
    return set(G.nodes_at(np.flatnonzero(G.level(start, int(distance)) == distance)))


def single_source_shortest_path_length(
    G: BackendGraph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """As networkx's; nearer nodes come first."""
    start = G.place(source, nx.NodeNotFound, f"Source {source} is not in G")
    last = _last_level(cutoff)
    level = G.level(start, None if last == _EVERY_LEVEL else last)
    reached = np.flatnonzero(level >= 0)
    nearest = reached[np.argsort(level[reached], kind="stable")]
    return dict(zip(G.nodes_at(nearest), level[nearest].tolist(), strict=True))


def _components(graph: BackendGraph) -> list[np.ndarray]:
    """The places of each component, in the order of their first nodes."""
    component = graph.component
    if component.size == 0:
        return []
    places = np.argsort(component, kind="stable")
    begins = np.flatnonzero(np.diff(component[places])) + 1
    return np.split(places, begins)


def _require(graph: BackendGraph, *, directed: bool) -> None:
    if graph.is_directed() != directed:
        kind = "undirected" if directed else "directed"
        raise nx.NetworkXNotImplemented(f"not implemented for {kind} type")


def _is_connected(graph: BackendGraph) -> bool:
    if len(graph) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return not graph.component.any()  # all are in that of the first node


def connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """As networkx's."""
    _require(G, directed=False)
    return (set(G.nodes_at(component)) for component in _components(G))


def number_connected_components(G: BackendGraph) -> int:
    """As networkx's."""
    _require(G, directed=False)
    return int(np.unique(G.component).size)


def is_connected(G: BackendGraph) -> bool:
    """As networkx's."""
    _require(G, directed=False)
    return _is_connected(G)


def node_connected_component(G: BackendGraph, n: Any) -> set[Any]:
    """As networkx's."""
    _require(G, directed=False)
    start = G.place(n, KeyError, n)
    return set(G.nodes_at(np.flatnonzero(G.component == G.component[start])))


def weakly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """As networkx's."""
    _require(G, directed=True)
    return (set(G.nodes_at(component)) for component in _components(G))


def number_weakly_connected_components(G: BackendGraph) -> int:
    """As networkx's."""
    _require(G, directed=True)
    return int(np.unique(G.component).size)


def is_weakly_connected(G: BackendGraph) -> bool:
    """As networkx's."""
    _require(G, directed=True)
    return _is_connected(G)


def eccentricity(G: BackendGraph, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    """As networkx's, without weights; a search for each node."""
    if sp is not None or weight is not None:
        raise NotImplementedError("daskbfs knows neither sp nor weights of distances")
    if v in G:
        return _eccentricity(G, v)
    if v is not None and not isinstance(v, Iterable):
        raise nx.NetworkXError(f"Node {v} is not in the graph.")
    nodes = G.nodes if v is None else [node for node in v if node in G]
    return {node: _eccentricity(G, node) for node in nodes}


def _eccentricity(graph: BackendGraph, node: Any) -> int:
    level = graph.level(graph.places[node])
    if level.min() < 0:
        raise _infinite(graph)
    return int(level.max())


def _infinite(graph: BackendGraph) -> Exception:
    """Networkx's error where some node does not reach all others."""
    kind = "digraph is not strongly" if graph.is_directed() else "graph is not"
    return nx.NetworkXError(f"Found infinite path length because the {kind} connected")


def diameter(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> int:
    """As networkx's, without weights; always by bounds where the graph is undirected."""
    if weight is not None:
        raise NotImplementedError("daskbfs knows no weights of distances")
    if e is not None or G.is_directed() or len(G) == 0:
        return max((eccentricity(G) if e is None else e).values())
    if not _is_connected(G):
        said = "Cannot compute metric because graph is not connected."
        raise nx.NetworkXError(said) if usebounds else _infinite(G)
    return G.diameter()


def pagerank(
    G: BackendGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Any = None,
    weight: str | None = "weight",
    dangling: Any = None,
) -> dict[Any, float]:
    """As networkx's, on graphs whose edges have no weights and no parallels, and are no loops."""
    if nstart is not None or dangling is not None:
        raise NotImplementedError("daskbfs knows neither nstart nor dangling")
    loops = (G.successors.heads == G.successors.indices).any()
    if loops or G.parallel or (weight is not None and G.weights.get(weight, True)):
        raise NotImplementedError("daskbfs ranks graphs without weights, loops and parallel edges")
    if not 0 <= alpha < 1 or not tol > 0:
        raise NotImplementedError(f"daskbfs knows no alpha {alpha} and tol {tol}")
    if len(G) == 0:
        return {}
    weights = None
    if personalization is not None:
        weights = {G.places[node]: value for node, value in personalization.items() if node in G}
        if min(weights.values(), default=0) < 0:
            raise NotImplementedError("daskbfs knows no negative personalization")
        if not sum(weights.values()):
            raise ZeroDivisionError
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    if G.successors.indices.size == 0:
        return _without_edges(G, weights)
    try:
        result = rank(
            G.graph,
            damping=alpha,
            tolerance=tol,
            max_iterations=max_iter,
            personalization=weights,
            driver=G.driver,
        )
    except RuntimeError as error:
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    return dict(zip(G.nodes, result.rank.tolist(), strict=True))


def _without_edges(graph: BackendGraph, weights: Mapping[int, float] | None) -> dict[Any, float]:
    """The ranks of the nodes of a graph without edges."""
    if weights is None:
        return dict.fromkeys(graph.nodes, 1 / len(graph))
    total = sum(weights.values())
    return {node: weights.get(place, 0) / total for place, node in enumerate(graph.nodes)}
