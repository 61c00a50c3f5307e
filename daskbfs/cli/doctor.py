"""``daskbfs doctor``: what is here, and what is missing."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command()
@options.json_option("the findings")
@options.plain_errors
def doctor(json_file: str | None) -> None:
    """Tell what is here: machine, versions, threads, kernels; and what is missing.

    \b
    daskbfs doctor
    daskbfs doctor --json findings.json
    """  # noqa: D301
    from daskbfs.doctor.checks import examine

    findings = examine()
    if json_file:
        options.write_json({finding.name: finding.value for finding in findings}, json_file)
    if json_file != "-":
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            mark = "ok " if finding.good else "-- "
            click.echo(f"{mark} {finding.name.ljust(width)}  {finding.value}")
            if finding.advice:
                click.echo(f"    {' ' * width}  {finding.advice}")
