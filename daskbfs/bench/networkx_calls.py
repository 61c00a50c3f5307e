"""Networkx with and without daskbfs: ``python -m daskbfs.bench.networkx_calls --scale 16``.

A Kronecker graph as a ``networkx.Graph``; each function from its vertex of highest degree, or over
all. Medians over some rounds, in turns; the conversion, which networkx does once, is told apart.
"""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from daskbfs.bench import options
from daskbfs.bench.trials import timed_in_turns
from daskbfs.graph.generators import kronecker
from daskbfs.interop.convert import to_networkx
from daskbfs.progress import bars

_BACKENDS = ("networkx", "daskbfs")


@click.command()
@options.timing_options(scale=16, rounds=3)
def main(scale: int, rounds: int, json_file: str | None, quiet: bool) -> None:
    """Time functions of networkx, with and without daskbfs."""
    import networkx as nx

    nx.config.warnings_to_ignore.add("cache")
    graph = to_networkx(kronecker(scale))
    calls = _calls(nx, graph)
    start = time.perf_counter()
    for call in calls.values():  # converts the graph, and loads kernels
        call(backend="daskbfs")
    first = time.perf_counter() - start
    ways = {
        f"{name}, {backend}": functools.partial(call, backend=backend)
        for name, call in calls.items()
        for backend in _BACKENDS
    }
    with bars(quiet=quiet) as progress:
        seconds = timed_in_turns(ways, rounds, progress)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    click.echo(f"first calls, with the graph's conversion: {first:.2f} s")
    rows = []
    for name in calls:
        theirs, ours = (median[f"{name}, {backend}"] for backend in _BACKENDS)
        rows.append({"name": name, "networkx_seconds": theirs, "daskbfs_seconds": ours})
        click.echo(f"{name:36} {theirs * 1e3:9.1f} ms {ours * 1e3:9.1f} ms {theirs / ours:7.1f} x")
    options.write_report({"scale": scale, "first_seconds": first, "rows": rows}, json_file)


def _calls(nx: Any, graph: Any) -> dict[str, Callable[..., Any]]:
    """What is called, of one graph; what networkx hands out one by one is collected."""
    source = max(graph, key=graph.degree)

    def listed(function: Callable[..., Iterator[Any]], *args: Any, backend: str) -> list[Any]:
        return list(function(graph, *args, backend=backend))

    return {
        "single_source_shortest_path_length": functools.partial(
            nx.single_source_shortest_path_length, graph, source
        ),
        "bfs_edges": functools.partial(listed, nx.bfs_edges, source),
        "connected_components": functools.partial(listed, nx.connected_components),
        "pagerank": functools.partial(nx.pagerank, graph),
    }


if __name__ == "__main__":
    sys.exit(main())
