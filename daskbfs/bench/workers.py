"""What more workers on one machine cost: ``python -m daskbfs.bench.workers kron:22 path:1000``.

The same cores search as one worker and as several that share them: with the direct driver, with one
worker in this process, and with ``--workers`` processes by both drivers of a cluster, in turns
within one run. Times include the parents by the user's ids (``seconds`` and ``fetch_seconds``).
Figures are medians over sources, each source once in a round. ``--pagerank`` times iterations.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
import sys
from collections.abc import Callable, Sequence

import click
import dask
import numpy as np
from distributed import Client

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.pagerank.api import pagerank
from daskbfs.bench import options
from daskbfs.bench.beside import neighbours
from daskbfs.cluster.local import local_cluster
from daskbfs.distribution.distributed_graph import DistributedGraph, distribute
from daskbfs.graph.build import build_graph, construct
from daskbfs.graph.edge_stream import ArrayEdges
from daskbfs.graph.graph import Graph
from daskbfs.io.spec import open_origin
from daskbfs.machine import hardware
from daskbfs.names import EXCHANGES
from daskbfs.progress import Progress, bars

_DRIVERS = ("resident", "waves")
Way = Callable[[], list[float]]


@click.command()
@click.argument("graphs", nargs=-1)
@click.option("--workers", type=click.IntRange(2), default=2, show_default=True)
@click.option("--sources", type=click.IntRange(1), default=32, show_default=True)
@options.rounds_option(3)
@click.option(
    "--exchange",
    type=click.Choice(EXCHANGES),
    default="shared memory",
    show_default=True,
    help="How levels go from worker to worker.",
)
@click.option(
    "--pagerank", "iterations", type=int, default=0, help="So many iterations, not searches."
)
@click.option("--busy", type=click.IntRange(0), default=0, help="Processes that keep a core busy.")
@options.json_option
@options.quiet_option
def main(
    graphs: tuple[str, ...],
    workers: int,
    sources: int,
    rounds: int,
    exchange: str,
    iterations: int,
    busy: int,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time runs on GRAPHS: generators, path:N, or files (default: kron:20)."""
    click.echo(f"load before: {hardware.load()}")
    rows = []
    shared = exchange == "shared memory"
    with (
        dask.config.set({"daskbfs.exchange.shared-memory": shared}),
        contextlib.ExitStack() as clusters,
        bars(quiet=quiet) as progress,
    ):
        clients = {n: _start(clusters, n) for n in (1, workers)}
        for spec in graphs or ("kron:20",):
            graph = _build(spec, progress)
            placed = {n: distribute(graph, client) for n, client in clients.items()}
            ways = _ways(graph, placed, workers, sources, iterations)
            with neighbours(busy) as others:
                seconds = _time_in_turns(ways, rounds, lambda n: others.run(n), busy)
            rows.append({"graph": spec, "seconds": seconds})
            _print(spec, seconds)
            for on_cluster in placed.values():
                on_cluster.release()
    settings = {"workers": workers, "exchange": exchange, "iterations": iterations, "busy": busy}
    options.write_report({**settings, "rows": rows}, json_file)


def _start(clusters: contextlib.ExitStack, n_workers: int) -> Client:
    """The client of a cluster of so many workers."""
    cluster = clusters.enter_context(local_cluster(n_workers))
    return clusters.enter_context(cluster.get_client())


def _build(spec: str, progress: Progress) -> Graph:
    """A graph; ``path:N`` is one, of N vertices in a row."""
    if not spec.startswith("path:"):
        return build_graph(open_origin(spec), progress)
    ends = np.arange(int(spec.removeprefix("path:")), dtype=np.uint32)
    return construct(ArrayEdges(ends[:-1], ends[1:]), name=spec, progress=progress)


def _ways(
    graph: Graph,
    placed: dict[int, DistributedGraph],
    workers: int,
    n_sources: int,
    iterations: int,
) -> dict[str, Way]:
    """What is timed, by name: each returns the seconds of its runs."""
    if iterations:
        run: Callable[..., list[float]] = functools.partial(_rank, iterations=iterations)
    else:
        first = [0] if graph.name.startswith("path:") else []
        sources = first or [int(source) for source in graph.random_sources(n_sources)]
        run = functools.partial(_search, sources=sources)
    ways: dict[str, Way] = {"direct": functools.partial(run, graph, driver="direct")}
    ways["1 worker"] = functools.partial(run, placed[1], driver="resident")
    for driver in _DRIVERS:
        name = f"{workers} workers, {driver}"
        ways[name] = functools.partial(run, placed[workers], driver=driver)
    return ways


def _search(graph: Graph | DistributedGraph, *, sources: Sequence[int], driver: str) -> list[float]:
    seconds = []
    for source in sources:
        result = bfs(graph, source, driver=driver)
        _ = result.parent
        seconds.append(result.seconds + result.fetch_seconds)
    return seconds


def _rank(graph: Graph | DistributedGraph, *, iterations: int, driver: str) -> list[float]:
    return [pagerank(graph, iterations=iterations, driver=driver).seconds]


def _time_in_turns(
    ways: dict[str, Way], rounds: int, let_run: Callable[[int], None], busy: int
) -> dict[str, list[float]]:
    """The seconds of each way, round by round."""
    for way in ways.values():
        way()  # kernels are loaded, memory is touched
    let_run(busy)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            seconds[name] += way()
    return seconds


def _print(spec: str, seconds: dict[str, list[float]]) -> None:
    """A table of medians, and of how they compare with one worker's."""
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    click.echo(f"\n{spec:30} {'median':>10} {'p90':>10} {'to direct':>9} {'to 1 worker':>11}")
    for name, times in seconds.items():
        p90 = sorted(times)[int(0.9 * (len(times) - 1))]
        median = medians[name]
        cells = f"{median * 1e3:7.2f} ms {p90 * 1e3:7.2f} ms {median / medians['direct']:8.2f}x"
        click.echo(f"{name:30} {cells} {median / medians['1 worker']:10.2f}x")


if __name__ == "__main__":
    sys.exit(main())
