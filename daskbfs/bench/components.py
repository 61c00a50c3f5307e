"""Connected components against others: ``python -m daskbfs.bench.components --gap PATH_TO_CC``.

GAP's ``cc`` (Afforest in C++), scipy's ``connected_components`` (one thread) and ours with the
direct driver find the components of the same graphs, in turns within one run. Times include labels
by the user's ids: ours are ``seconds`` and ``fetch_seconds``. Figures are medians over rounds; a
round of GAP and ours is some trials, of which the median counts. GAP (github.com/sbeamer/gapbs) is
built by hand; without ``--gap`` its column is empty.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from daskbfs.algorithms.components.api import connected_components
from daskbfs.bench import options
from daskbfs.bench.shapes import gap_seconds, graph_and_file
from daskbfs.graph.graph import Graph
from daskbfs.interop.convert import to_scipy
from daskbfs.machine import hardware
from daskbfs.machine.devices import require_package
from daskbfs.progress import bars

_OTHERS = ("GAP", "scipy")


@click.command()
@click.argument("graphs", nargs=-1)
@click.option("--gap", type=click.Path(exists=True, dir_okay=False), help="GAP's program cc.")
@options.rounds_option(3)
@click.option("--trials", type=click.IntRange(1), default=8, show_default=True)
@click.option("--folder", type=click.Path(file_okay=False), help="Keep the .sg files here.")
@options.json_option
@options.quiet_option
def main(
    graphs: tuple[str, ...],
    gap: str | None,
    rounds: int,
    trials: int,
    folder: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Time the components of GRAPHS: generators, grid:SIDE, or files.

    Default: kron:22.
    """
    click.echo(f"load before: {hardware.load()}")
    click.echo(f"{'':26} {'daskbfs':>10} {'GAP':>10} {'ratio':>6} {'scipy':>10} {'ratio':>6}")
    rows = []
    with tempfile.TemporaryDirectory() as scratch, bars(quiet=quiet) as progress:
        keep = Path(folder or scratch)
        keep.mkdir(parents=True, exist_ok=True)
        for spec in graphs or ("kron:22",):
            graph, file = graph_and_file(spec, keep, progress)
            rows.append(_times(spec, graph, file, gap, rounds, trials))
            click.echo(_line(rows[-1]))
    options.write_report({"rounds": rounds, "trials": trials, "rows": rows}, json_file)


def _times(
    spec: str, graph: Graph, file: Path, gap: str | None, rounds: int, trials: int
) -> dict[str, Any]:
    """Median seconds in each way, by its name."""
    sparse = require_package("scipy.sparse.csgraph", "networkx", "the components of scipy")
    matrix = to_scipy(graph)
    found: dict[str, int] = {}

    def ours() -> float:
        result = connected_components(graph, driver="direct")
        _ = result.component
        seconds = result.seconds + result.fetch_seconds
        found["daskbfs"] = result.n_components
        return seconds

    def scipys() -> float:
        start = time.perf_counter()
        found["scipy"], _ = sparse.connected_components(
            matrix, directed=graph.directed, connection="weak"
        )
        return time.perf_counter() - start

    ways: dict[str, Callable[[], float]] = {
        "daskbfs": lambda: statistics.median(ours() for _ in range(trials))
    }
    if gap:
        ways["GAP"] = lambda: statistics.median(gap_seconds(gap, file, trials))
    ways["scipy"] = scipys
    ways["daskbfs"]()  # kernels are loaded, memory is touched
    by_round: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            by_round[name].append(way())
    if found["daskbfs"] != found["scipy"]:
        raise click.ClickException(f"scipy finds {found['scipy']} components, not {found}")
    medians = {name: statistics.median(seconds) for name, seconds in by_round.items()}
    examined = sum(r.edges_examined for r in connected_components(graph, driver="direct").levels)
    return {
        "graph": spec,
        "n_components": found["daskbfs"],
        "arcs": graph.n_arcs,
        "arcs_examined": int(examined),
        "median_seconds": medians,
        "by_round": by_round,
    }


def _line(row: dict[str, Any]) -> str:
    """A row of the table."""
    medians = row["median_seconds"]
    cells = [f"{row['graph'][-26:]:26} {medians['daskbfs'] * 1e3:7.2f} ms"]
    for name in _OTHERS:
        seconds = medians.get(name, np.nan)
        ratio = seconds / medians["daskbfs"]
        cells.append(f"{seconds * 1e3:7.1f} ms {ratio:5.1f}x" if name in medians else f"{'-':>17}")
    return " ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
