"""Pictures of searches: figures 1, 3 and 4 of Sallinen, Gharaibeh and Ripeanu, from our records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daskbfs.names import Device, Direction
from daskbfs.plotting.pictures import canvas, legend_above, plain
from daskbfs.telemetry.levels import PHASES, LevelTable
from daskbfs.telemetry.views import COLOURS, DEVICE_COLOURS, SHADE, LevelView, devices_of, levels_of

_EMULATED = "gpu-emulated (no GPU's time)"
_MANY_LEVELS = 60  # more of them are drawn as steps, not as bars, and without markers


def search_figure(levels: LevelTable, title: str) -> Any:
    """Time per level by device, and the frontier: what ``result.plot()`` shows."""
    figure, (left, right) = canvas(2, title)
    draw_devices(left, levels)
    draw_frontier(right, levels)
    return figure


def degree_figure(levels: LevelTable, title: str) -> Any:
    """Time per level, and the mean degree of the frontier: figure 1."""
    figure, (panel,) = canvas(1, title)
    views = levels_of(levels)
    _shade(panel, views)
    times = [view.slowest_seconds * 1e3 for view in views]
    _bars(panel, views, times, [0.0] * len(views), COLOURS[0], "time")
    panel.set_ylabel("time of the slowest worker (ms)")
    panel.set_xlabel("level")
    line = _second_axis(panel, views)
    legend_above(panel, 3, [line])
    return figure


def draw_devices(panel: Any, levels: LevelTable) -> None:
    """Time per level, stacked by device, bottom-up levels shaded: figure 4, right."""
    views = levels_of(levels)
    _shade(panel, views)
    below = [0.0] * len(views)
    for device in devices_of(levels):
        times = [view.seconds.get(device, 0.0) * 1e3 for view in views]
        label = _EMULATED if device is Device.GPU_EMULATED else str(device)
        _bars(panel, views, times, below, DEVICE_COLOURS[device], label)
        below = [low + more for low, more in zip(below, times, strict=True)]
    if len({record.worker for record in levels}) > 1:
        slowest = [view.slowest_seconds * 1e3 for view in views]
        at = [view.level for view in views]
        panel.hlines(
            slowest, [x - 0.4 for x in at], [x + 0.4 for x in at], "black", label="slowest worker"
        )
    panel.set_xlabel("level")
    panel.set_ylabel("time in kernels (ms, devices stacked)")
    legend_above(panel, 3)


def draw_frontier(panel: Any, levels: LevelTable) -> None:
    """Vertices of the frontier, and their mean degree."""
    views = [view for view in levels_of(levels) if view.frontier_vertices]
    at = [view.level for view in views]
    marker = "o" if len(views) <= _MANY_LEVELS else ""
    sizes = [view.frontier_vertices for view in views]
    panel.plot(at, sizes, marker=marker, color=COLOURS[0], label="vertices")
    panel.set_yscale("log")
    panel.set_xlabel("level")
    panel.set_ylabel("vertices in the frontier")
    _whole_levels(panel)
    legend_above(panel, 2, [_second_axis(panel, views)])


def phases_figure(runs: Mapping[str, Sequence[Mapping[str, Any]]], title: str) -> Any:
    """Where the time of some runs went, means over their trials: figure 3."""
    figure, (panel,) = canvas(1, title)
    figure.set_size_inches(9.2, 1.6 + 0.6 * len(runs))
    names = list(runs)
    starts = [0.0] * len(names)
    for phase, colour in zip([*PHASES, "elsewhere"], [*COLOURS, SHADE], strict=True):
        times = [1e3 * _mean(runs[name], phase) for name in names]
        panel.barh(range(len(names)), times, left=starts, color=colour, label=phase)
        starts = [start + more for start, more in zip(starts, times, strict=True)]
    panel.set_yticks(range(len(names)), [plain(name) for name in names])
    panel.invert_yaxis()
    panel.grid(axis="y", visible=False)
    panel.grid(axis="x", alpha=0.3)
    panel.set_xlabel("time of a search (ms)")
    legend_above(panel, 7)
    return figure


def _mean(trials: Sequence[Mapping[str, Any]], phase: str) -> float:
    def seconds(trial: Mapping[str, Any]) -> float:
        if phase == "elsewhere":
            return max(0.0, float(trial["seconds"]) - sum(trial["phases"].values()))
        return float(trial["phases"][phase])

    return sum(map(seconds, trials)) / len(trials)


def runs_figure(runs: Mapping[str, LevelTable], title: str) -> Any:
    """Time per level of some runs: figure 4, left."""
    figure, (panel,) = canvas(1, title)
    figure.set_size_inches(7.0, 4.2)
    width = 0.8 / len(runs)
    for i, (name, levels) in enumerate(runs.items()):
        views = levels_of(levels)
        times = [view.slowest_seconds * 1e3 for view in views]
        shift = (i - (len(runs) - 1) / 2) * width
        at = [view.level + shift for view in views]
        panel.bar(at, times, width, label=plain(name), color=COLOURS[i % len(COLOURS)])
    panel.set_xlabel("level")
    panel.set_ylabel("time of the slowest worker (ms)")
    _whole_levels(panel)
    legend_above(panel, 2)
    return figure


def rates_figure(runs: Mapping[str, Sequence[float]], title: str) -> Any:
    """Rates of all trials of some runs, and their harmonic means."""
    figure, (panel,) = canvas(1, title)
    figure.set_size_inches(9.2, 1.6 + 0.6 * len(runs))
    for i, rates in enumerate(runs.values()):
        there = [rate / 1e9 for rate in rates]
        panel.plot(
            there, [i] * len(there), "o", alpha=0.4, color=COLOURS[0], label=_once(i, "trial")
        )
        mean = len(there) / sum(1 / rate for rate in there)
        panel.plot([mean], [i], "D", color=COLOURS[5], label=_once(i, "harmonic mean"))
    panel.set_yticks(range(len(runs)), [plain(name) for name in runs])
    panel.set_ylim(len(runs) - 0.5, -0.5)
    panel.set_xlim(left=0)
    panel.set_xlabel("rate (GTEPS, end to end)")
    legend_above(panel, 2)
    return figure


def _once(i: int, label: str) -> str:
    """A label for the first of several."""
    return label if i == 0 else "_"


def _bars(
    panel: Any,
    views: Sequence[LevelView],
    heights: Sequence[float],
    below: Sequence[float],
    colour: str,
    label: str,
) -> None:
    at = [view.level for view in views]
    if len(views) <= _MANY_LEVELS:
        panel.bar(at, heights, 0.8, below, color=colour, label=label)
    else:
        tops = [low + more for low, more in zip(below, heights, strict=True)]
        panel.fill_between(at, below, tops, step="mid", color=colour, linewidth=0, label=label)
    _whole_levels(panel)


def _shade(panel: Any, views: Sequence[LevelView]) -> None:
    """Mark the levels that were searched bottom-up."""
    label = "bottom-up"
    for first, last in _runs([v.level for v in views if v.direction is Direction.BOTTOM_UP]):
        panel.axvspan(first - 0.5, last + 0.5, color=SHADE, alpha=0.18, linewidth=0, label=label)
        label = "_"


def _runs(levels: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each row of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for level in levels:
        if runs and runs[-1][1] == level - 1:
            runs[-1] = (runs[-1][0], level)
        else:
            runs.append((level, level))
    return runs


def _second_axis(panel: Any, views: Sequence[LevelView]) -> Any:
    """Draw the mean degree of the frontier against an axis on the right."""
    there = [view for view in views if view.mean_degree > 0]
    right = panel.twinx()
    right.spines["top"].set_visible(False)
    marker = "s" if len(there) <= _MANY_LEVELS else ""
    (line,) = right.plot(
        [view.level for view in there],
        [view.mean_degree for view in there],
        linestyle="--",
        marker=marker,
        color=COLOURS[5],
        label="mean degree",
    )
    right.set_yscale("log")
    right.set_ylabel("mean degree of the frontier's vertices")
    return line


def _whole_levels(panel: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
