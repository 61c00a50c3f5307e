"""What checking a tree takes: ``python -m daskbfs.bench.validating --scale 22 --json FILE``.

Against the rows of the graph; against the input edges in memory, one tree at a time; and against
these, as many trees in a pass as there is room for. Medians over some rounds.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable

import click

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench import options
from daskbfs.bench.graph500 import store_edges
from daskbfs.bench.trials import timed_in_turns
from daskbfs.graph.build import construct
from daskbfs.graph.generators import KroneckerEdges
from daskbfs.kernels.tree_checks import MOST_TREES
from daskbfs.progress import bars
from daskbfs.validation.trees import Trees
from daskbfs.validation.validate import validate


@click.command()
@options.timing_options(scale=22, rounds=5)
def main(scale: int, rounds: int, json_file: str | None, quiet: bool) -> None:
    """Time the five checks on trees of a Kronecker graph."""
    with bars(quiet=quiet) as progress:
        edges = store_edges(KroneckerEdges(scale, 16, 1), progress)
        graph = construct(edges, name=f"kron:{scale}", progress=progress)
        sources = [int(v) for v in graph.random_sources(MOST_TREES)]
        parents = [bfs(graph, source, driver="direct").parent.copy() for source in sources]
        trees = Trees(graph)

        def together() -> None:
            for source, parent in zip(sources, parents, strict=True):
                trees.add(source, parent)
            trees.check(edges)

        ways: dict[str, Callable[[], None]] = {
            "rows": lambda: validate(graph, sources[0], parents[0]),
            "edges": lambda: validate(
                graph, sources[0], parents[0], edges=(edges.heads, edges.tails)
            ),
            f"edges, {MOST_TREES} trees": together,
        }
        seconds = timed_in_turns(ways, rounds, progress)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        click.echo(
            f"{name:16} {median:7.3f} s ({min(seconds[name]):.3f} to {max(seconds[name]):.3f})"
        )
    options.write_report({"scale": scale, "seconds": medians}, json_file)


if __name__ == "__main__":
    sys.exit(main())
