"""Whether one run of searches is faster than another, or whether noise only says so.

Where both searched from the same sources, each source is compared with itself: some sources reach
less than others, and that difference is none of ours. What an interval covers is the scatter of
searches within both runs; what changed on the machine between them it cannot know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskbfs.bench.confidence import FEWEST, bounds, mean, resample
from daskbfs.bench.trials import read_json
from daskbfs.names import Device
from daskbfs.telemetry.levels import EMULATED_NOTE

_CLOCKS = ("kernel2_seconds", "fetched_seconds")


@dataclass(frozen=True, slots=True)
class Run:
    """What a comparison needs of a run."""

    file: str
    graph: tuple[Any, ...]
    """Name and size, by which graphs are taken for the same."""
    trials: Sequence[Mapping[str, Any]]
    """Source, edges, and seconds by each clock that was read."""
    emulated: bool

    def seconds(self, clock: str) -> dict[int, list[float]]:
        """Of each source, by a clock."""
        found: dict[int, list[float]] = {}
        for trial in self.trials:
            found.setdefault(trial["source"], []).append(trial[clock])
        return found

    def edges(self) -> dict[int, int]:
        """What each source reached."""
        return {trial["source"]: trial["edges"] for trial in self.trials}


def read_run(file: str) -> Run:
    """A run from what ``daskbfs run`` or ``daskbfs graph500`` wrote."""
    found = read_json(file)
    if found.get("validated") is False:
        raise ValueError(f"{file} has a tree that failed its checks: its times mean nothing")
    try:
        graph = found["graph"]
        same = (graph["name"], graph["n_vertices"], graph["n_edges"])
        trials = [_trial(trial) for trial in found["trials"]]
        emulated = any(
            record["device"] == Device.GPU_EMULATED
            for trial in found["trials"]
            for record in trial["levels"]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{file} has no searches to compare ({error!r}): give what 'daskbfs run --json' or "
            "'daskbfs graph500 --json' wrote"
        ) from None
    if len(trials) < FEWEST:
        raise ValueError(
            f"{file} has {len(trials)} searches, too few to judge their scatter: run at least "
            f"{FEWEST}"
        )
    return Run(file, same, trials, emulated)


def _trial(trial: Mapping[str, Any]) -> dict[str, Any]:
    known = {"source": trial["source"], "edges": trial["edges"]}
    known["fetched_seconds"] = trial["seconds"] + trial["fetch_seconds"]
    if "kernel2_seconds" in trial:
        known["kernel2_seconds"] = trial["kernel2_seconds"]
    return known


def compare(before: Run, after: Run) -> dict[str, Any]:
    """By what factor the searches of one run take longer than those of another."""
    if before.graph != after.graph:
        raise ValueError(
            f"{before.file} and {after.file} searched other graphs, {_describe_graph(before)} and "
            f"{_describe_graph(after)}: compare runs on the same"
        )
    runs = (before, after)
    clock = next(c for c in _CLOCKS if all(c in trial for run in runs for trial in run.trials))
    old, new = (run.seconds(clock) for run in runs)
    paired = old.keys() == new.keys() and len(old) >= FEWEST
    _check_work(before, after)
    if paired:
        ratios = [np.log(np.mean(new[source]) / np.mean(times)) for source, times in old.items()]
        resamples = np.exp(resample(ratios, mean))
        factor = float(np.exp(np.mean(ratios)))
    else:
        was, now = (np.concatenate([*times.values()]) for times in (old, new))
        factor = float(np.mean(now) / np.mean(was))
        resamples = resample(now, mean, 1) / resample(was, mean, 2)
    low, high = bounds(resamples)
    verdict = "faster" if high < 1 else "slower" if low > 1 else "undecided"
    return {
        "before": before.file,
        "after": after.file,
        "clock": clock,
        "paired": paired,
        "searches": [len(run.trials) for run in runs],
        "time_factor": factor,
        "time_factor_interval": [low, high],
        "verdict": verdict,
        "emulated": any(run.emulated for run in runs),
    }


def _check_work(before: Run, after: Run) -> None:
    """Refuse searches from one source that reached other things: a limit made them shorter."""
    old, new = before.edges(), after.edges()
    for source in old.keys() & new.keys():
        if old[source] != new[source]:
            raise ValueError(
                f"from source {source}, {before.file} went over {old[source]} edges and "
                f"{after.file} over {new[source]}: compare searches without a depth limit"
            )


def _describe_graph(run: Run) -> str:
    name, n_vertices, n_edges = run.graph
    return f"{name} ({n_vertices} vertices, {n_edges} edges)"


def format_comparison(report: dict[str, Any]) -> str:
    """A comparison in words."""
    factor, (low, high) = report["time_factor"], report["time_factor_interval"]
    b, a = report["after"], report["before"]
    verdict = {
        "faster": f"{b} is faster than {a}",
        "slower": f"{b} is slower than {a}",
        "undecided": f"nothing shows that {b} is faster or slower than {a}",
    }[report["verdict"]]
    how = "each source with itself" if report["paired"] else "all with all"
    n, m = report["searches"]
    lines = [
        f"{verdict}: its searches take {factor:.3f} times as long, with 95 % confidence "
        f"{low:.3f} to {high:.3f}",
        f"({n} and {m} searches, {how}; what changed on the machine between the two runs is not in "
        "this: run them again, in turns)",
    ]
    if report["emulated"]:
        lines.append(EMULATED_NOTE)
    return "\n".join(lines)
