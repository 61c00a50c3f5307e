"""What all pictures share: a canvas, colours that everybody can tell apart, and a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Okabe and Ito's, which colour-blind people can tell apart."""


def check_picture(file: str) -> None:
    """Refuse a picture that cannot be drawn, before any work is done for it."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError:
        raise RuntimeError(
            "pictures need matplotlib: pip install 'daskbfs[plot]', or leave --plot out"
        ) from None
    suffix = Path(file).suffix.removeprefix(".").lower()
    if suffix not in FigureCanvasAgg.get_supported_filetypes():
        raise ValueError(f"{file} has no suffix of a picture: name it .png, .svg or .pdf")


def canvas(n_panels: int, title: str) -> tuple[Any, list[Any]]:
    """A figure with panels beside each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * n_panels, 4.2), layout="constrained")
    figure.suptitle(title)
    panels = [figure.add_subplot(1, n_panels, i + 1) for i in range(n_panels)]
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
    return figure, panels


def save(figure: Any, file: str) -> None:
    """Write a figure; the suffix tells the format."""
    figure.savefig(file, dpi=150)
