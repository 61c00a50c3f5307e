"""Telling how far long work has come: a callback on the way down, bars at the top.

A worker publishes how far its work has come in its own process, where the client asks for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast

Progress = Callable[[str, int, int], None]
"""Called as progress(phase, done, total); total 0 means that it is unknown."""


def silent(phase: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """How far some work has come."""

    phase: str
    done: int
    total: int


_published: dict[str, Standing] = {}


@contextlib.contextmanager
def publish_progress(work: str) -> Iterator[Progress]:
    """A callback whose news this process keeps for others to read, as long as the work goes on."""

    def publish(phase: str, done: int, total: int) -> None:
        _published[work] = Standing(phase, done, total)

    try:
        yield publish
    finally:
        _published.pop(work, None)


def published_progress(prefix: str) -> dict[str, Standing]:
    """How far work in this process has come, by its name: all whose name begins so."""
    return {work: now for work, now in list(_published.items()) if work.startswith(prefix)}


class JoinedProgress:
    """The same work in several places, reported to one callback as one."""

    def __init__(self, n_places: int, progress: Progress) -> None:
        self._n_places = n_places
        self._progress = progress
        self._phases: dict[str, dict[str, Standing]] = {}

    def update(self, place: str, now: Standing) -> None:
        """Take in how far the work has come in one place."""
        for phase, standings in self._phases.items():
            if phase != now.phase and place in standings:  # it has gone on from there
                last = standings[place]
                standings[place] = Standing(phase, last.total, last.total)
        self._phases.setdefault(now.phase, {})[place] = now
        for phase, standings in self._phases.items():
            there = standings.values()
            total = sum(standing.total for standing in there) * self._n_places // len(there)
            self._progress(phase, sum(standing.done for standing in there), total)


current: Progress | None = None
"""The callback for work of this process that was passed none."""


@contextlib.contextmanager
def bars(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on standard error, for one phase at a time; none where that is no terminal.

    What is printed meanwhile stands above the bar, and the last bar goes away.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    console = Console(file=sys.stderr)
    if quiet or not console.is_terminal:
        yield silent
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    display = RichProgress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    )
    phases: list[str] = []
    lock = threading.Lock()

    def show(phase: str, done: int, total: int) -> None:
        text = phase if total or not done else f"{phase} ({done})"
        amount = {"completed": done, "total": total or None}
        with lock:
            if phases != [phase]:
                for task in display.task_ids:
                    display.remove_task(task)
                display.add_task(text, **amount)  # type: ignore[arg-type]
                phases[:] = [phase]
            else:
                display.update(display.task_ids[0], description=text, **amount)  # type: ignore[arg-type]

    global current
    before, current = current, show
    try:
        with (
            contextlib.redirect_stdout(cast(TextIO, _Above(display, sys.stdout))),
            contextlib.redirect_stderr(cast(TextIO, _Above(display, sys.stderr))),
            display,
        ):
            yield show
    finally:
        current = before


class _Above:
    """A standard stream that hides the bar while something is written to it."""

    def __init__(self, display: Any, stream: TextIO) -> None:
        self._display = display
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text above the bar."""
        self._display.stop()
        try:
            return self._stream.write(text)
        finally:
            self._stream.flush()
            if text.endswith("\n"):  # else the line goes on
                self._display.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
