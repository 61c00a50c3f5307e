"""Graphs of every shape, against GAP: ``python -m daskbfs.bench.shapes --gap PATH_TO_BFS``.

Kronecker, uniform, a grid, and files such as road networks and crawls of the web: each is searched
by GAP's ``bfs``, by a serial queue, and by us with the direct driver, from the same sources on the
same file (GAP's binary format), in turns within one run. All times include the parents by the
user's ids: ours are ``seconds`` and ``fetch_seconds``. Figures are means over sources of each
source's median over rounds. GAP (github.com/sbeamer/gapbs) is built by hand; without ``--gap`` its
column is empty.

The serial queue is the least that a graph deserves: one thread, one array of parents, rows in the
order of the file.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench import options
from daskbfs.bench.systems.baselines import cpu_csr
from daskbfs.graph.build import build_graph, construct
from daskbfs.graph.edge_stream import ArrayEdges
from daskbfs.graph.graph import Graph
from daskbfs.io import write_graph
from daskbfs.io.spec import open_origin
from daskbfs.machine import hardware
from daskbfs.plotting.pictures import check_picture, require_matplotlib, save
from daskbfs.progress import Progress, bars

GRAPHS = ("kron:22", "uniform:22", "grid:2048")
_SOURCE = re.compile(r"^Source\s*:?\s+(\d+)", re.MULTILINE)
_TRIAL = re.compile(r"^Trial Time:\s+([\d.]+)", re.MULTILINE)
_SETTLE_SECONDS = 0.5  # for memory that another process held to be free again


@click.command()
@click.argument("graphs", nargs=-1)
@click.option("--gap", type=click.Path(exists=True, dir_okay=False), help="GAP's program bfs.")
@options.rounds_option(3)
@click.option("--sources", type=click.IntRange(1), default=32, show_default=True)
@click.option("--folder", type=click.Path(file_okay=False), help="Keep the .sg files here.")
@click.option("--plot", type=click.Path(), help="Draw the ratios to this file.")
@options.json_option
@options.quiet_option
def main(
    graphs: tuple[str, ...],
    gap: str | None,
    rounds: int,
    sources: int,
    folder: str | None,
    plot: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time searches of GRAPHS: generators, grid:SIDE, or files.

    Default: kron:22 uniform:22 grid:2048.
    """
    if plot:
        check_picture(plot)
        require_matplotlib()
    click.echo(f"load before: {hardware.load()}")
    click.echo(f"{'':26} {'daskbfs':>10} {'GAP':>10} {'ratio':>6} {'queue':>10} {'ratio':>6}")
    rows = []
    with tempfile.TemporaryDirectory() as scratch, bars(quiet=quiet) as progress:
        keep = Path(folder or scratch)
        keep.mkdir(parents=True, exist_ok=True)
        for spec in graphs or GRAPHS:
            graph, file = graph_and_file(spec, keep, progress)
            rows.append(_times(spec, graph, file, gap, rounds, sources))
            click.echo(_line(rows[-1]))
    if plot:
        save(_figure(rows), plot)
    options.write_report({"rounds": rounds, "rows": rows}, json_file)


def graph_and_file(spec: str, folder: Path, progress: Progress) -> tuple[Graph, Path]:
    """A graph, and the file with its rows in the input's order, for the others."""
    if spec.startswith("grid:"):
        heads, tails = grid_edges(int(spec.removeprefix("grid:")))
        graph = construct(ArrayEdges(heads, tails), name=spec, progress=progress)
    else:
        graph = build_graph(open_origin(spec), progress)
    if spec.endswith(".sg"):
        return graph, Path(spec)
    name = re.sub(r"[^\w.-]", "-", Path(spec).name)
    file = folder / f"{name}.sg"
    if not file.exists():
        write_graph(graph, file)
    return graph, file


