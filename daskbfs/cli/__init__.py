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
from daskbfs.cli.starting import cluster, completion


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
    run, pagerank, graph500, compare, compare_runs, convert, partition, report,
    calibrate, cluster, doctor, completion,
):  # fmt: skip
    main.add_command(command)
