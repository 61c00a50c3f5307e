"""What the commands share: options, one-line errors, and JSON that is written whole."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

STRATEGIES = ("auto", "high", "low", "random")
FORMATS = (
    "edge-list", "dimacs", "gap", "graph500", "graph500-unpacked", "matrix-market", "metis",
)  # fmt: skip
_SHOWN_ERRORS = (ValueError, TypeError, MemoryError, OSError, RuntimeError)


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show errors that users can mend as one line, not as a traceback."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except _SHOWN_ERRORS as error:
            raise click.ClickException(str(error)) from error

    return wrapped


_GRAPH_OPTIONS = (
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        help="Of the graph, of random sources, and of random cuts.",
    ),
    click.option(
        "--edgefactor",
        type=click.IntRange(1),
        default=16,
        show_default=True,
        help="Edges per vertex of generated graphs.",
    ),
    click.option("--directed", is_flag=True, help="Keep the directions of a file's edges."),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="What the file is.  [default: what its suffix tells]",
    ),
)


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that open a graph."""
    for option in reversed(_GRAPH_OPTIONS):
        command = option(command)
    return command


def speaker(quiet: bool) -> Callable[[str], None]:
    """Print, or don't."""
    return (lambda text: None) if quiet else click.echo


def write_json(report: dict[str, Any], file: str) -> None:
    """Write a report whole, or not at all."""
    text = json.dumps(report, indent=1) + "\n"
    if file == "-":
        sys.stdout.write(text)
        return
    from daskbfs.target import whole_file

    with whole_file(Path(file)) as target:
        target.write(text.encode())
