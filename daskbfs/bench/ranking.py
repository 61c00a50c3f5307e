"""PageRank against a plain loop: ``python -m daskbfs.bench.ranking --scale 22 --json FILE``.

Seconds of one iteration, medians over some rounds, all in one run and in turns: ours; and a
parallel pull loop over CSR in float64 as one would write it, over rows in our degree order and over
rows in the input's own order. Then end to end, by the direct driver and by one worker in this
process.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from numba import njit, prange

from daskbfs.algorithms.pagerank.api import pagerank
from daskbfs.bench import options
from daskbfs.bench.trials import timed_in_turns
from daskbfs.graph.generators import kronecker
from daskbfs.graph.graph import Graph
from daskbfs.io.export import exported_arcs
from daskbfs.kernels.cpu.pagerank import pull_ranks
from daskbfs.kernels.threads import n_threads
from daskbfs.progress import bars, silent

_DAMPING = 0.85


@njit(parallel=True, nogil=True, cache=True)
def plain_pull(indptr, indices, contribution, base, rank):  # type: ignore[no-untyped-def]
    """What we are measured against."""
    for v in prange(indptr.size - 1):
        total = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            total += contribution[indices[e]]
        rank[v] = base + _DAMPING * total


@click.command()
@options.timing_options(scale=22, rounds=9)
def main(scale: int, rounds: int, json_file: str | None, quiet: bool) -> None:
    """Time iterations of PageRank on a Kronecker graph."""
    with bars(quiet=quiet) as progress:
        graph = kronecker(scale, progress=progress)
        ways = _ways(graph)
        seconds = timed_in_turns(ways, rounds, progress)
        whole = {
            driver: pagerank(graph, iterations=20, driver=driver).seconds / 20
            for driver in ("direct", "resident")
            for _ in range(2)  # the second counts: memory and kernels are there
        }
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    report: dict[str, Any] = {
        "scale": scale,
        "arcs": graph.n_arcs,
        "iteration_seconds": medians,
        "end_to_end_seconds": whole,
    }
    for name, median in medians.items():
        ratio = median / medians["ours"]
        click.echo(f"{name:24} {median * 1e3:8.2f} ms an iteration, {ratio:.2f} x ours")
    for driver, taken in whole.items():
        click.echo(f"{driver:24} {taken * 1e3:8.2f} ms an iteration, end to end over 20")
    options.write_report(report, json_file)


def _ways(graph: Graph) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    rows, n = graph.out, graph.n_rows
    degree = np.diff(rows.indptr).astype(np.uint32)
    rank = np.full(n, 1 / graph.n_vertices)
    contribution = rank / degree
    padded = np.zeros(graph.original_index.size, np.float32)
    padded[:n] = contribution
    passed_on, share = np.zeros_like(padded), np.array([1 / graph.n_vertices])
    indptr = rows.indptr.astype(np.int64)
    blocks = [(h.copy(), t.copy()) for h, t in exported_arcs(graph, rows, silent)]
    heads, tails = (np.concatenate(ends) for ends in zip(*blocks, strict=True))
    by_vertex = np.zeros(graph.n_vertices + 1, np.int64)
    np.cumsum(np.bincount(heads, minlength=graph.n_vertices), out=by_vertex[1:])
    contributions = np.zeros(graph.n_vertices)
    contributions[graph.original_index[:n]] = contribution
    found, found_all = np.empty(n), np.empty(graph.n_vertices)
    base = (1 - _DAMPING) / graph.n_vertices
    return {
        "ours": lambda: pull_ranks(
            rows.indptr,
            rows.indices,
            degree,
            padded,
            _DAMPING,
            1 - _DAMPING,
            share,
            rank,
            passed_on,
            n_threads(),
        ),
        "plain, degree order": lambda: plain_pull(indptr, rows.indices, contribution, base, found),
        "plain, input's order": lambda: plain_pull(
            by_vertex, tails, contributions, base, found_all
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
