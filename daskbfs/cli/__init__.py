"""The command line: ``daskbfs`` and, as a plug-in of Dask's, ``dask bfs``.

Dask loads this package with each of its commands, so whatever is heavy is imported inside them.
"""

from __future__ import annotations

import click

from daskbfs import __version__
from daskbfs.cli.calibrate import calibrate
from daskbfs.cli.cluster import cluster
from daskbfs.cli.compare import compare
from daskbfs.cli.compare_runs import compare_runs
from daskbfs.cli.completion import completion
from daskbfs.cli.components import components
from daskbfs.cli.convert import convert
from daskbfs.cli.diameter import diameter
from daskbfs.cli.doctor import doctor
from daskbfs.cli.graph500 import graph500
from daskbfs.cli.pagerank import pagerank
from daskbfs.cli.partition import partition
from daskbfs.cli.path import path
from daskbfs.cli.report import report
from daskbfs.cli.run import run


@click.group("bfs", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="daskbfs")
def main() -> None:
    """Breadth-first search across CPUs and GPUs, on Dask.

    \b
    daskbfs run kron:20 --sources 16 --validate      search a random graph
    daskbfs run soc-LiveJournal1.txt.gz --workers 2  search a file, on two workers
    daskbfs convert soc.mtx soc.dbfs                 a file that opens in milliseconds
    daskbfs doctor                                   what is here, and what is missing

    \b
    Exit codes:
      0: done
      1: a check failed, for example a tree that is wrong
      2: it could not be done; standard error says why, and --debug where
      130: it was interrupted by Ctrl-C
    """  # noqa: D301


for command in (
    run, pagerank, components, diameter, path, graph500, compare, compare_runs, convert, partition,
    report, calibrate, cluster, doctor, completion,
):  # fmt: skip
    main.add_command(command)
