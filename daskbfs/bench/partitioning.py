"""Search rates against the CPU's share of the edges: ``python -m daskbfs.bench.partitioning``.

Figures 4, 7, 8 and 12 of Gharaibeh et al. (On Graphs, GPUs, and Blind Dating), for the workers that
are there: the first has the CPU's side, the others the accelerators'. Rates are end to end,
exchange included; kernel times, the slowest worker's at each level, stand beside them.
"""

from __future__ import annotations

import functools
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click
from distributed import Client

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench import options
from daskbfs.cluster.local import local_cluster
from daskbfs.distribution.distributed_graph import DistributedGraph, distribute, distribute_graph
from daskbfs.graph.generators import kronecker, uniform
from daskbfs.graph.graph import Graph
from daskbfs.machine import hardware
from daskbfs.partition.strategy import STRATEGIES
from daskbfs.plotting.pictures import canvas, check_picture, save
from daskbfs.progress import Progress, bars, silent
from daskbfs.telemetry.views import COLOURS

SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
_NOISE = 1.05  # what two rates must differ by to be called different


@click.command()
@click.option("--scale", "scales", type=int, multiple=True, help="May be repeated.  [default: 20]")
@click.option("--sources", "n_sources", type=int, default=16, show_default=True)
@click.option("--workers", "n_workers", type=click.IntRange(2), default=2, show_default=True)
@click.option(
    "--share",
    "shares",
    type=click.FloatRange(0, 1),
    multiple=True,
    help=f"Of the edges for the first worker; may be repeated.  [default: {SHARES}]",
)
@options.json_option
@click.option("--plot", "plot_file", type=click.Path(), help="Draw them to this .png or .svg.")
@options.quiet_option
def main(
    scales: tuple[int, ...],
    n_sources: int,
    n_workers: int,
    shares: tuple[float, ...],
    json_file: str | None,
    plot_file: str | None,
    quiet: bool,
) -> None:
    """Sweep the share of the edges for each strategy, on Kronecker and uniform graphs."""
    if plot_file:
        check_picture(plot_file)
    report: dict[str, Any] = {
        "devices": f"{n_workers} CPU workers on {hardware.n_cores()} cores",
        "sweeps": [],
    }
    with bars(quiet=quiet) as progress:
        graphs = [
            make(scale, progress=progress)
            for scale in scales or (20,)
            for make in (kronecker, uniform)
        ]
        alone = {graph.name: _rate_alone(graph, n_sources) for graph in graphs}
        with local_cluster(n_workers) as cluster, cluster.get_client() as client:
            for graph in graphs:
                points = sweep(graph, client, n_sources, sorted(shares or SHARES), progress)
                report["sweeps"].append(
                    {"graph": graph.name, "one_worker_teps": alone[graph.name], "points": points}
                )
    for swept in report["sweeps"]:
        click.echo("\n".join(format_sweep(swept)))
    options.write_report(report, json_file)
    if plot_file:
        save(picture(report), plot_file)


def _rate_alone(graph: Graph, n_sources: int) -> float:
    """The rate of one worker with all cores."""
    return search_rate(distribute(graph), n_sources)["teps"]


def sweep(
    graph: Graph,
    client: Client,
    n_sources: int,
    shares: Sequence[float],
    progress: Progress = silent,
    rate: Rate | None = None,
) -> list[dict[str, Any]]:
    """Rates of all strategies at all shares; None: of searches."""
    rate = rate or search_rate
    points: list[dict[str, Any]] = []
    for share in shares:
        for strategy in STRATEGIES:
            progress(f"sweeping {graph.name}", len(points), len(shares) * len(STRATEGIES))
            placed = client.sync(
                distribute_graph, graph, client, strategy=strategy, n_cpu=1, cpu_share=share
            )
            rows = placed.layout.rows
            points.append(
                {
                    "strategy": strategy,
                    "cpu_share": share,
                    "vertex_share": rows[0].size / graph.n_rows,
                    **rate(placed, n_sources),
                }
            )
            placed.release()
    return points


Rate = Callable[..., dict[str, Any]]
"""Called with a graph, a number of searches, and perhaps ``threads``; gives ``teps`` and others."""


