"""Telling how far long work has come: a callback on the way down, bars at the top.

Work in other processes is posted on a board there, which whoever waits for it can ask for.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

Progress = Callable[[str, int, int], None]
"""Called as progress(phase, done, total); total 0 means that nobody knows."""


def silent(phase: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """How far some work has come."""

    phase: str
    done: int
    total: int


_board: dict[str, Standing] = {}


@contextlib.contextmanager
def posted(work: str) -> Iterator[Progress]:
    """Progress that is posted on this process's board, for as long as the work goes on."""

    def post(phase: str, done: int, total: int) -> None:
        _board[work] = Standing(phase, done, total)

    try:
        yield post
    finally:
        _board.pop(work, None)


def board(prefix: str) -> dict[str, Standing]:
    """How far the works have come that go on in this process and have names that begin so."""
    return {work: now for work, now in list(_board.items()) if work.startswith(prefix)}


class Chorus:
    """The same work in several places, told as one."""

    def __init__(self, n_places: int, progress: Progress) -> None:
        self._n_places = n_places
        self._progress = progress
        self._phases: dict[str, dict[str, Standing]] = {}

    def hear(self, place: str, now: Standing) -> None:
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
