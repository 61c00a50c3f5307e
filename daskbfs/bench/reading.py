"""What reading files takes: ``python -m daskbfs.bench.reading --scale 20 --json FILE``.

A Kronecker graph is written in several formats to a temporary folder. Of the plain edge list, the
time to parse it and the time to a graph are told apart, beside what pyarrow and polars take to read
the same lines, where they are installed. Medians over some rounds, files in the system's cache.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from daskbfs.bench import options
from daskbfs.bench.trials import timed_in_turns
from daskbfs.io import converter, open_file, read_graph
from daskbfs.io.spec import open_origin
from daskbfs.progress import Progress, bars

_FORMATS = ("el", "el.gz", "el.zst", "csv", "mtx", "parquet", "npz", "sg", "dbfs")
_MEGABYTE = 1e6


@click.command()
@options.scale_option(20)
@options.some_option(
    "--format", "suffixes", _FORMATS, "Only these; may be repeated.  [default: all]"
)
@options.rounds_option(3)
@options.json_option
@options.quiet_option
def main(
    scale: int, suffixes: tuple[str, ...], rounds: int, json_file: str | None, quiet: bool
) -> None:
    """Time the reading of a Kronecker graph's files."""
    with bars(quiet=quiet) as progress, tempfile.TemporaryDirectory() as folder:
        files = _write_files(Path(folder), scale, suffixes or _FORMATS, progress)
        ways: dict[str, Callable[[], Any]] = {}
        for file in files:
            kind = file.name.partition(".")[2]
            if kind == "el":
                ways |= _plain_ways(file)
            ways[f"{kind}, to a graph"] = functools.partial(read_graph, file)
        size = {
            kind: file.stat().st_size for file in files for kind in [file.name.partition(".")[2]]
        }
        seconds = timed_in_turns(ways, rounds, progress)
    rows = []
    for name, times in seconds.items():
        n_bytes, median = size[name.partition(",")[0]], statistics.median(times)
        rate = n_bytes / median / _MEGABYTE
        rows.append(
            {"name": name, "bytes": n_bytes, "seconds": median, "megabytes_per_second": rate}
        )
        click.echo(
            f"{name:22} {n_bytes / _MEGABYTE:9.1f} MB {median:9.4f} s "
            f"({min(times):.4f} to {max(times):.4f}) {rate:10.1f} MB/s"
        )
    options.write_report({"scale": scale, "rows": rows}, json_file)


def _write_files(
    folder: Path, scale: int, suffixes: tuple[str, ...], progress: Progress
) -> list[Path]:
    """The files, each of the same graph."""
    first = folder / "graph.dbfs"
    converter(first)(open_origin(f"kron:{scale}"), progress)
    files = [folder / f"graph.{suffix}" for suffix in suffixes]
    for file in files:
        if file != first:
            converter(file)(open_file(first), progress)
    return files


def _plain_ways(file: Path) -> dict[str, Callable[[], Any]]:
    """Ways to read the lines of an edge list, without a graph."""
    ways: dict[str, Callable[[], Any]] = {
        "el, parsed": lambda: sum(heads.size for heads, _ in open_file(file).stream.blocks())
    }
    with contextlib.suppress(ImportError):
        import pyarrow.csv as csv

        names = csv.ReadOptions(column_names=["source", "target"])
        words = csv.ParseOptions(delimiter=" ")
        ways["el, pyarrow"] = lambda: csv.read_csv(file, names, words)
    with contextlib.suppress(ImportError):
        import polars

        ways["el, polars"] = lambda: polars.read_csv(file, has_header=False, separator=" ")
    return ways


if __name__ == "__main__":
    sys.exit(main())
