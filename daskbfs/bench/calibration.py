"""The numbers that policies decide by, fitted to a machine.

Whatever implementation searches a level, the frontier before and after it is the same. So each
implementation is timed on all levels of some searches, and what a policy would have taken with any
numbers is added up from these times.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import dask
import yaml

from daskbfs import __version__, config
from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.direction import (
    DEVICE_SETTINGS,
    POLICIES,
    SETTINGS,
    Implementation,
    Summary,
    by_frontier,
)
from daskbfs.distribution.distributed_graph import DistributedGraph
from daskbfs.graph.graph import Graph
from daskbfs.machine import hardware
from daskbfs.names import Device, Direction
from daskbfs.progress import Progress, silent
from daskbfs.telemetry.views import LevelView, levels_of

_FACTORS = [2.0**n for n in range(13)]  # 1 to 4096
_AS_GOOD = 1.005  # costs that differ by less are noise
_ALWAYS = dict.fromkeys(("alpha", "beta", "gamma"), math.inf)  # bottom-up
_FORCED = {
    Implementation.TC: {"alpha": 0.0},
    Implementation.BC: _ALWAYS | {"alpha1": -1.0},
    Implementation.BGC: _ALWAYS | {"alpha1": math.inf, "alpha2": -1.0},
    Implementation.BG: _ALWAYS | {"alpha1": math.inf, "alpha2": math.inf},
}
"""Numbers with which the adaptive policy has no choice."""


@dataclass(frozen=True, slots=True)
class TimedLevel:
    """A level, and what each implementation takes for it."""

    awake_count: int
    scout_count: float
    seconds: Mapping[Implementation, float]


@dataclass(frozen=True, slots=True)
class TimedSearch:
    """The levels of a search."""

    n_rows: int
    n_arcs: int
    levels: Sequence[TimedLevel]


Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What some policy should decide by."""

    policy: str
    now: Numbers
    proposed: Numbers
    seconds_now: float
    seconds_proposed: float
    seconds_best: float
    """If every level were searched in the best way."""


def time_levels(
    graph: Graph | DistributedGraph,
    sources: Sequence[int],
    *,
    rounds: int,
    threads: int | None = None,
    progress: Progress = silent,
) -> list[TimedSearch]:
    """Search from each source in every way that the graph allows; the quickest of some rounds."""
    mirrored = isinstance(graph, DistributedGraph) and graph.strategy == "mirror"
    ways = list(_FORCED) if mirrored else [Implementation.TC, Implementation.BC]
    whole = graph.graph if isinstance(graph, DistributedGraph) else graph
    found = []
    for n, source in enumerate(sources):
        seconds: list[dict[Implementation, float]] = []
        views: list[LevelView] = []
        for _, way in itertools.product(range(rounds + 1), ways):  # the first loads the kernels
            views = _levels(graph, source, way, threads)
            seconds = seconds or [{} for _ in views]
            for level, view in zip(seconds, views, strict=True):
                level[way] = min(_search_seconds(view, way), level.get(way, math.inf))
        levels = [
            TimedLevel(view.frontier_vertices, view.mean_degree * view.frontier_vertices, times)
            for view, times in zip(views, seconds, strict=True)
        ]
        found.append(TimedSearch(whole.n_rows, whole.n_arcs, levels))
        progress("calibrating", n + 1, len(sources))
    return found


def _search_seconds(view: LevelView, way: Implementation) -> float:
    """Kernel seconds of the devices that search, not of those that merge the frontier."""
    return sum(s for device, s in view.seconds.items() if (device is Device.CPU) != way.on_mirrors)


def _levels(
    graph: Graph | DistributedGraph, source: int, way: Implementation, threads: int | None
) -> list[LevelView]:
    driver = "resident" if isinstance(graph, DistributedGraph) else "direct"
    numbers = {f"daskbfs.direction.adaptive.{k}": v for k, v in _FORCED[way].items()}
    with dask.config.set(numbers):
        result = bfs(graph, source, driver=driver, direction="adaptive", threads=threads)
    return levels_of(result.levels)


