"""The command line: ``daskbfs`` and, as a plug-in of Dask's, ``dask bfs``.

Dask loads this package with each of its commands, so whatever is heavy is imported inside them.
"""

from __future__ import annotations

import click

from daskbfs import __version__
from daskbfs.cli.benchmarks import compare_runs, graph500
from daskbfs.cli.calibrating import calibrate
from daskbfs.cli.comparing import compare
from daskbfs.cli.graphs import convert, partition
from daskbfs.cli.searching import pagerank, run
from daskbfs.cli.showing import doctor, report


@click.group("bfs", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="daskbfs")
def main() -> None:
    """Breadth-first search across CPUs and GPUs, on Dask."""


for command in (
    run, pagerank, graph500, compare, compare_runs, convert, partition, report,
    calibrate, doctor,
):  # fmt: skip
    main.add_command(command)
