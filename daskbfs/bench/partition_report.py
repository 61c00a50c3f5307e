"""How a graph would be cut for some devices: ``daskbfs partition``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dask.utils import parse_bytes

from daskbfs import __version__
from daskbfs.bench.trials import graph_record
from daskbfs.graph.graph import Graph
from daskbfs.machine import hardware
from daskbfs.names import Device, parse_devices
from daskbfs.partition.plan import Wish, choose_cut
from daskbfs.partition.statistics import survey
from daskbfs.partition.strategy import check_share
from daskbfs.plotting.pictures import canvas, legend_above
from daskbfs.telemetry.views import COLOURS


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What a user wants to see cut: how, and for what."""

    wish: Wish
    devices: tuple[Device, ...]
    other_bytes: int | None
    """Memory of each accelerator."""

    @classmethod
    def of(
        cls,
        strategy: str,
        devices: str,
        cpu_share: str | None,
        gpu_memory: str | None,
        algorithm: str,
        seed: int,
    ) -> PartitionPlan:
        """The plan behind some words."""
        memory = None if gpu_memory is None else _bytes(gpu_memory)
        if cpu_share == "fit" and memory is None:
            raise ValueError("cpu_share 'fit' needs to know what fits: give --gpu-memory")
        fit = cpu_share is None or cpu_share == "fit"
        share = None if fit else check_share(_number(str(cpu_share)))
        wish = Wish(strategy, seed, share, algorithm)
        return cls(wish, tuple(parse_devices(devices)), memory)


def _bytes(text: str) -> int:
    try:
        return int(parse_bytes(text))
    except ValueError:
        raise ValueError(f"{text!r} is no amount of memory: write, for example, 16GiB") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"cpu_share {text!r} is neither a share, from 0 to 1, nor 'fit'") from None


def examine(graph: Graph, plan: PartitionPlan) -> dict[str, Any]:
    """Cut a graph, on paper, and look at the partitions."""
    start = time.perf_counter()
    cutting = choose_cut(graph, plan.devices, plan.wish, plan.other_bytes)
    layout = cutting.lay_out(graph)
    seconds = time.perf_counter() - start
    partitions = [found.to_dict() for found in survey(graph, layout, plan.devices)]
    return {
        "daskbfs": __version__,
        "machine": hardware.describe(),
        "graph": graph_record(graph, graph.nbytes),
        "strategy": cutting.strategy,
        "why": cutting.why,
        "cpu_share": sum(p["edge_share"] for p in partitions[: cutting.n_cpu]),
        "choosing_seconds": seconds,
        "last_level_cache_bytes": hardware.last_level_cache_bytes(),
        "partitions": partitions,
    }


_COLUMNS = (
    ("partition", "partition", "{}"),
    ("device", "device", "{}"),
    ("vertices", "n_vertices", "{:,}"),
    ("share", "vertex_share", "{:.1%}"),
    ("edges", "n_edges", "{:,}"),
    ("share", "edge_share", "{:.1%}"),
    ("mean degree", "mean_degree", "{:.1f}"),
    ("largest", "max_degree", "{:,}"),
    ("boundary edges", "boundary_edges", "{:,}"),
    ("aggregated", "aggregated_messages", "{:,}"),
    ("memory", "bytes", ""),
    ("bitmap", "bitmap_bytes", ""),
)


def format_report(report: dict[str, Any]) -> str:
    """What a person wants to know of it."""
    rows = [[title for title, _, _ in _COLUMNS], *map(_cells, report["partitions"])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    crossing, messages = _totals(report["partitions"])
    if crossing:
        lines.append("")
        lines.append(
            f"Of {crossing:,} boundary edges, {messages:,} messages are left after aggregation "
            f"({messages / crossing:.1%})."
        )
    cache = report["last_level_cache_bytes"]
    if cache is not None:
        largest = max(found["bitmap_bytes"] for found in report["partitions"])
        word = "fits" if largest <= cache else "does not fit"
        lines.append(
            f"The largest visited bitmap, {hardware.human_bytes(largest)}, {word} the last-level "
            f"cache of this machine's CPU, {hardware.human_bytes(cache)}."
        )
    lines.append(f"Strategy {report['strategy']}: {report['why']}.")
    return "\n".join(lines)


def _cells(found: dict[str, Any]) -> list[str]:
    """What the table shows of a partition."""
    return [
        form.format(found[key]) if form else hardware.human_bytes(found[key])
        for _, key, form in _COLUMNS
    ]


def _totals(partitions: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Messages without aggregation and with it."""
    crossing = sum(found["boundary_edges"] for found in partitions)
    return crossing, sum(found["aggregated_messages"] for found in partitions)


def picture(report: dict[str, Any]) -> Any:
    """The same as a picture."""
    partitions = report["partitions"]
    names = [f"{found['partition']}\n{found['device']}" for found in partitions]
    title = f"{report['graph']['name']}: strategy {report['strategy']}, "
    figure, panels = canvas(3, f"{title}{report['cpu_share']:.0%} of the edges on CPUs")
    groups = (
        (
            "share of the graph (%)",
            [("vertices", "vertex_share", 100.0), ("edges", "edge_share", 100.0)],
        ),
        (
            "messages per full exchange (thousands)",
            [
                ("boundary edges", "boundary_edges", 1e-3),
                ("aggregated", "aggregated_messages", 1e-3),
            ],
        ),
        ("memory (MiB)", [("partition and one search", "bytes", 2.0**-20)]),
    )
    for panel, (label, bars) in zip(panels, groups, strict=True):
        width = 0.8 / len(bars)
        for i, (name, key, factor) in enumerate(bars):
            places = [p + (i - (len(bars) - 1) / 2) * width for p in range(len(partitions))]
            heights = [factor * found[key] for found in partitions]
            panel.bar(places, heights, width, label=name, color=COLOURS[i])
        panel.set_xticks(range(len(partitions)), names)
        panel.set_xlabel("partition and its device")
        panel.set_ylabel(label)
        if len(bars) > 1:
            legend_above(panel, 2)
    return figure
