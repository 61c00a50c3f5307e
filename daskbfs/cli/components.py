"""``daskbfs components``: connected components, here or on a cluster."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command()
@options.graph_argument
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, help="Components to show."
)
@options.graph_options
@options.cluster_options
@options.json_option("records")
@options.quiet_option("no tables")
@options.plain_errors
def components(
    graph: str,
    top: int,
    choice: options.GraphChoice,
    where: options.Where,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Find the connected components of GRAPH; of directed graphs, the weakly connected ones.

    \b
    daskbfs components kron:20 --top 3
    daskbfs components web-NotreDame.txt.gz --directed --workers 2
    """  # noqa: D301
    from daskbfs.algorithms.components.api import connected_components
    from daskbfs.bench.trials import surroundings
    from daskbfs.cli.compile_ahead import compile_ahead
    from daskbfs.progress import bars

    if where.direction is not None:
        raise click.UsageError("--direction is for searches: components have none")
    where.check()
    options.check_json(json_file)
    origin = choice.open(graph)
    with (
        bars(quiet=quiet) as progress,
        compile_ahead("components") as ahead,
        where.client() as client,
    ):
        placed = where.place(origin, client, choice.seed, progress)
        ahead.wait()
        result = connected_components(placed, driver=where.driver, threads=where.threads)
        report = surroundings(placed)
    if json_file:
        options.write_json(report | result.to_dict(top), json_file)
    lines = [f"{label:>12}  {size:>12,}" for label, size in result.top(top)]
    say = options.speaker(quiet or json_file == "-")
    say("\n".join([*(["   component      vertices"] if lines else []), *lines, repr(result)]))
