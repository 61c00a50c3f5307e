"""What networkx asks of a backend before it loads it: each ``import networkx`` reads this."""

from __future__ import annotations

from typing import Any

_SEARCHES = "Nodes come in the order of networkx's own search."
_LEVELS = "Searched by all cores, top-down or bottom-up as it pays."
_COMPONENTS = "All are found at once, by all cores, and kept with the graph."
_FUNCTIONS = {
    "bfs_edges": f"{_SEARCHES} `sort_neighbors` is not supported.",
    "bfs_layers": _SEARCHES,
    "bfs_predecessors": f"{_SEARCHES} `sort_neighbors` is not supported.",
    "bfs_successors": f"{_SEARCHES} `sort_neighbors` is not supported.",
    "bfs_tree": f"{_SEARCHES} `sort_neighbors` is not supported.",
    "connected_components": _COMPONENTS,
    "descendants_at_distance": _LEVELS,
    "diameter": "Weights are not supported. Bounds rule out most nodes, whatever `usebounds` says.",
    "eccentricity": "A search for each node. `sp` and weights are not supported.",
    "is_connected": _COMPONENTS,
    "is_weakly_connected": _COMPONENTS,
    "node_connected_component": _COMPONENTS,
    "number_connected_components": _COMPONENTS,
    "number_weakly_connected_components": _COMPONENTS,
    "pagerank": "Weights other than 1, self-loops, parallel edges, `nstart` and `dangling` are not "
    "supported.",
    "single_source_shortest_path_length": _LEVELS,
    "weakly_connected_components": _COMPONENTS,
}


def get_info() -> dict[str, Any]:
    """The backend's name, its functions, and what can be configured."""
    return {
        "backend_name": "daskbfs",
        "project": "daskbfs",
        "package": "daskbfs",
        "short_summary": "Breadth-first search, components, diameter, PageRank, by all cores or on "
        "Dask.",
        "functions": {name: {"additional_docs": docs} for name, docs in _FUNCTIONS.items()},
        "default_config": {"driver": "direct"},
    }
