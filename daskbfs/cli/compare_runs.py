"""``daskbfs compare-runs``: whether one run is faster than another."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command("compare-runs")
@click.argument("before", metavar="A.json", type=click.Path())
@click.argument("after", metavar="B.json", type=click.Path())
@options.json_option("the figures")
@options.plain_errors
def compare_runs(before: str, after: str, json_file: str | None) -> None:
    """Say whether the searches of B are faster than those of A, beyond their scatter.

    Both are what 'daskbfs graph500 --json' or 'daskbfs run --json' wrote.

    \b
    daskbfs graph500 --scale 20 --json a.json
    daskbfs graph500 --scale 20 --threads 1 --json b.json
    daskbfs compare-runs a.json b.json
    """  # noqa: D301
    from daskbfs.bench.compare_runs import compare, format_comparison, read_run

    report = compare(read_run(before), read_run(after))
    if json_file:
        options.write_json(report, json_file)
    if json_file != "-":
        click.echo(format_comparison(report))
