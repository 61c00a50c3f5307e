"""The experiments of Lin, Zhai and Chen: algorithm and device for each level."""

from __future__ import annotations

import functools

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.direction import Implementation
from daskbfs.bench.calibration import propose, time_levels
from daskbfs.bench.papers.experiments import Bench, Experiment, Observation
from daskbfs.distribution.distributed_graph import DistributedGraph, distribute
from daskbfs.plotting.pictures import canvas, legend_above
from daskbfs.telemetry.views import COLOURS


def _implementations(bench: Bench) -> Observation:
    graph = bench.graph()
    placed: DistributedGraph = distribute(graph, bench.hybrid, strategy="mirror")
    try:
        source = int(graph.random_sources(1)[0])
        (search,) = time_levels(placed, [source], rounds=2, progress=bench.progress)
    finally:
        placed.release()
    figure, (panel,) = canvas(1, f"{graph.name} from {source}")
    figure.set_size_inches(7, 4.2)
    ways = list(Implementation)
    for n, way in enumerate(ways):
        at = [level + (n - 1.5) * 0.2 for level in range(len(search.levels))]
        times = [1e3 * level.seconds[way] for level in search.levels]
        hollow = {"facecolor": "white", "edgecolor": COLOURS[n], "hatch": "///"}
        style = hollow if way.on_mirrors else {"color": COLOURS[n]}
        panel.bar(at, times, 0.2, label=str(way), **style)
    panel.set_yscale("log")
    panel.set_xlabel("level")
    panel.set_ylabel("time in kernels (ms)")
    legend_above(panel, 4)
    adaptive = propose([search])[1]
    return Observation(
        f"With the configured numbers, kernels take {1e3 * adaptive.seconds_now:.2f} ms; with "
        f"numbers fitted to this machine {1e3 * adaptive.seconds_proposed:.2f} ms; the best way "
        f"for each level takes {1e3 * adaptive.seconds_best:.2f} ms. Hatched: on the GPU worker.",
        figure,
    )


def _per_watt(bench: Bench) -> Observation:
    bench.refuse_emulation()
    placed: DistributedGraph = distribute(bench.graph(), bench.hybrid, strategy="mirror")
    try:
        rates = {
            policy: bench.per_watt(functools.partial(bfs, placed, direction=policy), bench.hybrid)
            for policy in ("adaptive", "beamer")
        }
    finally:
        placed.release()
    told = ", ".join(f"{policy} {rate:.1f} MTEPS/W" for policy, rate in rates.items())
    return Observation(f"Component energy: {told}.")


EXPERIMENTS = (
    Experiment(
        "002",
        "Figure 1",
        "Which of TC, BC, BG and BGC is best changes from level to level; the best combination "
        "beats TC with BG by about 20 %.",
        _implementations,
        on_gpus=True,
    ),
    Experiment(
        "002",
        "Figure 2",
        "3.1 times the TEPS per watt of Daga's, and 1.6 times that of Yasui's.",
        _per_watt,
        on_gpus=True,
    ),
)
