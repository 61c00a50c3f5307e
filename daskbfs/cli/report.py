"""``daskbfs report``: records as a page with figures."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command()
@click.argument("records", nargs=-1, required=True, metavar="RECORDS...")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    default="report.html",
    show_default=True,
    help="The page to write.",
)
@click.option("--png", is_flag=True, help="Write each figure as a picture beside the page, too.")
@click.option("--quiet", is_flag=True, help="Say nothing.")
@options.plain_errors
def report(records: tuple[str, ...], output: str, png: bool, quiet: bool) -> None:
    """Make one self-contained HTML page of RECORDS: files that --json wrote.

    It has a table, the figures of the papers that the records allow, and the levels of each run's
    search of median time. Several runs are set side by side.

    \b
    daskbfs run kron:20 --sources 16 --json one.json
    daskbfs run kron:20 --sources 16 --workers 2 --json two.json
    daskbfs report one.json two.json -o report.html --png
    """  # noqa: D301
    from daskbfs.bench.report import write_report

    for file in write_report(records, output, png=png):
        options.speaker(quiet)(f"{file} written")
