"""What telemetry costs: ``python -m daskbfs.bench.telemetry --scale 22 --json FILE``.

Searches of one graph in pairs, from the same source, with reports to the scheduler and without, the
order changing, so that machine noise hits both. Each is the second of two alike: a report travels
with the search that follows. Times run from the call of ``bfs`` to its return, since reports are
made behind the clock of ``result.seconds``. The time of a level is that of paths, whose levels are
all but empty. What is told is the median difference within a pair, and where it lies with 95 %
confidence.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from daskbfs import config
from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench import options
from daskbfs.cluster.local import local_cluster
from daskbfs.distribution.distributed_graph import DistributedGraph, distribute
from daskbfs.graph.generators import kronecker
from daskbfs.graph.graph import Graph
from daskbfs.interop.convert import from_edges
from daskbfs.progress import Progress, bars

_PATHS = {1: (50, 5000), 2: (50,)}  # edges, by the number of workers


@click.command()
@options.scale_option(22)
@options.rounds_option(12)
@click.option("--sources", "n_sources", type=click.IntRange(1), default=8, show_default=True)
@options.json_option
@options.quiet_option
def main(scale: int, rounds: int, n_sources: int, json_file: str | None, quiet: bool) -> None:
    """Time searches with telemetry and without, by one worker in here and by two processes."""
    if not config.get("telemetry.enabled"):
        raise click.UsageError("daskbfs.telemetry.enabled is false: there is nothing to compare")
    cases = []
    with bars(quiet=quiet) as progress:
        graph = kronecker(scale, progress=progress)
        for n_workers in (1, 2):
            with local_cluster(n_workers) as cluster, cluster.get_client() as client:
                for searched in (graph, *map(_path, _PATHS[n_workers])):
                    placed = distribute(searched, client)
                    figures = compare(placed, rounds, n_sources, progress)
                    figures["workers"] = n_workers
                    cases.append(figures)
                    placed.release()
    for figures in cases:
        click.echo(format_figures(figures))
    options.write_report({"cases": cases}, json_file)


def _path(n_edges: int) -> Graph:
    return from_edges(np.arange(n_edges)[:, None] + [0, 1], name=f"path:{n_edges}")


def compare(
    placed: DistributedGraph, rounds: int, n_sources: int, progress: Progress
) -> dict[str, Any]:
    """What telemetry adds to a search and to a level."""
    sources = [int(v) for v in placed.random_sources(n_sources)]
    partitions, reporter = placed.placed_partitions, placed.placed_partitions.reporter

    def seconds(source: int, *, telling: bool) -> float:
        partitions.reporter = reporter if telling else None
        bfs(placed, source, driver="auto")
        start = time.perf_counter()
        bfs(placed, source, driver="auto")
        return time.perf_counter() - start

    n_levels = max(bfs(placed, source, driver="auto").levels.n_levels for source in sources)
    pairs = []
    for i in range(rounds):
        for k, source in enumerate(sources):
            order = (True, False) if (i + k) % 2 else (False, True)
            times = {telling: seconds(source, telling=telling) for telling in order}
            pairs.append((times[True], times[False]))
        progress(placed.name, i + 1, rounds)
    partitions.reporter = reporter
    without = statistics.median(off for _, off in pairs)
    added, low, high = median_interval([on - off for on, off in pairs])
    return {
        "graph": placed.name,
        "pairs": len(pairs),
        "n_levels": n_levels,
        "seconds_without": without,
        "seconds_added": added,
        "seconds_added_interval": [low, high],
        "share_added": added / without,
        "seconds_per_level": added / n_levels,
    }


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and between which values it lies with 95 % confidence, whatever the noise."""
    ordered = sorted(values)
    n = len(ordered)
    half = round(0.98 * math.sqrt(n))
    low, high = max(0, n // 2 - half), min(n - 1, n // 2 + half)
    return statistics.median(ordered), ordered[low], ordered[high]


def format_figures(figures: dict[str, Any]) -> str:
    """One case in a line."""
    without, added = figures["seconds_without"] * 1e3, figures["seconds_added"] * 1e3
    low, high = (1e3 * bound for bound in figures["seconds_added_interval"])
    return (
        f"{figures['graph']:9} {figures['workers']} workers: {without:8.2f} ms, telemetry adds "
        f"{added:+.3f} ms ({low:+.3f} to {high:+.3f}), {figures['share_added']:+.1%}, "
        f"{figures['seconds_per_level'] * 1e3:+.4f} ms a level; {figures['pairs']} pairs"
    )


if __name__ == "__main__":
    sys.exit(main())
