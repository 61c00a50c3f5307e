"""Timed searches one after the other, and what their records say together."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daskbfs import __version__, config
from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.result import BFSResult
from daskbfs.distribution.distributed_graph import DistributedGraph, require_graph
from daskbfs.graph.graph import Graph, Outline
from daskbfs.machine import hardware
from daskbfs.names import Device
from daskbfs.progress import Progress, silent
from daskbfs.validation.validate import ValidationError, validate


@dataclass(slots=True)
class Trials:
    """Searches of one graph; ``validated`` is None when trees were not validated."""

    last: BFSResult | None = None
    """The newest tree; earlier ones are forgotten, their records kept."""
    records: list[dict[str, Any]] = field(default_factory=list)
    validated: bool | None = None
    failure: ValidationError | None = None


def run_trials(
    graph: Graph | DistributedGraph,
    sources: Sequence[int],
    *,
    driver: str,
    direction: str | None,
    depth_limit: int | None,
    threads: int | None,
    validate: bool,
    progress: Progress = silent,
) -> Trials:
    """Search from each source; with ``validate``, stop at the first wrong tree."""
    trials = Trials(validated=True if validate else None)
    for n, source in enumerate(sources, 1):
        result = bfs(
            graph,
            source,
            driver=driver,
            direction=direction,
            depth_limit=depth_limit,
            threads=threads,
        )
        result.fetch()  # the assembly is part of the trial
        trials.last = result
        trials.records.append(result.to_dict())
        progress("searching", n, len(sources))
        if validate and not _is_right(result, trials):
            break
    return trials


def _is_right(result: BFSResult, trials: Trials) -> bool:
    try:
        validate(
            result.graph, result.source, result.parent, result.level, last_level=result.last_level
        )
    except ValidationError as error:
        trials.validated, trials.failure = False, error
        return False
    return True


def graph_record(graph: Outline, n_bytes: int) -> dict[str, Any]:
    """What the JSON contract says of a graph."""
    return {
        "name": graph.name,
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "directed": graph.directed,
        "bytes": n_bytes,
        "construction_seconds": graph.construction_seconds,
        "generation_seconds": graph.generation_seconds,
    }


def process_peaks(placed: Graph | DistributedGraph) -> list[int]:
    """The most memory that each process of the job ever held, this one first."""
    peaks = [hardware.peak_bytes()]
    if isinstance(placed, DistributedGraph) and not placed.placement.in_this_process:
        peaks += placed.client.run(hardware.peak_bytes).values()
    return peaks


def surroundings(placed: Graph | DistributedGraph) -> dict[str, Any]:
    """What every report says of the machine, the cluster and the graph."""
    cluster = strategy = None
    graph = require_graph(placed)
    n_bytes = graph.nbytes if isinstance(graph, Graph) else placed.nbytes
    if isinstance(placed, DistributedGraph):
        kinds = [*placed.devices().values()]
        cluster = {
            "workers": len(kinds),
            "devices": {str(kind): kinds.count(kind) for kind in Device},
        }
        strategy = placed.strategy
    return {
        "daskbfs": __version__,
        "machine": hardware.describe(),
        "cluster": cluster,
        "graph": graph_record(graph, n_bytes) | {"peak_bytes": sum(process_peaks(placed))},
        "strategy": strategy,
    }


def summarize(
    placed: Graph | DistributedGraph, trials: Trials, *, direction: str | None
) -> dict[str, Any]:
    """The JSON contract of ``daskbfs run``."""
    assert trials.last is not None
    rates = [record["teps"] for record in trials.records]
    return {
        **surroundings(placed),
        "driver": trials.last.driver,
        "direction": direction or config.get("direction.default"),
        "validated": trials.validated,
        "trials": trials.records,
        "median_seconds": statistics.median(record["seconds"] for record in trials.records),
        "harmonic_mean_teps": statistics.harmonic_mean(rates) if rates and all(rates) else None,
    }


def timed_in_turns(
    ways: Mapping[str, Callable[[], Any]], rounds: int, progress: Progress
) -> dict[str, list[float]]:
    """Seconds of each of some ways, by round; in turns, so that machine noise hits all alike."""
    for way in ways.values():
        way()  # kernels are loaded
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for n in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - start)
        progress("timing", n + 1, rounds)
    return seconds


def read_json(file: str) -> dict[str, Any]:
    """What some command wrote with ``--json``; an error names the file that is none."""
    try:
        found = json.loads(Path(file).read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{file} is no JSON ({error}): was it written to the end?") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file} is no text, so no JSON") from None
    if not isinstance(found, dict) or "daskbfs" not in found:
        raise ValueError(f"{file} holds no records of daskbfs: write some with --json")
    return found