def propose(searches: Sequence[TimedSearch]) -> list[Proposal]:
    """Numbers for both policies that have some to fit: those that cost least."""
    found = [_fit(policy, SETTINGS[policy], searches) for policy in ("beamer", "adaptive")]
    if Implementation.BG in searches[0].levels[0].seconds:
        found[1] = _fit("adaptive", DEVICE_SETTINGS, searches, found[1].proposed)
    return found


def _fit(
    policy: str, free: Sequence[str], searches: Sequence[TimedSearch], fixed: Numbers | None = None
) -> Proposal:
    now = {k: float(v) for k, v in config.get(f"direction.{policy}").items()}
    for name, value in now.items():
        if not value > 0:
            raise ValueError(
                f"daskbfs.direction.{policy}.{name} is {value:g}: it must be above 0 to be fitted"
            )
    start = now | dict(fixed or {})
    costs = {
        values: cost(policy, start | dict(zip(free, values, strict=True)), searches)
        for values in itertools.product(_FACTORS, repeat=len(free))
        if free is not DEVICE_SETTINGS or values[0] >= values[1]
    }
    least = min(costs.values())

    def distance(values: Sequence[float]) -> float:
        pairs = zip(free, values, strict=True)
        return sum(abs(math.log(value / start[name])) for name, value in pairs)

    good = [values for values, seconds in costs.items() if seconds <= _AS_GOOD * least]
    nearest = min(good, key=distance)
    fitted = start | {k: float(f"{v:.3g}") for k, v in zip(free, nearest, strict=True)}
    if cost(policy, start, searches) <= _AS_GOOD * least:
        fitted = start
    best = sum(min(level.seconds.values()) for search in searches for level in search.levels)
    seconds = (cost(policy, now, searches), cost(policy, fitted, searches), best)
    return Proposal(policy, now, fitted, *seconds)


def cost(policy: str, numbers: Numbers, searches: Sequence[TimedSearch]) -> float:
    """What a policy would have taken for some searches."""
    total = 0.0
    for search in searches:
        for level, way in zip(search.levels, _ways(policy, numbers, search), strict=True):
            total += level.seconds[way]
    return total


def _ways(policy: str, numbers: Numbers, search: TimedSearch) -> Iterator[Implementation]:
    """What a policy would have chosen for each level."""
    names = SETTINGS[policy]
    decide = functools.partial(POLICIES[policy], **{name: numbers[name] for name in names})
    mirrored = policy == "adaptive" and Implementation.BG in search.levels[0].seconds
    direction, summary = Direction.TOP_DOWN, None
    for level in search.levels:
        if summary is None:
            degree = round(level.scout_count)
            summary = Summary.at_source(search.n_rows, search.n_arcs, degree)
        else:
            summary = summary.after(direction, level.awake_count, level.scout_count)
        direction = decide(direction, summary)
        if mirrored:
            limits = {name: numbers[name] for name in DEVICE_SETTINGS}
            yield by_frontier(direction, summary, **limits)
        else:
            top_down = direction is Direction.TOP_DOWN
            yield Implementation.TC if top_down else Implementation.BC


def as_yaml(proposals: Sequence[Proposal]) -> str:
    """The proposals as a file for Dask's configuration."""
    numbers = {p.policy: dict(p.proposed) for p in proposals}
    text: str = yaml.safe_dump({"daskbfs": {"direction": numbers}}, sort_keys=False)
    return text


def report(
    graph: str, searches: Sequence[TimedSearch], proposals: Sequence[Proposal], device: Device
) -> dict[str, Any]:
    """All of it, for ``--json``."""
    return {
        "daskbfs": __version__,
        "machine": hardware.describe(),
        "graph": graph,
        "device": str(device),
        "proposals": [asdict(proposal) for proposal in proposals],
        "searches": [
            [
                {
                    "frontier_vertices": level.awake_count,
                    "scout_count": level.scout_count,
                    "seconds": {str(k): v for k, v in level.seconds.items()},
                }
                for level in search.levels
            ]
            for search in searches
        ],
    }
