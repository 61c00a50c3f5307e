"""``daskbfs path``: a shortest path between two vertices, here or on a cluster."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command()
@options.graph_argument
@click.argument("source", type=int, metavar="FROM")
@click.argument("target", type=int, metavar="TO")
@options.graph_options
@options.cluster_options
@options.json_option("the path")
@options.quiet_option("no path")
@options.plain_errors
def path(
    graph: str,
    source: int,
    target: int,
    choice: options.GraphChoice,
    where: options.Where,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Find a path with the fewest edges between two vertices of GRAPH, FROM one TO the other.

    \b
    daskbfs path USA-road-d.NY.gr.gz 1 100
    daskbfs path web-NotreDame.txt.gz 0 500 --directed --workers 2
    """  # noqa: D301
    from daskbfs.algorithms.paths.api import shortest_path
    from daskbfs.bench.trials import surroundings
    from daskbfs.cli.compile_ahead import compile_ahead
    from daskbfs.progress import bars

    if where.direction is not None:
        raise click.UsageError("--direction is for daskbfs run: here the search chooses its own")
    where.check()
    options.check_json(json_file)
    origin = choice.open(graph)
    with (
        bars(quiet=quiet) as progress,
        compile_ahead("search", n_partitions=where.n_partitions) as ahead,
        where.client() as client,
    ):
        placed = where.place(origin, client, choice.seed, progress)
        ahead.wait()
        found = shortest_path(placed, source, target, driver=where.driver, threads=where.threads)
        report = surroundings(placed)
    vertices = None if found is None else found.tolist()
    if json_file:
        length = None if vertices is None else len(vertices) - 1
        ends = {"source": source, "target": target}
        options.write_json(report | ends | {"length": length, "path": vertices}, json_file)
    say = options.speaker(quiet or json_file == "-")
    if vertices is None:
        say(f"no path leads from {source} to {target}")
        return
    say(" ".join(map(str, vertices)))
    say(f"{len(vertices) - 1} edge{'' if len(vertices) == 2 else 's'} from {source} to {target}")
