"""How near searches are to what memory allows: ``python -m daskbfs.bench.limit GRAPH``.

Measured first: how fast this machine reads as much memory as the graph takes, in its order, and how
many bits it looks up a second at random in a bitmap of the graph's rows. Then, for each level of
some searches, what it must touch at least, counted from the rows and the levels that were found:

- top-down: offsets, name and arcs of each row of the frontier, a look at the bitmap of visited rows
  (or at a parent) for each arc, and the parent of each row that is found;
- bottom-up: the bitmaps, the lines of the hub column that have an unvisited row, a look at the
  frontier's bitmap for each arc examined, the arcs behind hubs, and the parents of rows found;
  without an order by degree, the first arcs of each unvisited row instead of hubs.

A level's least time is that of reading its lines in order or that of its random looks, whichever is
longer: a search that overlaps both perfectly could reach it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench import options
from daskbfs.graph.build import build_graph
from daskbfs.graph.csr import Rows
from daskbfs.graph.graph import Graph
from daskbfs.io.spec import open_origin
from daskbfs.kernels.cpu.memory_speed import read_at_random
from daskbfs.kernels.export import checksum
from daskbfs.kernels.threads import n_threads
from daskbfs.machine import hardware
from daskbfs.names import Direction
from daskbfs.progress import bars
from daskbfs.telemetry.levels import LevelRecord

_LINE_BYTES = 64
_MOST_BYTES = 2**29  # to be read in order: beyond all caches
_READS = 2**24
_ROUNDS = 5
_OFFSET_ROWS = _LINE_BYTES // 4  # rows whose 4-byte items share a line


@dataclass(frozen=True, slots=True)
class Touched:
    """What a level must touch at least."""

    lines: int
    """Of 64 bytes, read or written."""
    looks: int
    """Random reads of a bitmap over all rows, or of parents."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What this machine's memory does, with as many threads as kernels use."""

    bytes_per_second: float
    looks_per_second: float
    """Random reads from a bitmap of the graph's rows, rounded up to a power of 2."""
    bitmap_bytes: int

    def least_seconds(self, touched: Touched) -> float:
        """The least time for a level."""
        streaming = touched.lines * _LINE_BYTES / self.bytes_per_second
        return max(streaming, touched.looks / self.looks_per_second)


