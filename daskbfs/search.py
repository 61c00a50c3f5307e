"""The public function: one search, by whichever driver."""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from daskbfs import config
from daskbfs.construction import construct
from daskbfs.direction import policy
from daskbfs.drivers import direct
from daskbfs.edges import ArrayEdges
from daskbfs.graph import Graph
from daskbfs.kernels.compiling import check_threads
from daskbfs.programs.bfs import BFS
from daskbfs.result import BFSResult, Tree
from daskbfs.superstep import Share
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
    source = _vertex(graph, source, "source")
    program = _program(graph, source, graph.order, direction, depth_limit, targets)
    check_threads(threads)
    _warm()
    start = time.perf_counter()
    if program is None:  # an isolated source
        tree = Tree(graph, graph.order, None, lambda: None)
        return BFSResult(tree, source, LevelTable([]), time.perf_counter() - start)
    outcome = direct.search(graph, program, Share(threads))
    seconds = time.perf_counter() - start
    levels = LevelTable(outcome.records)
    tree = Tree(graph, graph.order, None, lambda: outcome.parts[0].parent)
    return BFSResult(tree, source, levels, seconds, _last_level(program, levels))


def _program(
    graph: Graph,
    source: int,
    place: np.ndarray,
    direction: str | None,
    depth_limit: int | None,
    targets: Iterable[int] | None,
) -> BFS | None:
    """The search as a program; None when the source is isolated."""
    if depth_limit is not None and depth_limit < 0:
        raise ValueError(f"depth_limit {depth_limit} is negative: it counts edges from the source")
    choose = policy(direction)
    rows = [graph.row_of(_vertex(graph, v, "target")) for v in targets or ()]
    goals: tuple[int, ...] | None = None
    # an isolated target is reached only where it is the source, so the search must be a full one
    if rows and None not in rows:
        goals = tuple(int(place[graph.original_index[row]]) for row in rows)  # type: ignore[index]
    row = graph.row_of(source)
    if row is None:
        return None
    return BFS(
        source=int(place[graph.ids.index(source)]),
        degree=graph.out.degree(row),
        policy=choose,
        depth_limit=depth_limit,
        targets=goals,
        serial_arcs=config.get("kernels.serial-arcs"),
    )


def _last_level(program: BFS, levels: LevelTable) -> int | None:
    """The level at which a search was told to stop; None for a full search."""
    told = program.depth_limit is not None or program.targets is not None
    return levels.n_levels if told else None


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
    program = _program(graph, 0, graph.order, None, None, None)
    assert program is not None
    direct.search(graph, replace(program, policy=_turn), Share())


def _turn(now: Direction, summary: object) -> Direction:
    """A policy that visits every kernel."""
    return Direction.BOTTOM_UP if now is Direction.TOP_DOWN else Direction.TOP_DOWN
