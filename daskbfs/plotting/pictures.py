"""What all pictures share: a canvas, text that stays text, and a file."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from daskbfs.machine.atomic_file import require_target, whole_file
from daskbfs.machine.devices import require_package


def require_matplotlib() -> None:
    """Refuse to draw without matplotlib, with the way out."""
    require_package("matplotlib", "plot", "drawing pictures")


def check_picture(file: str | Path) -> None:
    """Refuse a picture that cannot be drawn, before any work is done for it."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    suffix = Path(file).suffix.removeprefix(".").lower()
    if suffix not in FigureCanvasAgg.get_supported_filetypes():
        raise ValueError(f"{file} has no suffix of a picture: name it .png, .svg or .pdf")
    require_target(Path(file))


@functools.cache
def _picture_class() -> type:
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that notebooks show, without pyplot and its global state."""

        def _repr_png_(self) -> bytes:
            return render(self, "png")

    return Picture


def canvas(n_panels: int, title: str) -> tuple[Any, list[Any]]:
    """A figure with panels beside each other."""
    figure = _picture_class()(figsize=(4.6 * n_panels, 4.2), layout="constrained")
    figure.suptitle(plain(title))
    panels = [figure.add_subplot(1, n_panels, i + 1) for i in range(n_panels)]
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
    return figure, panels


def legend_above(panel: Any, n_columns: int, extra: Iterable[Any] = ()) -> None:
    """A legend above a panel, where it hides nothing, also for what other axes have drawn."""
    handles = [*panel.get_legend_handles_labels()[0], *extra]
    panel.legend(
        handles=handles,
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=n_columns,
        fontsize="small",
    )


def plain(text: str) -> str:
    """Text as matplotlib shows it to the letter: a pair of dollars would be mathematics."""
    return text.replace("$", r"\$")


def render(figure: Any, form: str) -> bytes:
    """A figure as the bytes of a picture."""
    target = io.BytesIO()
    figure.savefig(target, format=form, dpi=150)
    return target.getvalue()


def save(figure: Any, file: str | Path) -> None:
    """Write a figure; the suffix tells the format."""
    with whole_file(Path(file)) as target:
        target.write(render(figure, Path(file).suffix.removeprefix(".").lower()))
