"""``daskbfs graph500``: the benchmark by its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from daskbfs.cli import options

if TYPE_CHECKING:
    from daskbfs.bench.graph500 import Outcome


_GENERATORS = ("fast", "reference")


@click.command()
@click.option("--scale", type=int, required=True, help="The graph has 2**SCALE vertices.")
@options.count_option("--edgefactor", default=16, help="Edges per vertex.")
@options.count_option(
    "--trials", "n_keys", default=64, help="Search keys; fewer where fewer vertices have edges."
)
@options.choice_option(
    "--generator",
    _GENERATORS,
    default="fast",
    help="'reference' makes the edges and keys of the official code.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Of graph and keys.  [default: 1; with the reference generator 2, whose graph is the "
    "official one]",
)
@options.cluster_options
@click.option(
    "--energy-seconds",
    type=click.FloatRange(1),
    metavar="SECONDS",
    help="Then repeat the searches for so long, and read the energy counters; at least 1.",
)
@options.json_option("everything")
@options.quiet_option("nothing but the official fields")
@options.plain_errors
def graph500(
    scale: int,
    edgefactor: int,
    n_keys: int,
    generator: str,
    seed: int | None,
    where: options.Where,
    energy_seconds: float | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Run the Graph500 benchmark by its rules: Kernel 1, 64 searches, each tree validated.

    Standard output has the official fields, standard error all else. A tree that fails a check
    ends the run, without a rate.

    \b
    daskbfs graph500 --scale 20
    daskbfs graph500 --scale 22 --generator reference --json run.json
    daskbfs graph500 --scale 24 --workers 2 --strategy high --energy-seconds 30
    """  # noqa: D301
    from daskbfs.bench import graph500 as benchmark
    from daskbfs.progress import bars
    from daskbfs.telemetry.levels import EMULATED_NOTE

    where.check()
    options.check_json(json_file)
    plan = benchmark.Plan(
        scale=scale, edgefactor=edgefactor, n_keys=n_keys, generator=generator, seed=seed,
        driver=where.driver, direction=where.direction, strategy=where.strategy,
        cpu_share=where.cpu_share, threads=where.threads, energy_seconds=energy_seconds,
    )  # fmt: skip
    plan.origin()  # mistakes show before a cluster is started
    say = options.speaker(quiet, err=True)
    with where.client() as client, bars(quiet=quiet) as progress:
        outcome = benchmark.run(plan, client, progress, say)
        report = benchmark.report(outcome)
    failure = outcome.trials.failure
    if failure is None and json_file != "-":
        click.echo(_fields(outcome))
    if json_file:
        options.write_json(report, json_file)
    if failure is not None:
        raise click.ClickException(
            f"the tree from {failure.source} is wrong, so there is no rate: {failure}"
        )
    say(_format_summary(outcome, report))
    assert outcome.trials.last is not None
    if outcome.trials.last.levels.emulated:
        click.echo(EMULATED_NOTE, err=True)  # never a rate without it


def _fields(outcome: Outcome) -> str:
    """The official output."""
    from daskbfs.bench.graph500 import official

    return "\n".join(
        f"{name}: {value}" if isinstance(value, int) else f"{name}: {value:20.17e}"
        for name, value in official(outcome).items()
    )


def _format_summary(outcome: Outcome, report: dict[str, Any]) -> str:
    """What a person wants to know of a run."""
    from daskbfs.bench import energy
    from daskbfs.machine.hardware import human_rate

    found, in_place = report["intervals"], [record["seconds"] for record in report["trials"]]
    rate, mean = human_rate(report["bfs_harmonic_mean_TEPS"]), report["bfs_mean_time"] * 1e3
    lines = ["", f"harmonic mean {rate}", f"mean time {mean:.3f} ms"]
    if found is None:
        lines[1] += " (too few searches for a confidence interval)"
    else:
        low, high = found["bfs_harmonic_mean_TEPS"]
        lines[1] += f", with 95 % confidence {human_rate(low)} to {human_rate(high)}"
        slow, slower = (1e3 * bound for bound in found["bfs_mean_time"])
        lines[2] += f" ({slow:.3f} to {slower:.3f})"
    lines[2] += (
        f", of which {1e3 * sum(in_place) / len(in_place):.3f} ms until the parents stood where "
        "they were found"
    )
    lines.append(
        f"construction {report['construction_time']:.2f} s; {report['NBFS']} trees passed the five "
        f"checks against the input edges, {report['bfs_mean_validate']:.2f} s each"
    )
    if report["energy"] is not None:
        lines += energy.format_energy(report["energy"])
    return "\n".join(lines)
