"""What the command lines of benchmarks share: options, and the file that ``--json`` names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from daskbfs import __version__
from daskbfs.machine import hardware

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

json_option = click.option(
    "--json", "json_file", type=click.Path(), help="Write the figures to this file."
)
quiet_option = click.option("--quiet", is_flag=True, help="No progress bars.")


def scale_option(default: int) -> Decorator:
    """The option ``--scale`` of a benchmark on one Kronecker graph."""
    return click.option("--scale", type=int, default=default, show_default=True)


def rounds_option(default: int) -> Decorator:
    """The option ``--rounds`` of a benchmark that times everything so often."""
    return click.option("--rounds", type=click.IntRange(1), default=default, show_default=True)


def some_option(name: str, variable: str, choices: Sequence[str], help: str) -> Decorator:
    """An option that may be repeated, for some of the names that there are."""
    return click.option(name, variable, type=click.Choice(choices), multiple=True, help=help)


def timing_options(*, scale: int, rounds: int) -> Decorator:
    """The options of a benchmark that times some ways on one Kronecker graph, and no others."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (quiet_option, json_option, rounds_option(rounds), scale_option(scale)):
            command = option(command)
        return command

    return decorate


def write_report(figures: Mapping[str, Any], json_file: str | None) -> None:
    """Write figures, and the machine that they are of, to the file of ``--json``, if any."""
    if json_file:
        report = {"daskbfs": __version__, "machine": hardware.describe(), **figures}
        Path(json_file).write_text(json.dumps(report, indent=1) + "\n")
