"""The panes of the page that draw: each shows one search, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    FactorRange,
    HoverTool,
    LinearAxis,
    LogScale,
    NumeralTickFormatter,
)
from bokeh.plotting import figure

from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import PHASES, LevelTable, direction_label
from daskbfs.telemetry.records import RunRecord, State
from daskbfs.telemetry.views import (
    BUSY_COLOUR,
    COLOURS,
    DEVICE_COLOURS,
    SHADE,
    WAIT_COLOUR,
    devices_of,
    levels_of,
    workers_of,
)

_HEIGHT = 300
_TOOLS = "pan,wheel_zoom,box_zoom,reset,save"
NO_LEVELS = LevelTable(())

Names = Mapping[str, str]
"""What people call a worker, by its address."""


def levels_shown(search: RunRecord | None) -> LevelTable:
    """The levels of a search, none where there is no search."""
    return NO_LEVELS if search is None else search.levels


def _figure(title: str, x: str, y: str, **options: Any) -> Any:
    made = figure(
        title=title,
        x_axis_label=x,
        y_axis_label=y,
        tools=_TOOLS,
        height=_HEIGHT,
        sizing_mode=options.pop("sizing_mode", "stretch_width"),
        **options,
    )
    made.toolbar.autohide = True
    made.xgrid.visible = False
    return made


def _legend(plot: Any, **options: Any) -> None:
    """Move the legend above the plot, where it hides nothing."""
    legend = plot.legend[0]
    legend.update(
        orientation="horizontal", border_line_alpha=0, padding=0, spacing=12, margin=0, **options
    )
    plot.add_layout(legend, "above")


class LevelsPane:
    """Time per level, stacked by device, bottom-up levels shaded: figure 4 of the paper, right."""

    def __init__(self, **options: Any) -> None:
        columns = ["level", "direction", "slowest", "left", "right", *map(str, Device)]
        self._source = ColumnDataSource({name: [] for name in columns}, name="levels-time")
        self._shades = ColumnDataSource({"left": [], "right": []})
        self.root = plot = _figure(
            "Time per level", "level", "time in kernels (ms, devices stacked)", **options
        )
        shade = plot.vstrip(
            x0="left",
            x1="right",
            source=self._shades,
            fill_color=SHADE,
            fill_alpha=0.18,
            line_alpha=0,
            legend_label="bottom-up",
        )
        bars = plot.vbar_stack(
            list(map(str, Device)),
            x="level",
            width=0.8,
            color=list(DEVICE_COLOURS.values()),
            line_alpha=0,  # a device that did nothing leaves no trace
            source=self._source,
            legend_label=["cpu", "gpu", "gpu-emulated (no GPU's time)"],
        )
        slowest = plot.segment(
            x0="left",
            x1="right",
            y0="slowest",
            y1="slowest",
            source=self._source,
            line_color="black",
            line_width=2,
            legend_label="slowest worker",
        )
        plot.y_range = DataRange1d(start=0, renderers=[*bars, slowest])
        plot.x_range = DataRange1d(renderers=[*bars], range_padding=0.02)
        plot.xaxis.ticker.min_interval = 1
        plot.xaxis.ticker.num_minor_ticks = 0
        tips = [("level", "@level"), ("direction", "@direction")]
        tips += [(str(device), f"@{{{device}}}{{0.000}} ms") for device in Device]
        tips.append(("slowest worker", "@slowest{0.000} ms"))
        plot.add_tools(HoverTool(tooltips=tips, renderers=[bars[0]], mode="vline"))
        _legend(plot)
        shade.level = "underlay"
        items = plot.legend[0].items
        self._legend_items = {
            device: next(item for item in items if bar in item.renderers)
            for device, bar in zip(Device, bars, strict=True)
        }

    def show(self, search: RunRecord | None, names: Names) -> None:
        """Show a search."""
        views = levels_of(levels_shown(search))
        data: dict[str, list[Any]] = {
            "level": [view.level for view in views],
            "direction": [direction_label(view.direction) for view in views],
            "slowest": [view.slowest_seconds * 1e3 for view in views],
            "left": [view.level - 0.4 for view in views],
            "right": [view.level + 0.4 for view in views],
        }
        for device in Device:
            data[str(device)] = [view.seconds.get(device, 0.0) * 1e3 for view in views]
        self._source.data = data
        upward = [view.level for view in views if view.direction is Direction.BOTTOM_UP]
        self._shades.data = {
            "left": [level - 0.5 for level in upward],
            "right": [level + 0.5 for level in upward],
        }
        there = devices_of(levels_shown(search)) or list(Device)
        for device, item in self._legend_items.items():
            item.visible = device in there


class FrontierPane:
    """Vertices of the frontier and their mean degree, per level: figure 1 of the paper."""

    def __init__(self, **options: Any) -> None:
        columns = ("level", "frontier", "degree")
        self._source = ColumnDataSource({name: [] for name in columns}, name="levels-frontier")
        self.root = plot = _figure(
            "Frontier", "level", "vertices in the frontier", y_axis_type="log", **options
        )
        size_options = {"source": self._source, "color": COLOURS[0], "legend_label": "vertices"}
        size = plot.line("level", "frontier", line_width=2, **size_options)
        dots = plot.scatter("level", "frontier", size=7, **size_options)
        plot.y_range = DataRange1d(renderers=[size])
        plot.x_range = DataRange1d(renderers=[size], range_padding=0.05)
        plot.extra_y_scales = {"degree": LogScale()}
        plot.extra_y_ranges = {"degree": DataRange1d()}
        degree_options = {
            "source": self._source,
            "y_range_name": "degree",
            "color": COLOURS[5],
            "legend_label": "mean degree",
        }
        degree = plot.line("level", "degree", line_width=2, line_dash="dashed", **degree_options)
        plot.scatter("level", "degree", size=8, marker="square", **degree_options)
        plot.extra_y_ranges["degree"].renderers = [degree]
        plot.add_layout(
            LinearAxis(
                y_range_name="degree",
                axis_label="mean degree of its vertices",
                ticker=plot.yaxis[0].ticker.clone(),
                formatter=NumeralTickFormatter(format="0,0.[0]"),
            ),
            "right",
        )
        plot.yaxis[0].formatter = NumeralTickFormatter(format="0,0.[0]")
        plot.xaxis.ticker.min_interval = 1
        plot.xaxis.ticker.num_minor_ticks = 0
        tips = [
            ("level", "@level"),
            ("vertices", "@frontier{0,0}"),
            ("mean degree", "@degree{0.0}"),
        ]
        plot.add_tools(HoverTool(tooltips=tips, renderers=[dots], mode="vline"))
        _legend(plot)

    def show(self, search: RunRecord | None, names: Names) -> None:
        """Show a search."""
        views = [view for view in levels_of(levels_shown(search)) if view.frontier_vertices]
        self._source.data = {
            "level": [view.level for view in views],
            "frontier": [view.frontier_vertices for view in views],
            "degree": [max(view.mean_degree, 0.01) for view in views],
        }


class PhasesPane:
    """Where the seconds of a search went: figure 3 of the paper."""

    def __init__(self, **options: Any) -> None:
        self._source = ColumnDataSource({"phase": [], "ms": [], "label": []}, name="phases")
        categories = [*PHASES, "elsewhere"]
        self.root = plot = _figure(
            "Where the time went",
            "time (ms)",
            "phase",
            y_range=FactorRange(*reversed(categories)),
            **options,
        )
        plot.x_range = DataRange1d(start=0, range_padding=0.3)  # room for the numbers
        plot.ygrid.visible = False
        plot.xgrid.visible = True
        plot.hbar(y="phase", right="ms", height=0.7, source=self._source, color=COLOURS[0])
        plot.text(
            x="ms",
            y="phase",
            text="label",
            x_offset=5,
            text_baseline="middle",
            text_font_size="11px",
            source=self._source,
        )

    def show(self, search: RunRecord | None, names: Names) -> None:
        """Show a search; what belongs to no phase was on the way there and back.

        Before its end, only the kernels' time is known.
        """
        seconds: dict[str, float] = {}
        if search is not None:
            over = search.state is State.DONE
            seconds = search.phases.to_dict() if over else {"compute": search.kernel_seconds}
            seconds["elsewhere"] = max(0.0, search.seconds - sum(seconds.values()))
        self._source.data = {
            "phase": list(seconds),
            "ms": [value * 1e3 for value in seconds.values()],
            "label": [f"{value * 1e3:,.2f}" for value in seconds.values()],
        }


class WorkersPane:
    """How long each worker was in its kernels, and how long it waited for the slowest."""

    _row_height = 16

    def __init__(self, **options: Any) -> None:
        columns = ("worker", "device", "busy", "wait", "edges", "bytes")
        self._source = ColumnDataSource({name: [] for name in columns}, name="workers")
        self._grows = "sizing_mode" not in options
        self.root = plot = _figure(
            "Workers: busy and waiting", "time (ms)", "worker", y_range=FactorRange(), **options
        )
        plot.x_range = DataRange1d(start=0)
        plot.ygrid.visible = False
        plot.xgrid.visible = True
        bars = plot.hbar_stack(
            ["busy", "wait"],
            y="worker",
            height=0.75,
            color=[BUSY_COLOUR, WAIT_COLOUR],
            source=self._source,
            legend_label=["busy in kernels", "waiting for the slowest"],
        )
        tips = [
            ("worker", "@worker"),
            ("device", "@device"),
            ("busy", "@busy{0.000} ms"),
            ("waiting", "@wait{0.000} ms"),
            ("edges examined", "@edges{0,0}"),
            ("bytes received", "@bytes{0,0}"),
        ]
        plot.add_tools(HoverTool(tooltips=tips, renderers=bars))
        _legend(plot)

    def show(self, search: RunRecord | None, names: Names) -> None:
        """Show a search."""
        views = workers_of(levels_shown(search))
        labels = [names.get(view.worker, view.worker) for view in views]
        self._source.data = {
            "worker": labels,
            "device": [str(view.device) for view in views],
            "busy": [view.busy_seconds * 1e3 for view in views],
            "wait": [view.wait_seconds * 1e3 for view in views],
            "edges": [view.edges_examined for view in views],
            "bytes": [view.exchanged_bytes for view in views],
        }
        self.root.y_range.factors = labels[::-1]
        if self._grows:
            self.root.height = max(_HEIGHT, 90 + self._row_height * len(views))
