"""``daskbfs pagerank``: ranks, here or on a cluster."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command()
@options.graph_argument
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
@options.count_option("--max-iterations", default=100, help="Then give up.")
@click.option("--iterations", type=click.IntRange(1), help="Make exactly so many.")
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, help="Vertices to show."
)
@options.graph_options
@options.cluster_options
@options.json_option("records")
@options.quiet_option("no tables")
@options.plain_errors
def pagerank(
    graph: str,
    damping: float,
    tolerance: float,
    max_iterations: int,
    iterations: int | None,
    top: int,
    choice: options.GraphChoice,
    where: options.Where,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Rank the vertices of GRAPH by PageRank.

    \b
    daskbfs pagerank kron:20 --top 5
    daskbfs pagerank web-NotreDame.txt.gz --directed --iterations 20 --workers 2
    daskbfs pagerank kron:18 --devices cpu=1,gpu-emulated=1 --strategy high
    """  # noqa: D301
    from daskbfs.algorithms.pagerank.api import pagerank as rank
    from daskbfs.bench.trials import surroundings
    from daskbfs.cli.compile_ahead import compile_ahead
    from daskbfs.progress import bars

    if where.direction is not None:
        raise click.UsageError("--direction is for searches: PageRank always pulls")
    where.check()
    options.check_json(json_file)
    origin = choice.open(graph)
    with (
        bars(quiet=quiet) as progress,
        compile_ahead("pagerank") as ahead,
        where.client() as client,
    ):
        placed = where.place(origin, client, choice.seed, progress)
        ahead.wait()
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
        options.write_json(report, json_file)
    lines = [f"{vertex:>12}  {value:.6g}" for vertex, value in highest]
    say = options.speaker(quiet or json_file == "-")
    say("\n".join([*(["      vertex  rank"] if lines else []), *lines, repr(result)]))
