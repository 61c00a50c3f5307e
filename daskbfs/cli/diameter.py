"""``daskbfs diameter``: the diameter of the largest component, here or on a cluster."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command()
@options.graph_argument
@click.option(
    "--max-searches",
    type=click.IntRange(1),
    help="End after so many searches, with bounds where these were too few.",
)
@options.graph_options
@options.cluster_options
@options.json_option("the diameter and a path of that length")
@options.quiet_option("no result")
@options.plain_errors
def diameter(
    graph: str,
    max_searches: int | None,
    choice: options.GraphChoice,
    where: options.Where,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Find the diameter of the largest component of GRAPH, whose edges are read as undirected.

    \b
    daskbfs diameter web-NotreDame.txt.gz
    daskbfs diameter kron:20 --workers 2 --max-searches 20
    """  # noqa: D301
    from daskbfs.algorithms.diameter.api import diameter as find_diameter
    from daskbfs.bench.trials import surroundings
    from daskbfs.cli.compile_ahead import compile_ahead
    from daskbfs.progress import bars

    if choice.directed:
        raise click.UsageError("--directed: the diameter is that of undirected graphs")
    if where.direction is not None:
        raise click.UsageError("--direction is for daskbfs run: here each search chooses its own")
    where.check()
    options.check_json(json_file)
    origin = choice.open(graph, directed=False)
    with (
        bars(quiet=quiet) as progress,
        compile_ahead("search", n_partitions=where.n_partitions) as ahead,
        where.client() as client,
    ):
        placed = where.place(origin, client, choice.seed, progress)
        ahead.wait()
        result = find_diameter(
            placed,
            driver=where.driver,
            threads=where.threads,
            max_searches=max_searches,
            progress=progress,
        )
        report = surroundings(placed)
    if json_file:
        options.write_json(report | result.to_dict(), json_file)
    options.speaker(quiet or json_file == "-")(repr(result))
