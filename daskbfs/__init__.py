"""Breadth-first search across CPUs and GPUs, on Dask.

>>> import daskbfs
>>> graph = daskbfs.kronecker(scale=10)
>>> result = daskbfs.bfs(graph, source=int(graph.random_sources(1)[0]))
>>> result.reached > 100
True
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "BFSResult": "result",
    "DistributedGraph": "distribution",
    "Graph": "graph",
    "HybridCluster": "hybrid",
    "PageRankResult": "ranking",
    "ValidationError": "validation",
    "bfs": "search",
    "distribute": "distribution",
    "from_edges": "convert",
    "from_igraph": "convert",
    "from_networkit": "convert",
    "from_networkx": "convert",
    "from_scipy": "convert",
    "install_dashboard": "dashboard",
    "kronecker": "generate",
    "local_cluster": "cluster",
    "pagerank": "ranking",
    "read_graph": "io",
    "to_edges": "convert",
    "to_networkx": "convert",
    "to_scipy": "convert",
    "tune": "cluster",
    "uniform": "generate",
    "validate": "validation",
    "write_graph": "io",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: numba and dask take their time."""
    if name in _HOMES:
        value = getattr(importlib.import_module(f"daskbfs.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'daskbfs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
