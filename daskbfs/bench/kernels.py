"""Kernel and search times: ``python -m daskbfs.bench.kernels --json FILE``.

Two figures, never mixed. *Kernel*: all levels, vertices in degree order. *Search*: from the call
until the parent array is complete in memory in the user's own vertex ids, which is what other
programs' times are to be compared with. ``--resident`` adds the same search as one Dask task on a
worker in this process.

``--reference FILE.py`` times another direction-optimized search in the same run, on the same
graph and from the same sources, so that machine noise hits both. The file defines
``bfs(indptr, indices, first, n, source, state, visited)`` over degree-ordered rows.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench import options
from daskbfs.graph.build import construct
from daskbfs.graph.edge_stream import ArrayEdges
from daskbfs.graph.generators import KroneckerEdges, kronecker
from daskbfs.graph.graph import Graph
from daskbfs.machine import hardware
from daskbfs.progress import Progress, bars, silent

Times = dict[str, float]
_REFERENCE_PIECE = 512  # words of the reference's counters


@click.command()
@click.option("--scale", "scales", type=int, multiple=True, help="May be repeated.  [default: 22]")
@click.option("--sources", "n_sources", type=int, default=32, show_default=True)
@click.option("--reference", type=click.Path(exists=True), help="Another search, as a Python file.")
@click.option("--resident", is_flag=True, help="Time searches by a Dask worker in here too.")
@click.option("--construction", is_flag=True, help="Time Kernel 1 too, and take its peak memory.")
@options.json_option
@options.quiet_option
def main(
    scales: tuple[int, ...],
    n_sources: int,
    reference: str | None,
    resident: bool,
    construction: bool,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time kernels and searches on Kronecker graphs of edgefactor 16."""
    by_scale: dict[int, dict[str, Any]] = {}
    for scale in scales or (22,):
        figures: dict[str, Any] = {}
        load = _load_reference(reference) if reference else None
        with bars(quiet=quiet) as progress:
            if construction:
                for done, (name, timed) in enumerate(_CONSTRUCTIONS.items()):
                    progress("timing construction", done, len(_CONSTRUCTIONS))
                    figures[name] = _in_fresh_process(timed, scale)
            graph = kronecker(scale, progress=progress)
            figures |= time_searches(graph, n_sources, load, resident=resident, progress=progress)
        by_scale[scale] = figures
        _show(scale, figures)
    options.write_report({"scales": by_scale}, json_file)


