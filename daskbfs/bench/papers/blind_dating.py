"""The experiments of Gharaibeh et al.: which part of a graph should go to which processor."""

from __future__ import annotations

import functools
from typing import Any

from daskbfs.algorithms.pagerank.api import pagerank
from daskbfs.bench.papers.experiments import Bench, CannotRun, Experiment, Observation
from daskbfs.bench.partitioning import SHARES, Rate, lines_by_share, search_rate, sweep, verdicts
from daskbfs.bench.systems.catalogue import Setting
from daskbfs.distribution.distributed_graph import DistributedGraph
from daskbfs.graph.generators import uniform
from daskbfs.graph.graph import Graph
from daskbfs.plotting.figures import phases_figure
from daskbfs.plotting.pictures import canvas, legend_above
from daskbfs.telemetry.views import COLOURS

_ITERATIONS = 5
_classic = functools.partial(search_rate, direction="top_down")


def rank_rate(
    placed: DistributedGraph, n_sources: int, threads: int | None = None
) -> dict[str, Any]:
    """Edges per second of PageRank, as the paper counts them: all edges, each iteration."""
    pagerank(placed, iterations=1, threads=threads)  # warm
    result = pagerank(placed, iterations=_ITERATIONS, threads=threads)
    return {
        "teps": result.edges_per_second,
        "seconds": result.seconds,
        "kernel_seconds": result.levels.kernel_seconds,
    }


def _sweep_once(bench: Bench, graph: Graph, rate: Rate) -> list[dict[str, Any]]:
    """Rates by share and strategy on a CPU and an accelerator; several figures show them."""

    def make() -> list[dict[str, Any]]:
        return sweep(graph, bench.hybrid, bench.n_sources, SHARES, bench.progress, rate)

    return bench.once(("sweep", graph.name, rate), make)


def _by_share(bench: Bench, graph: Graph, rate: Rate = _classic) -> Observation:
    """The rate of each strategy over the CPU's share of the edges."""
    points = _sweep_once(bench, graph, rate)
    what = "PageRank" if rate is rank_rate else "classic searches"
    figure, (left, right) = canvas(2, f"{graph.name}: {what} on a CPU worker and a GPU worker")
    lines_by_share(left, points, "teps", 1e-9)
    left.set_ylabel("rate (billion edges per second, end to end)")
    lines_by_share(right, points, "kernel_seconds", 1e3)
    right.set_ylabel("kernels of the slower worker (ms)")
    for panel in (left, right):
        panel.set_xlabel("edges on the CPU (%)")
        panel.set_ylim(bottom=0)
        legend_above(panel, 3)
    return Observation(" ".join(f"{line}." for line in verdicts(points)), figure)


def _breakdown(bench: Bench, graph: Graph, share: float) -> Observation:
    points = [p for p in _sweep_once(bench, graph, _classic) if p["cpu_share"] == share]
    runs = {p["strategy"]: [{"seconds": p["seconds"], "phases": p["phases"]}] for p in points}
    title = f"{graph.name}, {share:.0%} of the edges on the CPU"
    told = (
        "Phases are means over all searches; elsewhere is what the median search took beside them."
    )
    return Observation(told, phases_figure(runs, title))


def _vertices(bench: Bench) -> Observation:
    graph = bench.graph()
    figure, (panel,) = canvas(1, graph.name)
    lines_by_share(panel, _sweep_once(bench, graph, _classic), "vertex_share", 100.0)
    panel.set_xlabel("edges on the CPU (%)")
    panel.set_ylabel("vertices on the CPU (%)")
    legend_above(panel, 3)
    return Observation("High leaves the CPU few vertices, low nearly all of them.", figure)


def _cache_hits(bench: Bench) -> Observation:
    raise CannotRun("the cache's hits are hardware counters, which this machine does not show")


_MACHINES = {"1S": (1, 0), "2S": (2, 0), "1S1G": (1, 1), "2S1G": (2, 1), "2S2G": (2, 2)}


def _hardware(bench: Bench, rate: Rate, strategy: str, what: str) -> Observation:
    """Rates of several machines over scales."""
    figure, (panel,) = canvas(1, f"{what} on several machines")
    figure.set_size_inches(7, 4.2)
    for colour, (name, (n_cpu, n_gpu)) in zip(COLOURS, _MACHINES.items(), strict=False):
        setting = Setting(n_cpu, n_gpu, strategy if n_gpu else "auto")
        rates = []
        with setting.client() as client:
            for scale in bench.scales:
                placed: Any = setting.place(bench.graph(scale), client)
                rates.append(rate(placed, bench.n_sources, threads=setting.threads)["teps"] / 1e9)
                placed.release()
        style = {"marker": "o", "color": colour, "linestyle": ":" if n_gpu else "-"}
        panel.plot(bench.scales, rates, label=name, **style)
    panel.set_xlabel("scale (2**scale vertices)")
    panel.set_xticks(bench.scales)
    panel.set_ylabel("rate (billion edges per second, end to end)")
    legend_above(panel, 5)
    return Observation("Dotted where GPU workers take part.", figure)


EXPERIMENTS = (
    Experiment(
        "001",
        "Figure 4",
        "At scale 28, a socket and a GPU with hubs on the CPU (HIGH) are twice as fast as with the "
        "other strategies; with 5 % of the edges on the GPU twice as fast as the socket alone, "
        "with 25 % up to three times.",
        lambda bench: _by_share(bench, bench.graph()),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figure 5",
        "The CPU is the bottleneck whatever the strategy; communication and aggregation are "
        "negligible.",
        lambda bench: _breakdown(bench, bench.graph(), 0.8),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figure 6",
        "HIGH raises the hit rate of the last-level cache on the CPU, since its visited bitmap "
        "becomes small.",
        _cache_hits,
    ),
    Experiment(
        "001",
        "Figure 7",
        "HIGH leaves only a small share of the vertices on the CPU, LOW nearly all.",
        _vertices,
    ),
    Experiment(
        "001",
        "Figure 8",
        "At scale 25, where the graph fits the GPU, LOW is best when most edges are there.",
        lambda bench: _by_share(bench, bench.graph(bench.scales[0])),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figure 9",
        "At scale 25, with few edges on the CPU, the GPU is the bottleneck of RAND and HIGH.",
        lambda bench: _breakdown(bench, bench.graph(bench.scales[0]), 0.2),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figure 10",
        "PageRank at scale 25: HIGH is best when most edges are on the GPU, since a CPU's faster "
        "cores suit the few vertices of high degree.",
        lambda bench: _by_share(bench, bench.graph(bench.scales[0]), rank_rate),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figure 11",
        "PageRank at scale 28: HIGH is best for equal shares, but LOW lets more edges fit the GPU, "
        "and wins by that.",
        lambda bench: _by_share(bench, bench.graph(), rank_rate),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figures 12 and 13",
        "On uniform graphs all strategies are alike, and the GPU alone is better than both: the "
        "exchange takes more than the CPU gives.",
        lambda bench: _by_share(bench, bench.once(("uniform",), lambda: uniform(bench.scale))),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figure 14",
        "1S1G is 1.57 to 2.2 times as fast as 2S; at scale 29, where 1 % of the edges fit a GPU, "
        "it is like 2S, and 2S2G is 2.5 times as fast.",
        lambda bench: _hardware(bench, _classic, "high", "Classic searches"),
        on_gpus=True,
    ),
    Experiment(
        "001",
        "Figure 15",
        "PageRank: 1S1G is 1.5 to 4.5 times as fast as 2S.",
        lambda bench: _hardware(bench, rank_rate, "low", "PageRank"),
        on_gpus=True,
    ),
)