@click.command()
@click.argument("graph", default="kron:22")
@click.option("--sources", type=click.IntRange(1), default=8, show_default=True)
@options.json_option
@options.quiet_option
def main(graph: str, sources: int, json_file: str | None, quiet: bool) -> None:
    """Compare searches of GRAPH, level by level, with what memory allows."""
    with bars(quiet=quiet) as progress:
        built = build_graph(open_origin(graph), progress)
        speed = measure_speed(built)
    click.echo(f"load before: {hardware.load()}")
    click.echo(
        f"memory: {speed.bytes_per_second / 1e9:.1f} GB/s in order, "
        f"{speed.looks_per_second / 1e6:,.0f} million random looks a second at "
        f"{hardware.human_bytes(speed.bitmap_bytes)}; {n_threads()} threads"
    )
    chosen = [int(source) for source in built.random_sources(sources)]
    searches = [compare_levels(built, source, speed) for source in chosen]
    middle = sorted(searches, key=_total)[len(searches) // 2]
    for line in _table(middle):
        click.echo(line)
    ratios = [_total(rows) / _least(rows) for rows in searches]
    click.echo(
        f"kernels take {statistics.median(ratios):.2f} times the least, "
        f"{min(ratios):.2f} to {max(ratios):.2f}; {len(chosen)} sources"
    )
    figures = {"graph": graph, "memory": asdict(speed), "sources": chosen, "searches": searches}
    options.write_report(figures, json_file)


def measure_speed(graph: Graph) -> Speed:
    """The best of some rounds: what the memory can do, not what it does beside other work."""
    threads = n_threads()
    words = np.ones(min(_MOST_BYTES, graph.nbytes) // 8, np.uint64)
    bitmap = np.ones(2 ** max(10, (graph.n_rows // 32 - 1).bit_length()), np.uint32)
    in_order = _fastest(lambda: checksum(words, 0, threads))
    at_random = _fastest(lambda: read_at_random(bitmap, _READS, threads))
    return Speed(words.nbytes / in_order, _READS / at_random, bitmap.nbytes)


def _fastest(work: Callable[[], Any]) -> float:
    work()
    seconds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def compare_levels(graph: Graph, source: int, speed: Speed) -> list[dict[str, Any]]:
    """For each level of a search: its time, what it must touch, and the least time for that."""
    bfs(graph, source, driver="direct")  # memory is touched
    result = bfs(graph, source, driver="direct")
    level = result.level[graph.original_index[: graph.n_rows]]
    found = []
    for record in result.levels:
        touched = least_touched(graph, level, record)
        found.append(
            {
                "level": record.level,
                "direction": str(record.direction),
                "seconds": record.kernel_seconds,
                "least_seconds": speed.least_seconds(touched),
                **asdict(touched),
            }
        )
    return found


def least_touched(graph: Graph, level: np.ndarray, record: LevelRecord) -> Touched:
    """What a level must touch at least; ``level`` is of each row."""
    frontier = np.flatnonzero(level == record.level)
    found = np.flatnonzero(level == record.level + 1)
    if record.direction == Direction.TOP_DOWN:
        arcs = int(graph.out.lengths(frontier).sum())
        names = 0 if graph.keeps_input_order else _lines(frontier)
        lines = _lines(frontier) + names + _arc_lines(graph.out, frontier)
        return Touched(lines + _lines(found), arcs)
    unvisited = np.flatnonzero((level < 0) | (level > record.level))
    rows = graph.into
    bitmaps = 2 * graph.n_rows // 8 // _LINE_BYTES
    if not graph.locality.by_degree:  # no hubs: the first arcs of each row, and what they lead to
        arcs = max(_lines(unvisited), record.edges_examined * 4 // _LINE_BYTES)
        offsets, parents = _lines(unvisited), _lines(found)
        return Touched(bitmaps + offsets + arcs + parents, record.edges_examined)
    at_hub = level[rows.hub[found]] == record.level if found.size else np.empty(0, bool)
    behind = np.concatenate([found[~at_hub], unvisited[level[unvisited] != record.level + 1]])
    behind = np.sort(behind[rows.lengths(behind) > 1])
    examined = record.edges_examined - unvisited.size  # the first of each row is its hub
    lines = bitmaps + _lines(unvisited) + 2 * _lines(found) + _lines(behind)
    return Touched(lines + max(_lines(behind), examined * 4 // _LINE_BYTES), record.edges_examined)


def _lines(rows: np.ndarray) -> int:
    """Lines of a column of 4-byte items that some rows, ascending, touch."""
    return int(np.count_nonzero(np.diff(rows // _OFFSET_ROWS))) + 1 if rows.size else 0


def _arc_lines(rows: Rows, some: np.ndarray) -> int:
    """Lines of arcs of some rows, ascending."""
    begin = rows.indptr[some].astype(np.int64) // _OFFSET_ROWS
    end = (rows.indptr[some + 1].astype(np.int64) - 1) // _OFFSET_ROWS
    shared = np.count_nonzero(begin[1:] == end[:-1])
    return int((end - begin + 1).sum() - shared)


def _total(levels: list[dict[str, Any]]) -> float:
    return float(sum(row["seconds"] for row in levels))


def _least(levels: list[dict[str, Any]]) -> float:
    return float(sum(row["least_seconds"] for row in levels))


def _table(levels: list[dict[str, Any]]) -> list[str]:
    """The levels of a search that take longest, and all of them together."""
    heading = f"{'level':>5} {'direction':10} {'MB':>9} {'M looks':>9} {'least ms':>9} {'ms':>9}"
    slowest = sorted(levels, key=lambda row: -row["seconds"])[:_SHOWN]
    in_order = sorted(slowest, key=lambda row: int(row["level"]))
    rows = [f"{row['level']:5} {row['direction']:10} {_cells([row])}" for row in in_order]
    return [heading, *rows, f"{'all':>5} {len(levels):<10} {_cells(levels)}"]


_SHOWN = 12


def _cells(levels: list[dict[str, Any]]) -> str:
    megabytes = sum(row["lines"] for row in levels) * _LINE_BYTES / 1e6
    looks = sum(row["looks"] for row in levels) / 1e6
    least, seconds = _least(levels), _total(levels)
    return (
        f"{megabytes:9.3f} {looks:9.3f} {least * 1e3:9.3f} {seconds * 1e3:9.3f} "
        f"{seconds / max(least, 1e-12):6.1f}x"
    )


if __name__ == "__main__":
    sys.exit(main())