def grid_edges(side: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges of a square grid, whose vertices are numbered row by row."""
    vertex = np.arange(side * side, dtype=np.uint32).reshape(side, side)
    heads = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1].ravel()])
    tails = np.concatenate([vertex[:, 1:].ravel(), vertex[1:].ravel()])
    return heads, tails


def _times(
    spec: str, graph: Graph, file: Path, gap: str | None, rounds: int, n: int
) -> dict[str, Any]:
    """Mean seconds of a search in each way, by its name."""
    if gap:
        chosen = _gap_sources(gap, file, n)
    else:
        chosen = [graph.vertex(int(source), "source") for source in graph.random_sources(n)]
    ways: dict[str, Callable[[], list[float]]] = {"daskbfs": lambda: _ours(graph, chosen)}
    if gap:
        ways["GAP"] = lambda: gap_seconds(gap, file, len(chosen))
    queue = _SerialQueue(file)
    ways["queue"] = lambda: [queue.seconds(source) for source in chosen]
    ways["daskbfs"]()  # kernels are loaded, memory is touched
    queue.seconds(chosen[0])
    seconds: dict[str, list[list[float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            seconds[name].append(way())
    means = {
        name: statistics.mean(statistics.median(times) for times in zip(*of_rounds, strict=True))
        for name, of_rounds in seconds.items()
    }
    spread = {
        name: [statistics.mean(times) for times in of_rounds] for name, of_rounds in seconds.items()
    }
    return {
        "graph": spec,
        "locality": f"{graph.locality.vertices}: {graph.locality.why}",
        "mean_seconds": means,
        "by_round": spread,
    }


def _ours(graph: Graph, sources: Sequence[int]) -> list[float]:
    """Seconds of our searches, parents by the user's ids included; the sources are indices."""
    seconds = []
    for source in sources:
        result = bfs(graph, int(graph.vertices[source]), driver="direct")
        _ = result.parent
        seconds.append(result.seconds + result.fetch_seconds)
    return seconds


class _SerialQueue:
    """The serial queue on the rows of a file."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as stream:
            stream.read(1)  # whether it is directed: the rows out of vertices come first
            n_arcs, n = np.fromfile(stream, np.int64, 2)
            self._indptr = np.fromfile(stream, np.int64, n + 1)
            self._indices = np.fromfile(stream, np.int32, n_arcs)
        self._parent, self._queue = np.empty((2, n), np.int32)

    def seconds(self, source: int) -> float:
        """Of one search."""
        start = time.perf_counter()
        self._parent.fill(-1)
        cpu_csr.search(self._indptr, self._indices, source, self._parent, self._queue)
        return time.perf_counter() - start


def _gap_output(gap: str, file: Path, n: int, *more: str) -> str:
    """What GAP prints of some trials; it always picks the same sources."""
    words = [gap, "-f", str(file), "-n", str(n), *more]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{' '.join(words)} failed: {done.stderr or done.stdout}")
    return done.stdout


def _gap_sources(gap: str, file: Path, n: int) -> list[int]:
    """The sources that GAP picks."""
    return [int(found) for found in _SOURCE.findall(_gap_output(gap, file, n, "-l"))]


def gap_seconds(gap: str, file: Path, n: int) -> list[float]:
    """Seconds of GAP's searches from these sources."""
    seconds = [float(found) for found in _TRIAL.findall(_gap_output(gap, file, n))]
    time.sleep(_SETTLE_SECONDS)
    return seconds


def _line(row: dict[str, Any]) -> str:
    """A row of the table."""
    means = row["mean_seconds"]
    cells = [f"{row['graph'][-26:]:26} {means['daskbfs'] * 1e3:7.2f} ms"]
    for name in ("GAP", "queue"):
        if name in means:
            ratio = means[name] / means["daskbfs"]
            cells.append(f"{means[name] * 1e3:7.2f} ms {ratio:5.2f}x")
        else:
            cells.append(f"{'-':>10} {'':6}")
    return " ".join(cells)


def _figure(rows: Sequence[dict[str, Any]]) -> Any:
    """How many times as long the others take, as bars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.8 + 0.6 * len(rows)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(rows))
    for k, name in enumerate(("GAP", "queue")):
        ratios = [
            row["mean_seconds"].get(name, np.nan) / row["mean_seconds"]["daskbfs"] for row in rows
        ]
        bars_of_one = axes.barh(places + 0.4 * k, ratios, 0.4, label=f"{name} / daskbfs")
        axes.bar_label(bars_of_one, fmt="%.1f", padding=2)
    axes.set_yticks(places + 0.2, [row["graph"][-26:] for row in rows])
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("time of a search, as multiples of ours; above 1: we are faster")
    axes.invert_yaxis()
    axes.legend()
    return figure


if __name__ == "__main__":
    sys.exit(main())
