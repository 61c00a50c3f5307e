"""``daskbfs run`` and ``daskbfs pagerank``: timed work, here or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from daskbfs.cli.common import (
    GraphChoice,
    Where,
    check_json,
    cluster_options,
    graph_argument,
    graph_options,
    plain_errors,
    speaker,
    write_json,
)

if TYPE_CHECKING:
    from daskbfs.result import BFSResult


@click.command()
@graph_argument
@click.option("--source", "sources", type=int, multiple=True, help="Start here; may be repeated.")
@click.option(
    "--sources", "n_sources", type=click.IntRange(1), help="Start from so many random vertices."
)
@graph_options
@cluster_options
@click.option("--depth-limit", type=click.IntRange(0), help="Go no further than so many edges.")
@click.option("--validate", is_flag=True, help="Make the five Graph500 checks on every tree.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(),
    help="Write records to this file; '-' is standard output.",
)
@click.option("--quiet", is_flag=True, help="No progress bars, no tables.")
@plain_errors
def run(
    graph: str,
    sources: tuple[int, ...],
    n_sources: int | None,
    choice: GraphChoice,
    where: Where,
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
    from daskbfs.bench.trials import built_seconds, process_peaks, run_trials, summarize
    from daskbfs.dashboard import can_draw, page_link
    from daskbfs.progress import bars

    if sources and n_sources:
        raise click.UsageError("--source and --sources exclude each other")
    where.check()
    check_json(json_file)
    say = speaker(quiet or json_file == "-")
    origin = choice.open(graph)
    with bars(quiet=quiet) as progress, where.client() as client:
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
        write_json(report, json_file)
    assert trials.last is not None
    say(_told(trials.last, report, peak))
    if trials.failure is not None:
        raise click.ClickException(f"the tree from {trials.last.source} is wrong: {trials.failure}")


def _told(last: BFSResult, report: dict[str, Any], peak: int) -> str:
    """What a person wants to know of some searches."""
    from daskbfs.machine import human_bytes, human_rate
    from daskbfs.telemetry import EMULATED_NOTE

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


@click.command()
@graph_argument
@click.option(
    "--damping",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.85,
    show_default=True,
    help="The part of a rank that goes along edges.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, min_open=True),
    default=1e-6,
    show_default=True,
    help="Stop when ranks change by less than this times the number of vertices, together.",
)
@click.option(
    "--max-iterations", type=click.IntRange(1), default=100, show_default=True, help="Then give up."
)
@click.option("--iterations", type=click.IntRange(1), help="Make exactly so many.")
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, help="Vertices to show."
)
@graph_options
@cluster_options
@click.option(
    "--json", "json_file", type=click.Path(), help="Write records; '-' is standard output."
)
@click.option("--quiet", is_flag=True, help="No progress bars, no tables.")
@plain_errors
def pagerank(
    graph: str,
    damping: float,
    tolerance: float,
    max_iterations: int,
    iterations: int | None,
    top: int,
    choice: GraphChoice,
    where: Where,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Rank the vertices of GRAPH by PageRank.

    \b
    daskbfs pagerank kron:20 --top 5
    daskbfs pagerank web-NotreDame.txt.gz --directed --iterations 20 --workers 2
    daskbfs pagerank kron:18 --devices cpu=1,gpu-emulated=1 --strategy high
    """  # noqa: D301
    from daskbfs.bench.trials import surroundings
    from daskbfs.progress import bars
    from daskbfs.ranking import pagerank as rank

    if where.direction is not None:
        raise click.UsageError("--direction is for searches: PageRank always pulls")
    where.check()
    check_json(json_file)
    origin = choice.open(graph)
    with bars(quiet=quiet) as progress, where.client() as client:
        placed = where.place(origin, client, choice.seed, progress)
        rank(placed, iterations=1, driver=where.driver, threads=where.threads)  # to load kernels
        result = rank(
            placed,
            damping=damping,
            tolerance=tolerance,
            max_iterations=max_iterations,
            iterations=iterations,
            driver=where.driver,
            threads=where.threads,
        )
        report = surroundings(placed)
    highest = result.top(top)
    if json_file:
        report |= {
            "driver": result.driver,
            "damping": damping,
            "iterations": result.iterations,
            "changed": result.changed,
            "seconds": result.seconds,
            "edges_per_second": result.edges_per_second,
            "levels": result.levels.to_dicts(),
            "top": [{"vertex": vertex, "rank": value} for vertex, value in highest],
        }
        write_json(report, json_file)
    lines = [f"{vertex:>12}  {value:.6g}" for vertex, value in highest]
    say = speaker(quiet or json_file == "-")
    say("\n".join([*(["      vertex  rank"] if lines else []), *lines, repr(result)]))
