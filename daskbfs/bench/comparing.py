"""Whether one run of searches is faster than another, or whether noise only says so.

Where both searched from the same sources, each source is compared with itself: some sources reach
less than others, and that difference is none of ours. What an interval covers is the scatter of
searches within both runs; what changed on the machine between them it cannot know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daskbfs.bench import spread
from daskbfs.bench.trials import read_json

_FEWEST = 5


@dataclass(frozen=True, slots=True)
class Run:
    """What a comparison needs of a run."""

    file: str
    graph: tuple[Any, ...]
    """Name and size, by which graphs are taken for the same."""
    seconds: dict[int, list[float]]
    """Of each source, until its parents stood in the caller's memory."""


def read_run(file: str) -> Run:
    """A run from what ``daskbfs run`` or ``daskbfs graph500`` wrote."""
    found = read_json(file)
    if found.get("validated") is False:
        raise ValueError(f"{file} has a tree that failed its checks: its times mean nothing")
    try:
        graph = found["graph"]
        seconds: dict[int, list[float]] = {}
        for trial in found["trials"]:
            time = trial.get("kernel2_seconds", trial["seconds"] + trial["fetch_seconds"])
            seconds.setdefault(trial["source"], []).append(float(time))
        same = (graph["name"], graph["n_vertices"], graph["n_edges"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{file} has no searches to compare ({error!r}): give what 'daskbfs run --json' or "
            "'daskbfs graph500 --json' wrote"
        ) from None
    if sum(map(len, seconds.values())) < _FEWEST:
        raise ValueError(f"{file} has too few searches to judge their scatter: at least {_FEWEST}")
    return Run(file, same, seconds)


def compare(before: Run, after: Run) -> dict[str, Any]:
    """By what factor the searches of one run take longer than those of another."""
    if before.graph != after.graph:
        raise ValueError(
            f"{before.file} and {after.file} searched other graphs, {_named(before)} and "
            f"{_named(after)}: compare runs on the same"
        )
    paired = before.seconds.keys() == after.seconds.keys()
    if paired:
        ratios = [
            np.log(np.mean(after.seconds[source]) / np.mean(times))
            for source, times in before.seconds.items()
        ]
        resamples = np.exp(spread.resampled(ratios, spread.mean))
        factor = float(np.exp(np.mean(ratios)))
    else:
        old, new = (np.concatenate([*run.seconds.values()]) for run in (before, after))
        factor = float(np.mean(new) / np.mean(old))
        resamples = spread.resampled(new, spread.mean, 1) / spread.resampled(old, spread.mean, 2)
    low, high = spread.bounds(resamples)
    verdict = "faster" if high < 1 else "slower" if low > 1 else "undecided"
    return {
        "before": before.file,
        "after": after.file,
        "paired": paired,
        "searches": [sum(map(len, run.seconds.values())) for run in (before, after)],
        "time_factor": factor,
        "time_factor_interval": [low, high],
        "verdict": verdict,
    }


def _named(run: Run) -> str:
    name, n_vertices, n_edges = run.graph
    return f"{name} ({n_vertices} vertices, {n_edges} edges)"


def told(report: dict[str, Any]) -> str:
    """A comparison in words."""
    factor, (low, high) = report["time_factor"], report["time_factor_interval"]
    b, a = report["after"], report["before"]
    verdict = {
        "faster": f"{b} is faster than {a}",
        "slower": f"{b} is slower than {a}",
        "undecided": f"nothing shows that {b} is faster or slower than {a}",
    }[report["verdict"]]
    how = "each source with itself" if report["paired"] else "other sources, so all with all"
    n, m = report["searches"]
    return (
        f"{verdict}: its searches take {factor:.3f} times as long, with 95 % confidence "
        f"{low:.3f} to {high:.3f}\n({n} and {m} searches, {how}; what changed on the machine "
        "between the two runs is not in this: run them again, in turns)"
    )
