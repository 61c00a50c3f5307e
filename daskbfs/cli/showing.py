"""``daskbfs report`` and ``daskbfs doctor``: what was measured, and what is here."""

from __future__ import annotations

import click

from daskbfs.cli.common import plain_errors, speaker, write_json


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
@plain_errors
def report(records: tuple[str, ...], output: str, png: bool, quiet: bool) -> None:
    """Make one self-contained HTML page of RECORDS: files that --json wrote.

    It has a table, the figures of the papers that the records allow, and the levels of each run's
    search of median time. Several runs are set side by side.

    \b
    daskbfs run kron:20 --sources 16 --json one.json
    daskbfs run kron:20 --sources 16 --workers 2 --json two.json
    daskbfs report one.json two.json -o report.html --png
    """  # noqa: D301
    from daskbfs.report import write_report

    for file in write_report(records, output, png=png):
        speaker(quiet)(f"{file} written")


@click.command()
@click.option(
    "--json",
    "json_file",
    type=click.Path(),
    help="Write the findings to this file; '-' is standard output.",
)
@plain_errors
def doctor(json_file: str | None) -> None:
    """Tell what is here: machine, versions, threads, kernels; and what is missing.

    \b
    daskbfs doctor
    daskbfs doctor --json findings.json
    """  # noqa: D301
    from daskbfs.doctor import examine

    findings = examine()
    if json_file:
        write_json({finding.name: finding.value for finding in findings}, json_file)
    if json_file != "-":
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            mark = "ok " if finding.good else "-- "
            click.echo(f"{mark} {finding.name.ljust(width)}  {finding.value}")
            if finding.advice:
                click.echo(f"    {' ' * width}  {finding.advice}")
