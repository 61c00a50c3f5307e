"""The command line: ``daskbfs`` and, as a plug-in of Dask's, ``dask bfs``.

Dask loads this module with each of its commands, so whatever is heavy is imported inside.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from daskbfs import __version__

if TYPE_CHECKING:
    from daskbfs.result import BFSResult

_DRIVERS = ("auto", "direct", "resident", "waves")
_DIRECTIONS = ("beamer", "coordinator", "top_down", "bottom_up")
_STRATEGIES = ("auto", "high", "low", "random")
_ALGORITHMS = ("bfs", "pagerank")
_FORMATS = ("edge-list", "dimacs", "gap", "matrix-market", "metis")
_WRITTEN_FORMATS = ("edge-list", "gap")
_SHOWN_ERRORS = (ValueError, TypeError, MemoryError, OSError, RuntimeError)


def _plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
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
        type=click.Choice(_FORMATS),
        help="What the file is.  [default: what its suffix tells]",
    ),
)


def _graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that open a graph."""
    for option in reversed(_GRAPH_OPTIONS):
        command = option(command)
    return command


@click.group("bfs", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="daskbfs")
def main() -> None:
    """Breadth-first search across CPUs and GPUs, on Dask."""


@main.command()
@click.argument("graph")
@click.option("--source", "sources", type=int, multiple=True, help="Start here; may be repeated.")
@click.option(
    "--sources", "n_sources", type=click.IntRange(1), help="Start from so many random vertices."
)
@_graph_options
@click.option(
    "--driver",
    type=click.Choice(_DRIVERS),
    default="auto",
    show_default=True,
    help="What runs the levels; direct is without Dask.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="CPU workers of a cluster started here; one lives in this process.  [default: 1]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Search on this Dask cluster.")
@click.option(
    "--devices",
    metavar="KINDS",
    help="Workers of a cluster started here, for example cpu=1,gpu=2; gpu-emulated runs a GPU's "
    "kernels on the CPU.",
)
@click.option(
    "--cpu-share",
    type=click.FloatRange(0, 1),
    help="Of the edges, for CPUs beside GPUs.  [default: what does not fit these, or half]",
)
@click.option(
    "--strategy",
    type=click.Choice(_STRATEGIES),
    default="auto",
    show_default=True,
    help="How vertices are dealt to partitions: the highest degrees to CPUs, the lowest, or any.",
)
@click.option(
    "--direction",
    type=click.Choice(_DIRECTIONS),
    help="How to choose between top-down and bottom-up.  [default: beamer]",
)
@click.option("--depth-limit", type=click.IntRange(0), help="Go no further than so many edges.")
@click.option(
    "--threads",
    type=click.IntRange(1),
    help="Threads of each worker's kernels.  [default: the cores, divided among workers]",
)
@click.option("--validate", is_flag=True, help="Make the five Graph500 checks on every tree.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(),
    help="Write records to this file; '-' is standard output.",
)
@click.option("--quiet", is_flag=True, help="No progress bars, no tables.")
@_plain_errors
def run(
    graph: str,
    sources: tuple[int, ...],
    n_sources: int | None,
    seed: int,
    edgefactor: int,
    directed: bool,
    format: str | None,
    driver: str,
    workers: int | None,
    scheduler: str | None,
    devices: str | None,
    cpu_share: float | None,
    strategy: str,
    direction: str | None,
    depth_limit: int | None,
    threads: int | None,
    validate: bool,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Search GRAPH: a file, kron:SCALE or uniform:SCALE.

    Without --source or --sources, one random vertex that is not isolated is the source.

    \b
    daskbfs run kron:20 --sources 16 --validate
    daskbfs run kron:20 --workers 2 --driver waves
    daskbfs run kron:18 --devices cpu=1,gpu-emulated=1 --strategy high --validate
    """  # noqa: D301
    from daskbfs.bench.trials import (
        built_seconds,
        placed_graph,
        process_peaks,
        run_trials,
        summarize,
    )
    from daskbfs.io.spec import open_origin
    from daskbfs.io.target import require_target
    from daskbfs.kernels.compiling import check_threads
    from daskbfs.progress import bars
    from daskbfs.types import parse_devices

    if sources and n_sources:
        raise click.UsageError("--source and --sources exclude each other")
    if scheduler and workers:
        raise click.UsageError("--scheduler and --workers exclude each other")
    if devices and (scheduler or workers):
        raise click.UsageError("--devices starts a cluster: leave --workers and --scheduler out")
    if driver == "direct" and (scheduler or workers or devices):
        raise click.UsageError(
            "--driver direct has no workers: leave --workers, --devices and --scheduler out"
        )
    kinds = parse_devices(devices) if devices else ()
    if json_file and json_file != "-":
        require_target(Path(json_file))
    if scheduler is None:  # workers elsewhere know best what they have
        check_threads(threads)
    say = _speaker(quiet or json_file == "-")
    origin = open_origin(
        graph, directed=directed or None, format=format, edgefactor=edgefactor, seed=seed
    )
    with (
        bars(quiet=quiet) as progress,
        placed_graph(
            origin,
            direct=driver == "direct",
            n_workers=workers,
            scheduler=scheduler,
            devices=kinds,
            cpu_share=cpu_share,
            strategy=strategy,
            seed=seed,
            progress=progress,
        ) as placed,
    ):
        say(f"{placed!r}, built in {built_seconds(placed):.2f} s")
        chosen = list(sources) or [int(v) for v in placed.random_sources(n_sources or 1, seed)]
        if not chosen:
            raise ValueError(
                f"{graph} has no edges, so no vertex to start from"
                + (": give --source" if placed.n_vertices else " and no vertices either")
            )
        trials = run_trials(
            placed,
            chosen,
            driver=driver,
            direction=direction,
            depth_limit=depth_limit,
            threads=threads,
            validate=validate,
            progress=progress,
        )
        report = summarize(placed, trials, direction=direction)
        peak = max(process_peaks(placed))
    if json_file:
        _write_json(report, json_file)
    assert trials.last is not None
    say(_told(trials.last, report, peak))
    if trials.failure is not None:
        raise click.ClickException(f"the tree from {trials.last.source} is wrong: {trials.failure}")


def _speaker(quiet: bool) -> Callable[[str], None]:
    """Print, or don't."""
    return (lambda text: None) if quiet else click.echo


def _told(last: BFSResult, report: dict[str, Any], peak: int) -> str:
    """What a person wants to know of some searches."""
    from daskbfs.machine import human_bytes

    n_trials = len(report["trials"])
    summary = f"{n_trials} search{'es' if n_trials > 1 else ''}"
    summary += f", median {report['median_seconds'] * 1e3:.3f} ms"
    if report["harmonic_mean_teps"]:
        summary += f", {report['harmonic_mean_teps'] / 1e9:.3f} GTEPS (harmonic mean)"
    lines = [
        "",
        str(last.levels),
        "",
        f"source {last.source}: reached {last.reached:,} of {last.graph.n_vertices:,} vertices",
        summary,
        f"most memory of a process: {human_bytes(peak)}, of all together: "
        f"{human_bytes(report['graph']['peak_bytes'])}",
    ]
    if last.levels.emulated:
        lines.append("gpu-emulated ran a GPU's kernels on the CPU: no time here is a GPU's")
    if report["validated"] is not None:
        passed = "every tree passed the five Graph500 checks"
        lines.append(passed if report["validated"] else "a tree FAILED its checks")
    return "\n".join(lines)


def _write_json(report: dict[str, Any], file: str) -> None:
    """Write a report whole, or not at all."""
    text = json.dumps(report, indent=1) + "\n"
    if file == "-":
        sys.stdout.write(text)
        return
    from daskbfs.io.target import whole_file

    with whole_file(Path(file)) as target:
        target.write(text.encode())


@main.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--directed", is_flag=True, help="Keep the directions of the edges.")
@click.option(
    "--format", type=click.Choice(_FORMATS), help="What IN is.  [default: what its suffix tells]"
)
@click.option(
    "--to-format",
    type=click.Choice(_WRITTEN_FORMATS),
    help="What OUT becomes.  [default: what its suffix tells]",
)
@click.option("--quiet", is_flag=True, help="No progress bars.")
@_plain_errors
def convert(
    source: str,
    target: str,
    directed: bool,
    format: str | None,
    to_format: str | None,
    quiet: bool,
) -> None:
    """Read the graph IN and write it to OUT (.sg, or an edge list: .el, .txt).

    IN may also be kron:SCALE or uniform:SCALE. Duplicates and self-loops are dropped.
    Edge lists are gzipped where OUT ends in .gz.
    """
    from daskbfs.io import graph_writer
    from daskbfs.io.spec import open_graph
    from daskbfs.progress import bars

    write = graph_writer(target, format=to_format)
    with bars(quiet=quiet) as progress:
        graph = open_graph(source, directed=directed or None, format=format, progress=progress)
        write(graph, progress)
    if not quiet:
        click.echo(f"{graph!r} written to {target}")


@main.command()
@click.argument("graph")
@click.option(
    "--strategy",
    type=click.Choice(_STRATEGIES),
    default="auto",
    show_default=True,
    help="Who gets what: CPUs the highest degrees, the lowest, or any.",
)
@click.option(
    "--devices",
    default="cpu=2",
    show_default=True,
    help="Kinds and numbers of devices to cut for; none needs to be there.",
)
@click.option(
    "--cpu-share",
    metavar="SHARE",
    help="Of the edges, 0 to 1, for CPUs; 'fit' leaves them what does not fit elsewhere.  "
    "[default: fit with --gpu-memory, else as configured: 0.5]",
)
@click.option("--gpu-memory", metavar="SIZE", help="Of each accelerator, for example 16GiB.")
@click.option(
    "--algorithm",
    type=click.Choice(_ALGORITHMS),
    default="bfs",
    show_default=True,
    help="What --strategy auto is to serve.",
)
@_graph_options
@click.option("--json", "json_file", type=click.Path(), help="Write the figures; '-' to stdout.")
@click.option(
    "--plot", "plot_file", type=click.Path(), help="Draw them to this .png, .svg or .pdf."
)
@click.option("--quiet", is_flag=True, help="No progress bars, no table.")
@_plain_errors
def partition(
    graph: str,
    strategy: str,
    devices: str,
    cpu_share: str | None,
    gpu_memory: str | None,
    algorithm: str,
    seed: int,
    edgefactor: int,
    directed: bool,
    format: str | None,
    json_file: str | None,
    plot_file: str | None,
    quiet: bool,
) -> None:
    """Show how GRAPH would be cut: no worker and no device is needed.

    \b
    daskbfs partition kron:20 --devices cpu=1,gpu=2 --strategy high --cpu-share 0.6
    daskbfs partition kron:22 --devices cpu=1,gpu=1 --gpu-memory 256MiB --plot cut.png
    """  # noqa: D301
    from daskbfs.bench.cutting import Plan, draw, examine, told
    from daskbfs.io.spec import open_graph
    from daskbfs.io.target import require_target
    from daskbfs.plots import check_picture
    from daskbfs.progress import bars

    if json_file and json_file != "-":
        require_target(Path(json_file))
    if plot_file:
        require_target(Path(plot_file))
        check_picture(plot_file)
    plan = Plan.of(strategy, devices, cpu_share, gpu_memory, algorithm, seed)
    with bars(quiet=quiet) as progress:
        opened = open_graph(
            graph,
            directed=directed or None,
            format=format,
            edgefactor=edgefactor,
            seed=seed,
            progress=progress,
        )
        report = examine(opened, plan)
    if json_file:
        _write_json(report, json_file)
    if plot_file:
        draw(report, plot_file)
    _speaker(quiet or json_file == "-")(told(report))


@main.command()
@click.option(
    "--json",
    "json_file",
    type=click.Path(),
    help="Write the findings to this file; '-' is standard output.",
)
@_plain_errors
def doctor(json_file: str | None) -> None:
    """Tell what is here: machine, versions, threads, kernels; and what is missing."""
    from daskbfs.doctor import examine

    findings = examine()
    if json_file:
        _write_json({finding.name: finding.value for finding in findings}, json_file)
    if json_file != "-":
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            mark = "ok " if finding.good else "-- "
            click.echo(f"{mark} {finding.name.ljust(width)}  {finding.value}")
            if finding.advice:
                click.echo(f"    {' ' * width}  {finding.advice}")


if __name__ == "__main__":
    main(prog_name="daskbfs")