def time_searches(
    graph: Graph,
    n_sources: int,
    reference: Callable[[Graph], Callable[[int], Any]] | None,
    *,
    resident: bool,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Mean and median milliseconds of kernel, search, level array, and of the reference."""
    sources = graph.random_sources(n_sources)
    other = reference(graph) if reference else None
    rounds: dict[str, list[float]] = {
        "kernel": [],
        "search": [],
        "level": [],
        "resident": [],
        "reference": [],
    }
    for v in sources[:2]:  # warm
        if resident:
            bfs(graph, v, driver="resident").fetch()
        _ = bfs(graph, v, driver="direct").parent, bfs(graph, v, driver="direct").level
        if other:
            other(int(graph.row_of(v) or 0))
    for done, v in enumerate(sources):
        progress("searching", done, len(sources))
        if resident:
            result = bfs(graph, v, driver="resident").fetch()
            rounds["resident"].append(result.seconds + result.fetch_seconds)
        start = time.perf_counter()
        result = bfs(graph, v, driver="direct")
        _ = result.parent
        rounds["search"].append(time.perf_counter() - start)
        rounds["kernel"].append(result.kernel_seconds)
        if other:
            row = int(graph.row_of(v) or 0)
            start = time.perf_counter()
            other(row)
            rounds["reference"].append(time.perf_counter() - start)
    for v in sources[:4]:
        result = bfs(graph, v, driver="direct")
        start = time.perf_counter()
        _ = result.level
        rounds["level"].append(time.perf_counter() - start)
    figures: dict[str, Any] = {
        name: {"mean_ms": float(np.mean(times)) * 1e3, "median_ms": float(np.median(times)) * 1e3}
        for name, times in rounds.items()
        if times
    }
    figures["kernel_gteps"] = graph.n_input_edges / float(np.mean(rounds["kernel"])) / 1e9
    if other:
        for name in {"kernel", "search", "resident"} & figures.keys():
            ratio = figures[name]["mean_ms"] / figures["reference"]["mean_ms"]
            figures[f"{name}_to_reference"] = ratio
    return figures


def _load_reference(file: str) -> Callable[[Graph], Callable[[int], Any]]:
    """A search from a Python file, made ready for a graph."""
    sys.path.insert(0, str(Path(file).parent))  # numba's cache wants the module by its own name
    module = importlib.import_module(Path(file).stem)

    def prepare(graph: Graph) -> Callable[[int], Any]:
        n = graph.n_rows
        n_words = -(-n // 64)
        indptr = graph.out.indptr.astype(np.int64)
        indices, first = graph.out.indices, graph.out.hub[:n].copy()
        visited = np.zeros(n_words, np.uint64)
        if n % 64:
            visited[-1] = ~np.uint64(0) << np.uint64(n % 64)
        state = (
            np.empty(n, np.uint32),
            *(np.zeros(n_words, np.uint64) for _ in range(3)),
            *(np.empty(n, np.uint32) for _ in range(2)),
            np.zeros(-(-n_words // _REFERENCE_PIECE), np.int64),
        )
        return lambda source: module.bfs(indptr, indices, first, n, source, state, visited)

    return prepare


def _in_fresh_process(function: Callable[[int], Times], scale: int) -> Times:
    """Run in a process of its own, so that peak memory means this work alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, (scale,))


def time_construction(scale: int) -> Times:
    """Kernel 1 from an edge list in memory."""
    stream = KroneckerEdges(scale, 16, seed=1)
    construct(KroneckerEdges(8, 16, seed=1))  # warm
    heads, tails = np.empty(stream.n_edges, np.uint32), np.empty(stream.n_edges, np.uint32)
    stream.make(0, heads, tails)
    graph = construct(ArrayEdges(heads, tails, stream.n_vertices))
    return _describe_construction(graph, graph.construction_seconds)


def time_streaming(scale: int) -> Times:
    """Kernel 1 with the edges made twice, never all in memory."""
    kronecker(8)  # warm
    start = time.perf_counter()
    graph = kronecker(scale)
    return _describe_construction(graph, time.perf_counter() - start)


_CONSTRUCTIONS = {"construction": time_construction, "streaming": time_streaming}


def _describe_construction(graph: Graph, seconds: float) -> Times:
    return {
        "seconds": seconds,
        "graph_bytes": graph.nbytes,
        "peak_bytes": hardware.peak_bytes(),
        "peak_to_graph": hardware.peak_bytes() / graph.nbytes,
    }


def _show(scale: int, figures: dict[str, Any]) -> None:
    """What a person wants to know of one scale."""
    for name in _CONSTRUCTIONS:
        if name in figures:
            built = figures[name]
            click.echo(
                f"scale {scale}  {name:12} {built['seconds']:8.2f} s, "
                f"peak {built['peak_to_graph']:.2f} x the graph's "
                f"{hardware.human_bytes(built['graph_bytes'])}"
            )
    for name in ("kernel", "search", "level", "resident", "reference"):
        if name in figures:
            ratio = figures.get(f"{name}_to_reference")
            click.echo(
                f"scale {scale}  {name:12} {figures[name]['mean_ms']:8.2f} ms mean, "
                f"{figures[name]['median_ms']:.2f} median"
                + (f", {ratio:.2f} x the reference" if ratio else "")
            )
    click.echo(f"scale {scale}  kernel rate  {figures['kernel_gteps']:8.2f} GTEPS")


if __name__ == "__main__":
    sys.exit(main())
