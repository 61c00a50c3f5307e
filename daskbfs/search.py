"""The public function: one search, by whichever driver."""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from daskbfs.construction import construct
from daskbfs.direction import policy
from daskbfs.drivers import direct
from daskbfs.edges import ArrayEdges
from daskbfs.graph import Graph
from daskbfs.kernels.compiling import threads as kernel_threads
from daskbfs.result import BFSResult
from daskbfs.telemetry import LevelTable
from daskbfs.types import Direction

DRIVERS = ("auto", "direct")


def bfs(
    graph: Graph,
    source: int,
    *,
    driver: str = "auto",
    direction: str | None = None,
    depth_limit: int | None = None,
    targets: Iterable[int] | None = None,
    threads: int | None = None,
) -> BFSResult:
    """Search a graph breadth first.

    Parameters
    ----------
    graph
        What to search.
    source
        The vertex to start from, by the user's own id.
    driver
        What runs the levels: ``"direct"``, a loop in this process. ``"auto"`` chooses.
    direction
        ``"beamer"``, ``"coordinator"``, ``"top_down"`` or ``"bottom_up"``; None takes the
        configured one (``daskbfs.direction.default``).
    depth_limit
        Go no further than this many edges from the source.
    targets
        Stop after the level in which the last of these vertices was reached.
    threads
        Threads that kernels may use; None means all.

    Returns
    -------
    BFSResult
        Parents and levels in the user's own ids, and what was measured.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(10, 20), (20, 30)])
    >>> int(daskbfs.bfs(graph, source=10).parent[30])
    20
    """
    if driver not in DRIVERS:
        raise ValueError(f"driver {driver!r} is unknown: choose one of {', '.join(DRIVERS)}")
    if depth_limit is not None and depth_limit < 0:
        raise ValueError(f"depth_limit {depth_limit} is negative: it counts edges from the source")
    choose = policy(direction)
    source = _vertex(graph, source, "source")
    source_row = graph.row_of(source)
    target_rows = [graph.row_of(_vertex(graph, v, "target")) for v in targets or ()]
    # an isolated target is reached only where it is the source, so the search must be a full one
    reachable = [row for row in target_rows if row is not None]
    goals = reachable if len(reachable) == len(target_rows) else []
    _warm()
    with kernel_threads(threads):
        start = time.perf_counter()
        if source_row is None:
            return BFSResult(graph, source, None, LevelTable([]), time.perf_counter() - start, None)
        row_parent, levels = direct.search(
            graph, source_row, choose, depth_limit=depth_limit, target_rows=goals
        )
        seconds = time.perf_counter() - start
    stopped = bool(goals) or depth_limit is not None
    return BFSResult(
        graph, source, row_parent, levels, seconds, levels.n_levels if stopped else None
    )


def _vertex(graph: Graph, vertex: Any, role: str) -> int:
    """A vertex id that the graph knows."""
    try:
        vertex = operator.index(vertex)
    except TypeError:
        raise TypeError(
            f"{role} {vertex!r} is a {type(vertex).__name__}: vertex ids are integers"
        ) from None
    try:
        graph.ids.index(vertex)
    except ValueError as error:
        raise ValueError(str(error).replace("vertex", role, 1)) from None
    return vertex


@functools.cache
def _warm() -> None:
    """Load or compile the search kernels outside of anybody's clock, once per process."""
    path = np.arange(4)
    graph = construct(ArrayEdges(path[:-1], path[1:]))
    turn = {Direction.TOP_DOWN: Direction.BOTTOM_UP, Direction.BOTTOM_UP: Direction.TOP_DOWN}
    direct.search(graph, 0, lambda now, summary: turn[now])
