"""Timed searches one after the other, and what their records say together."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daskbfs import __version__, config, machine
from daskbfs.graph import Graph
from daskbfs.progress import Progress, silent
from daskbfs.result import BFSResult
from daskbfs.search import bfs
from daskbfs.validation import ValidationError, validate


@dataclass(slots=True)
class Trials:
    """Searches of one graph; ``validated`` is None when nobody looked."""

    last: BFSResult | None = None
    """The newest tree; earlier ones are forgotten, their records kept."""
    records: list[dict[str, Any]] = field(default_factory=list)
    validated: bool | None = None
    failure: ValidationError | None = None


def run_trials(
    graph: Graph,
    sources: Sequence[int],
    *,
    driver: str,
    direction: str | None,
    depth_limit: int | None,
    validate: bool,
    progress: Progress = silent,
) -> Trials:
    """Search from each source; with ``validate``, stop at the first wrong tree."""
    trials = Trials(validated=True if validate else None)
    for n, source in enumerate(sources, 1):
        result = bfs(graph, source, driver=driver, direction=direction, depth_limit=depth_limit)
        _ = result.parent  # the assembly is part of the trial
        trials.last = result
        trials.records.append(result.to_dict())
        progress("searching", n, len(sources))
        if validate and not _is_right(graph, result, trials):
            break
    return trials


def _is_right(graph: Graph, result: BFSResult, trials: Trials) -> bool:
    try:
        validate(graph, result.source, result.parent, result.level, last_level=result.last_level)
    except ValidationError as error:
        trials.validated, trials.failure = False, error
        return False
    return True


def summarize(
    graph: Graph, trials: Trials, *, driver: str, direction: str | None
) -> dict[str, Any]:
    """The JSON contract of ``daskbfs run``."""
    rates = [record["teps"] for record in trials.records]
    return {
        "daskbfs": __version__,
        "machine": machine.describe(),
        "cluster": None,
        "graph": {
            "name": graph.name,
            "n_vertices": graph.n_vertices,
            "n_edges": graph.n_edges,
            "directed": graph.directed,
            "bytes": graph.nbytes,
            "construction_seconds": graph.construction_seconds,
            "generation_seconds": graph.generation_seconds,
            "peak_bytes": machine.peak_bytes(),
        },
        "driver": driver,
        "strategy": None,
        "direction": direction or config.get("direction.default"),
        "validated": trials.validated,
        "trials": trials.records,
        "median_seconds": statistics.median(record["seconds"] for record in trials.records),
        "harmonic_mean_teps": statistics.harmonic_mean(rates) if rates and all(rates) else None,
    }
