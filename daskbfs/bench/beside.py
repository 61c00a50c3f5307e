"""Searches beside other work: ``python -m daskbfs.bench.beside --busy 2 kron:16 kron:20``.

Busy processes are started once and stopped and continued by signals, so that quiet and busy
searches alternate in one process: a round times some searches with no neighbour, then with one,
up to ``--busy``. PageRank is timed the same way, by iteration.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.pagerank.api import pagerank
from daskbfs.bench import options
from daskbfs.graph.build import build_graph
from daskbfs.graph.graph import Graph
from daskbfs.io.spec import open_origin
from daskbfs.kernels.threads import describe_waiting
from daskbfs.machine import hardware
from daskbfs.progress import bars

_SETTLE_SECONDS = 0.3  # for the system's scheduler to notice that the load has changed
_ITERATIONS = 5


class Neighbours:
    """Processes that keep a core busy each, as many of them as are asked for."""

    def __init__(self, n: int) -> None:
        busy = [sys.executable, "-c", "while True: pass"]
        self._processes = [subprocess.Popen(busy) for _ in range(n)]
        self.run(0)

    def run(self, n: int) -> None:
        """Let the first ``n`` run, and stop the others."""
        for k, process in enumerate(self._processes):
            process.send_signal(signal.SIGCONT if k < n else signal.SIGSTOP)
        time.sleep(_SETTLE_SECONDS)

    def end(self) -> None:
        """End all of them."""
        for process in self._processes:
            process.kill()
            process.wait()


@contextlib.contextmanager
def neighbours(n: int) -> Iterator[Neighbours]:
    """Processes that can be made busy, for as long as the block runs."""
    processes = Neighbours(n)
    try:
        yield processes
    finally:
        processes.end()


@click.command()
@click.argument("graphs", nargs=-1)
@click.option("--busy", type=click.IntRange(1), default=2, show_default=True, help="Neighbours.")
@click.option("--sources", type=click.IntRange(1), default=8, show_default=True, help="A round.")
@options.rounds_option(5)
@click.option(
    "--pagerank",
    "ranked",
    multiple=True,
    metavar="GRAPH",
    default=["kron:20"],
    show_default=True,
    help="Time iterations of PageRank on this graph; may be repeated.",
)
@click.option("--driver", type=click.Choice(("direct", "resident")), default="direct")
@options.json_option
@options.quiet_option
def main(
    graphs: tuple[str, ...],
    busy: int,
    sources: int,
    rounds: int,
    ranked: tuple[str, ...],
    driver: str,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time searches of GRAPHS quiet and beside busy processes (default: kron:16 20 22 24)."""
    rows = []
    click.echo(f"load before: {hardware.load()}")
    with neighbours(busy) as others, bars(quiet=quiet) as progress:
        for spec in graphs or ("kron:16", "kron:20", "kron:22", "kron:24"):
            graph = build_graph(open_origin(spec), progress)
            work = _make_searches(graph, sources, driver)
            rows.append({"work": spec, "seconds": _time_beside(work, others, busy, rounds)})
            click.echo(_line(rows[-1], busy, first=len(rows) == 1))
        for spec in ranked:
            graph = build_graph(open_origin(spec), progress)
            work = [functools.partial(_ranks, graph, driver)]
            rows.append(
                {"work": f"pagerank {spec}", "seconds": _time_beside(work, others, busy, rounds)}
            )
            click.echo(_line(rows[-1], busy, first=len(rows) == 1))
    click.echo(f"threads wait by {describe_waiting()}")
    figures = {"driver": driver, "waiting": describe_waiting(), "rows": rows}
    options.write_report(figures, json_file)


def _make_searches(graph: Graph, n: int, driver: str) -> list[Callable[[], float]]:
    """Searches from some sources, each of which returns its seconds."""
    return [
        functools.partial(_search, graph, int(source), driver) for source in graph.random_sources(n)
    ]


def _search(graph: Graph, source: int, driver: str) -> float:
    """Seconds of a search."""
    seconds: float = bfs(graph, source, driver=driver).seconds
    return seconds


def _ranks(graph: Graph, driver: str) -> float:
    """Seconds of an iteration of PageRank."""
    seconds: float = pagerank(graph, iterations=_ITERATIONS, driver=driver).seconds
    return seconds / _ITERATIONS


def _time_beside(
    work: Sequence[Callable[[], float]], others: Neighbours, busy: int, rounds: int
) -> list[list[float]]:
    """Seconds of each piece of work, by the number of busy neighbours; in turns."""
    for piece in work:
        piece()  # kernels are loaded, memory is touched
    seconds: list[list[float]] = [[] for _ in range(busy + 1)]
    for _ in range(rounds):
        for n, times in enumerate(seconds):
            others.run(n)
            times += [piece() for piece in work]
        others.run(0)
    return seconds


def _line(row: dict[str, Any], busy: int, *, first: bool) -> str:
    """A row of the table, under its heading where it is the first."""
    heading = f"{'':24} {'quiet':>10} {'p90':>9}"
    heading += "".join(f" {f'{n} busy':>10} {'p90':>9} {'ratio':>6}" for n in range(1, busy + 1))
    cells = [f"{row['work']:24}"]
    quiet = statistics.median(row["seconds"][0])
    for n, times in enumerate(row["seconds"]):
        median = statistics.median(times)
        p90 = sorted(times)[int(0.9 * (len(times) - 1))]
        cells.append(f"{median * 1e3:7.2f} ms {p90 * 1e3:6.1f} ms")
        if n:
            cells.append(f"{median / quiet:5.2f}x")
    return (f"{heading}\n" if first else "") + " ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
