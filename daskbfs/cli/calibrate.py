"""``daskbfs calibrate``: the numbers that policies decide by, for this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from daskbfs.cli import options

if TYPE_CHECKING:
    from daskbfs.bench.calibration import Proposal


@click.command()
@click.argument("graph", default="kron:20")
@options.count_option(
    "--sources", "n_sources", default=4, help="Search from so many random vertices."
)
@options.count_option(
    "--rounds",
    default=3,
    help="Search each in every way so often, and take the quickest of each level.",
)
@click.option(
    "--devices",
    metavar="KINDS",
    help="cpu=1,gpu=1 times the GPU's levels too, and fits alpha1 and alpha2.  [default: cpu=1]",
)
@click.option("--threads", type=click.IntRange(1), help="Threads of kernels.  [default: all cores]")
@options.graph_options
@click.option(
    "--output", type=click.Path(), metavar="FILE", help="Write the numbers to this .yaml file."
)
@options.json_option("all times")
@options.quiet_option("nothing but the numbers")
@options.plain_errors
def calibrate(
    graph: str,
    n_sources: int,
    rounds: int,
    devices: str | None,
    threads: int | None,
    choice: options.GraphChoice,
    output: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time every way to search a level, and propose numbers for the policies to decide by.

    GRAPH is a file, kron:SCALE or uniform:SCALE: take one like those that you search. The numbers
    go into a file of Dask's configuration, for example ~/.config/dask/daskbfs.yaml.

    \b
    daskbfs calibrate
    daskbfs calibrate kron:22 --output ~/.config/dask/daskbfs.yaml
    daskbfs calibrate kron:22 --devices cpu=1,gpu=1
    """  # noqa: D301
    from pathlib import Path

    from daskbfs.bench import calibration
    from daskbfs.distribution.connect import client_for, place
    from daskbfs.kernels.threads import check_threads
    from daskbfs.machine.atomic_file import require_target, whole_file
    from daskbfs.names import Device, parse_devices
    from daskbfs.progress import bars
    from daskbfs.telemetry.levels import EMULATED_NOTE

    kinds = parse_devices(devices) if devices else [Device.CPU]
    if len(kinds) > 2 or kinds[0] is not Device.CPU or kinds[1:] == [Device.CPU]:
        raise click.UsageError(f"--devices {devices}: one CPU, and one GPU beside it or none")
    check_threads(threads)
    options.check_json(json_file)
    if output:
        require_target(Path(output))
        if Path(output).exists():
            raise click.UsageError(f"--output {output} is there already: name another file")
    alone = len(kinds) == 1
    with bars(quiet=quiet) as progress, client_for(direct=alone, devices=kinds) as client:
        strategy = "auto" if alone else "mirror"
        placed = place(choice.open(graph), client, strategy=strategy, progress=progress)
        sources = [int(v) for v in placed.random_sources(n_sources, choice.number)]
        if not sources:
            raise ValueError(f"{graph} has no edges, so nothing to time")
        searches = calibration.time_levels(
            placed, sources, rounds=rounds, threads=threads, progress=progress
        )
    proposals = calibration.propose(searches)
    text = calibration.as_yaml(proposals)
    if Device.GPU_EMULATED in kinds:
        text = f"# {EMULATED_NOTE}\n{text}"
        click.echo(EMULATED_NOTE, err=True)
    if output:
        with whole_file(Path(output)) as target:
            target.write(text.encode())
    if json_file:
        options.write_json(calibration.report(graph, searches, proposals, kinds[-1]), json_file)
    if json_file != "-":
        options.speaker(quiet)(_format_proposals(proposals, len(sources)))
        click.echo(text.rstrip() if not output else f"written to {output}")


def _format_proposals(proposals: Sequence[Proposal], n_searches: int) -> str:
    """What the numbers would be worth."""
    lines = []
    for p in proposals:
        now, then, best = (
            1e3 * s / n_searches for s in (p.seconds_now, p.seconds_proposed, p.seconds_best)
        )
        change = "stays as it is" if p.proposed == p.now else f"would take {then:.3f} ms"
        lines.append(
            f"{p.policy}: a search takes {now:.3f} ms in kernels, {change}; with the best way for "
            f"each level it would take {best:.3f} ms"
        )
    return "\n".join(lines)
