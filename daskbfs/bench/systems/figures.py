"""Pictures of systems side by side: figures 15 to 19 of SEI's note, from our rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from daskbfs.bench.systems.race import Row, by_graph
from daskbfs.plotting.pictures import canvas, legend_above, plain
from daskbfs.telemetry.views import COLOURS

_MARKS = ("o", "s", "^", "D", "v", "P")
_EMULATED = "hollow or hatched: emulated, no GPU's time"


def picture(rows: Sequence[Row]) -> Any:
    """All that the rows allow: curves over scales, or bars on one graph; and effort."""
    there = [row for row in rows if row.harmonic_mean_teps]
    if not there:
        raise ValueError("no system came to a rate, so there is nothing to draw")
    graphs = list(by_graph(there))
    if len({row.scale for row in there}) > 1:
        return _curves(there, f"{graphs[0]} to {graphs[-1]}")
    return _bars(there, graphs[0])


def _curves(rows: Sequence[Row], title: str) -> Any:
    """Both kernels over scales (figures 15 to 18), and the largest scale against effort (19)."""
    figure, panels = canvas(3, title)
    names = list(dict.fromkeys(row.name for row in rows))
    figure.set_size_inches(15, 4.6 + 0.09 * len(names))
    largest = max(row.scale or 0 for row in rows)
    styles = itertools.cycle(itertools.product(_MARKS, COLOURS))
    for name, (mark, colour) in zip(names, styles, strict=False):
        mine = [row for row in rows if row.name == name]
        style = _style(mine[0], mark, colour)
        scales = [row.scale for row in mine]
        panels[0].plot(scales, [row.kernel1_seconds for row in mine], label=name, **style)
        panels[1].plot(scales, [_gteps(row) for row in mine], label=name, **style)
        if mine[-1].source_lines and mine[-1].scale == largest:
            panels[2].plot([mine[-1].source_lines], [_gteps(mine[-1])], label=name, **style)
    for panel, label in zip(panels[:2], ("Kernel 1 (s)", "Kernel 2 (GTEPS)"), strict=True):
        _scale_axis(panel, rows, label)
        panel.set_yscale("log")
    _effort_axes(panels[2], f"scale {largest}")
    figure.legend(
        *panels[1].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize="small",
    )
    _note(figure, rows)
    return figure


def _bars(rows: Sequence[Row], title: str) -> Any:
    """Kernels and memory of each system on one graph, and its rate against effort."""
    figure, panels = canvas(4, title)
    figure.set_size_inches(17, 2.4 + 0.24 * len(rows))
    columns = (
        ("Kernel 1 (s)", [row.kernel1_seconds or 0.0 for row in rows]),
        ("Kernel 2 (GTEPS)", [_gteps(row) for row in rows]),
        ("peak memory (GiB)", [(row.peak_bytes or 0) / 2**30 for row in rows]),
    )
    for panel, colour, (label, values) in zip(panels[:3], COLOURS[:3], columns, strict=True):
        _bar_for_each(panel, rows, values, colour)
        panel.set_xlabel(label)
    for panel in panels[:2]:
        panel.set_xscale("log")
    for panel in panels[1:3]:
        panel.tick_params(labelleft=False)
    counted = [row for row in rows if row.source_lines]
    for row in counted:
        panels[3].plot([row.source_lines], [_gteps(row)], **_style(row, "o", COLOURS[5]))
    best = {row.source_lines: row for row in sorted(counted, key=_gteps)}
    for lines, row in best.items():  # of those with equal effort, the fastest has its name there
        panels[3].annotate(plain(row.name), (lines, _gteps(row)), fontsize="x-small")
    _effort_axes(panels[3], "effort")
    _note(figure, rows)
    return figure


def _bar_for_each(panel: Any, rows: Sequence[Row], values: Sequence[float], colour: str) -> None:
    """A named bar for each system, hatched where it is emulated."""
    drawn = panel.barh(range(len(rows)), values, color=colour)
    for bar, row in zip(drawn, rows, strict=True):
        if row.emulated:
            bar.set(facecolor="white", edgecolor=colour, hatch="///")
    panel.set_yticks(range(len(rows)), [plain(row.name) for row in rows])
    panel.invert_yaxis()
    panel.grid(axis="y", visible=False)
    panel.grid(axis="x", alpha=0.3)


def _scale_axis(panel: Any, rows: Sequence[Row], label: str) -> None:
    panel.set_xlabel("scale (2**scale vertices)")
    panel.set_ylabel(label)
    panel.set_xticks(sorted({row.scale for row in rows if row.scale is not None}))


def _gteps(row: Row) -> float:
    return (row.harmonic_mean_teps or 0.0) / 1e9


def _style(row: Row, mark: str, colour: str) -> dict[str, Any]:
    """Emulated devices are drawn hollow: their time is no GPU's."""
    face = "white" if row.emulated else colour
    return {
        "marker": mark,
        "color": colour,
        "markerfacecolor": face,
        "linestyle": ":" if row.emulated else "-",
    }


def _effort_axes(panel: Any, title: str) -> None:
    panel.set_title(title, fontsize="medium")
    panel.set_xlabel("source lines")
    panel.set_ylabel("Kernel 2 (GTEPS)")
    panel.set_xscale("log")
    panel.set_yscale("log")


def _note(figure: Any, rows: Sequence[Row]) -> None:
    if any(row.emulated for row in rows):
        figure.text(0.995, 0.995, _EMULATED, ha="right", va="top", fontsize="small")


def rates_side_by_side(rows: Sequence[Row], title: str) -> Any:
    """The rate of each system on one graph."""
    figure, (panel,) = canvas(1, title)
    figure.set_size_inches(7, 1.6 + 0.28 * len(rows))
    _bar_for_each(panel, rows, [_gteps(row) for row in rows], COLOURS[0])
    panel.set_xlabel("Kernel 2 (GTEPS)")
    _note(figure, rows)
    return figure


def rates_over_scales(rows: Sequence[Row], title: str) -> Any:
    """The rate of each system over scales."""
    figure, (panel,) = canvas(1, title)
    figure.set_size_inches(7, 4.2)
    for n, name in enumerate(dict.fromkeys(row.name for row in rows)):
        mine = [row for row in rows if row.name == name]
        style = _style(mine[0], _MARKS[n % len(_MARKS)], COLOURS[n % len(COLOURS)])
        panel.plot([row.scale for row in mine], [_gteps(row) for row in mine], label=name, **style)
    _scale_axis(panel, rows, "Kernel 2 (GTEPS)")
    legend_above(panel, 3)
    _note(figure, rows)
    return figure
