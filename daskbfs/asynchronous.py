"""The public functions for asynchronous clients, typed as what they then are: coroutines.

>>> from daskbfs import asynchronous
>>> async def search(graph, source, client):
...     return await asynchronous.bfs(graph, source, client)

``await daskbfs.bfs(...)`` does the same; type checkers take its result for one that is there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from daskbfs import dashboard
from daskbfs.algorithms.bfs import api as bfs_api
from daskbfs.algorithms.components import api as components_api
from daskbfs.algorithms.diameter import api as diameter_api
from daskbfs.algorithms.pagerank import api as pagerank_api
from daskbfs.algorithms.paths import api as paths_api
from daskbfs.cluster import tuning
from daskbfs.distribution import distributed_graph

P = ParamSpec("P")
T = TypeVar("T")


def _make_async(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A function that returns something to await where its client is asynchronous."""

    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        result: Any = function(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return call


bfs = _make_async(bfs_api.bfs)
connected_components = _make_async(components_api.connected_components)
pagerank = _make_async(pagerank_api.pagerank)
diameter = _make_async(diameter_api.diameter)
eccentricity = _make_async(diameter_api.eccentricity)
shortest_path = _make_async(paths_api.shortest_path)
distribute = _make_async(distributed_graph.distribute)
tune = _make_async(tuning.tune)
install_dashboard = _make_async(dashboard.install_dashboard)
