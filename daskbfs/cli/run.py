"""``daskbfs run``: timed searches, here or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from daskbfs.cli import options

if TYPE_CHECKING:
    from daskbfs.algorithms.bfs.result import BFSResult


@click.command()
@options.graph_argument
@click.option("--source", "sources", type=int, multiple=True, help="Start here; may be repeated.")
@click.option(
    "--sources", "n_sources", type=click.IntRange(1), help="Start from so many random vertices."
)
@options.graph_options
@options.cluster_options
@click.option("--depth-limit", type=click.IntRange(0), help="Go no further than so many edges.")
@click.option("--validate", is_flag=True, help="Make the five Graph500 checks on every tree.")
@options.json_option("records")
@options.quiet_option("no tables")
@options.plain_errors
def run(
    graph: str,
    sources: tuple[int, ...],
    n_sources: int | None,
    choice: options.GraphChoice,
    where: options.Where,
    depth_limit: int | None,
    validate: bool,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Search GRAPH: a file, kron:SCALE, kron-reference:SCALE or uniform:SCALE.

    Without --source or --sources, one random vertex that is not isolated is the source.

    \b
    daskbfs run kron:20 --sources 16 --validate
    daskbfs run kron:20 --workers 2 --driver waves
    daskbfs run kron:18 --devices cpu=1,gpu-emulated=1 --strategy high --validate
    """  # noqa: D301
    from daskbfs.bench.trials import process_peaks, run_trials, summarize
    from daskbfs.cli.compile_ahead import compile_ahead
    from daskbfs.dashboard import can_draw, page_link
    from daskbfs.distribution.connect import built_seconds
    from daskbfs.progress import bars

    if sources and n_sources:
        raise click.UsageError("--source and --sources exclude each other")
    where.check()
    options.check_json(json_file)
    say = options.speaker(quiet or json_file == "-")
    origin = choice.open(graph)
    with (
        bars(quiet=quiet) as progress,
        compile_ahead(
            "search",
            *(["validation"] if validate else []),
            n_partitions=where.n_partitions,
        ) as ahead,
        where.client() as client,
    ):
        placed = where.place(origin, client, choice.seed, progress)
        say(f"{placed!r}, built in {built_seconds(placed):.2f} s")
        if can_draw() and ((where.workers or 0) > 1 or where.devices):
            say(f"live at {page_link(client)}")  # type: ignore[arg-type]
        n = n_sources or 1
        chosen = list(sources) or [int(v) for v in placed.random_sources(n, choice.number)]
        if not chosen:
            raise ValueError(
                f"{graph} has no edges, so no vertex to start from"
                + (": give --source" if placed.n_vertices else " and no vertices either")
            )
        ahead.wait()
        trials = run_trials(
            placed,
            chosen,
            driver=where.driver,
            direction=where.direction,
            depth_limit=depth_limit,
            threads=where.threads,
            validate=validate,
            progress=progress,
        )
        report = summarize(placed, trials, direction=where.direction)
        peak = max(process_peaks(placed))
    if json_file:
        options.write_json(report, json_file)
    assert trials.last is not None
    say(_format_summary(trials.last, report, peak))
    if trials.failure is not None:
        raise click.ClickException(f"the tree from {trials.last.source} is wrong: {trials.failure}")


def _format_summary(last: BFSResult, report: dict[str, Any], peak: int) -> str:
    """What a person wants to know of some searches."""
    from daskbfs.machine.hardware import human_bytes, human_rate
    from daskbfs.telemetry.levels import EMULATED_NOTE

    n_trials = len(report["trials"])
    summary = f"{n_trials} search{'es' if n_trials > 1 else ''}"
    summary += f", median {report['median_seconds'] * 1e3:.3f} ms"
    if report["harmonic_mean_teps"]:
        summary += f", {human_rate(report['harmonic_mean_teps'])} (harmonic mean)"
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
        lines.append(EMULATED_NOTE)
    if report["validated"] is not None:
        passed = "every tree passed the five Graph500 checks"
        lines.append(passed if report["validated"] else "a tree FAILED its checks")
    return "\n".join(lines)
