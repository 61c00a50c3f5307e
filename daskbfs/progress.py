"""Telling how far long work has come: a callback on the way down, bars at the top."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

Progress = Callable[[str, int, int], None]
"""Called as progress(phase, done, total); total 0 means that nobody knows."""


def silent(phase: str, done: int, total: int) -> None:
    """Tell nobody."""


@contextlib.contextmanager
def bars(*, quiet: bool = False) -> Iterator[Progress]:
    """Progress bars on standard error; silent when that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield silent
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console, transient=True) as display:
        tasks: dict[str, int] = {}

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = display.add_task(phase, total=total or None)
            display.update(tasks[phase], completed=done, total=total or None)  # type: ignore[arg-type]

        yield show