def search_rate(
    placed: DistributedGraph,
    n_sources: int,
    direction: str | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """The rate of some searches, and where their time went."""
    sources = [int(v) for v in placed.random_sources(n_sources)]
    search = functools.partial(bfs, placed, driver="auto", direction=direction, threads=threads)
    search(sources[0])  # warm
    results = [search(source) for source in sources]
    return {
        "teps": statistics.harmonic_mean([result.teps or 0.0 for result in results]),
        "seconds": statistics.median(result.seconds for result in results),
        "kernel_seconds": statistics.median(result.kernel_seconds for result in results),
        "phases": mean_phases([result.phases.to_dict() for result in results]),
    }


def mean_phases(phases: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each phase."""
    return {name: statistics.fmean(found[name] for found in phases) for name in phases[0]}


def format_sweep(swept: dict[str, Any]) -> list[str]:
    """A table, and where a specialised partition beats a random one."""
    header = [
        f"{swept['graph']}: one worker with all cores {swept['one_worker_teps'] / 1e9:.3f} GTEPS",
        "share of edges  strategy  vertices   GTEPS  kernel ms",
    ]
    rows = [
        f"{point['cpu_share']:14.0%}  {point['strategy']:8}  {point['vertex_share']:8.1%}  "
        f"{point['teps'] / 1e9:6.3f}  {point['kernel_seconds'] * 1e3:9.2f}"
        for point in swept["points"]
    ]
    return [*header, *rows, *verdicts(swept["points"]), ""]


def verdicts(points: Sequence[dict[str, Any]]) -> list[str]:
    """For each specialised strategy, how its best point compares with the best random one."""

    def best(strategy: str, key: str, better: Any) -> dict[str, Any]:
        mine = [point for point in points if point["strategy"] == strategy]
        chosen: dict[str, Any] = better(mine, key=lambda point: point[key])
        return chosen

    lines = []
    for name, key, better in (("rate", "teps", max), ("kernel time", "kernel_seconds", min)):
        blind = best("random", key, better)
        for strategy in ("high", "low"):
            mine = best(strategy, key, better)
            gain = mine[key] / blind[key] if better is max else blind[key] / mine[key]
            if gain > _NOISE:
                word = f"beats random by {gain - 1:.0%}"
            elif gain < 1 / _NOISE:
                word = f"loses to random by {1 - gain:.0%}"
            else:
                word = "is no different from random"
            lines.append(
                f"best {name}: {strategy} {word} (at {mine['cpu_share']:.0%} against "
                f"{blind['cpu_share']:.0%} of the edges)"
            )
    return lines


def picture(report: dict[str, Any]) -> Any:
    """Rates against shares for each graph, and the vertices on the first worker."""
    sweeps = report["sweeps"]
    figure, panels = canvas(len(sweeps) + 1, f"Search rates on {report['devices']}")
    for panel, swept in zip(panels, sweeps, strict=False):
        lines_by_share(panel, swept["points"], "teps", 1e-9)
        panel.axhline(swept["one_worker_teps"] * 1e-9, color="grey", linestyle="--")
        panel.annotate(
            "one worker, all cores",
            (0.02, swept["one_worker_teps"] * 1e-9),
            xycoords=("axes fraction", "data"),
            xytext=(0, -4),
            textcoords="offset points",
            va="top",
            color="grey",
        )
        panel.set_ylim(bottom=0)
        panel.set_title(swept["graph"])
        panel.set_ylabel("rate (GTEPS, end to end)")
    lines_by_share(panels[-1], sweeps[0]["points"], "vertex_share", 100.0)
    panels[-1].set_title(f"{sweeps[0]['graph']}: vertices")
    panels[-1].set_ylabel("vertices on the first worker (%)")
    for panel in panels:
        panel.set_xlabel("edges on the first worker (%)")
        panel.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=3)
    return figure


def lines_by_share(panel: Any, points: Sequence[dict[str, Any]], key: str, factor: float) -> None:
    """A line for each strategy, over the CPU's share of the edges."""
    for colour, strategy in zip(COLOURS, STRATEGIES, strict=False):
        mine = [point for point in points if point["strategy"] == strategy]
        shares = [100 * point["cpu_share"] for point in mine]
        values = [factor * point[key] for point in mine]
        panel.plot(shares, values, "o-", label=strategy, color=colour)


if __name__ == "__main__":
    sys.exit(main())
