"""What the commands share: options, one-line errors, and JSON that is written whole."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from daskbfs.types import Device

STRATEGIES = ("auto", "high", "low", "random")
_DRIVERS = ("auto", "direct", "resident", "waves")
_DIRECTIONS = ("beamer", "coordinator", "top_down", "bottom_up")
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
        help="Of the graph, of random sources, and of random cuts.  [default: 1; of "
        "kron-reference 2, which is the official graph]",
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


def number(seed: int | None) -> int:
    """The seed of sources and cuts."""
    return 1 if seed is None else seed


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that open a graph."""
    for option in reversed(_GRAPH_OPTIONS):
        command = option(command)
    return command


_CLUSTER_OPTIONS = (
    click.option(
        "--driver",
        type=click.Choice(_DRIVERS),
        default="auto",
        show_default=True,
        help="What runs the levels; direct is without Dask.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        help="CPU workers of a cluster started here; one lives in this process.  [default: 1]",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Search on this Dask cluster."),
    click.option(
        "--devices",
        metavar="KINDS",
        help="Workers of a cluster started here, for example cpu=1,gpu=2; gpu-emulated runs a "
        "GPU's kernels on the CPU.",
    ),
    click.option(
        "--cpu-share",
        type=click.FloatRange(0, 1),
        help="Of the edges, for CPUs beside GPUs.  [default: what does not fit these, or half]",
    ),
    click.option(
        "--strategy",
        type=click.Choice(STRATEGIES),
        default="auto",
        show_default=True,
        help="How vertices are dealt to partitions: the highest degrees to CPUs, the lowest, or "
        "any.",
    ),
    click.option(
        "--direction",
        type=click.Choice(_DIRECTIONS),
        help="How to choose between top-down and bottom-up.  [default: beamer]",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1),
        help="Threads of each worker's kernels.  [default: the cores, divided among workers]",
    ),
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that search, here or on a cluster."""
    for option in reversed(_CLUSTER_OPTIONS):
        command = option(command)
    return command


def require_one_cluster(
    driver: str, workers: int | None, scheduler: str | None, devices: str | None
) -> Sequence[Device]:
    """Refuse options that name two clusters; returns the devices of one to be started."""
    from daskbfs.types import parse_devices

    if scheduler and workers:
        raise click.UsageError("--scheduler and --workers exclude each other")
    if devices and (scheduler or workers):
        raise click.UsageError("--devices starts a cluster: leave --workers and --scheduler out")
    if driver == "direct" and (scheduler or workers or devices):
        raise click.UsageError(
            "--driver direct has no workers: leave --workers, --devices and --scheduler out"
        )
    return parse_devices(devices) if devices else ()


def speaker(quiet: bool, *, err: bool = False) -> Callable[[str], None]:
    """Print to standard output or standard error, or don't."""
    return (lambda text: None) if quiet else functools.partial(click.echo, err=err)


def write_json(report: dict[str, Any], file: str) -> None:
    """Write a report whole, or not at all."""
    text = json.dumps(report, indent=1) + "\n"
    if file == "-":
        sys.stdout.write(text)
        return
    from daskbfs.target import whole_file

    with whole_file(Path(file)) as target:
        target.write(text.encode())
