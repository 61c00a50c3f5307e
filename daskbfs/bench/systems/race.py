"""Systems side by side on one graph: each in a process of its own, each tree validated.

Kernel 1 is timed from the input edges in memory until a search can start, Kernel 2 until the
parents of all vertices stand in the caller's memory. Both have run once on a small graph before,
and Kernel 2 once on this one, so that kernels are loaded and buffers there. What a system's
processes hold at the most is read before its trees are checked; the input edges and the trees
themselves are part of it, but for programs of their own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from daskbfs import __version__
from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench.systems.baselines import Edges
from daskbfs.bench.systems.baselines.command import Command, written_files
from daskbfs.bench.systems.catalogue import Kernels, System, catalogue
from daskbfs.graph.build import build_graph, build_outline, indexed_blocks
from daskbfs.graph.edge_stream import Origin, collect_blocks
from daskbfs.graph.generators import random_origin
from daskbfs.graph.graph import RemoteGraph
from daskbfs.machine import hardware
from daskbfs.progress import Progress, silent
from daskbfs.validation.trees import Trees, ValidationError

_SECONDS_TO_LEAVE = 10.0
_SMALL = ("kron", 6, 16, 1)  # on which kernels are loaded


@dataclass(frozen=True, slots=True)
class Row:
    """What was found of one system on one graph."""

    name: str
    paper: str
    device: str
    graph: str
    scale: int | None
    """Of generated graphs."""
    kernel1_seconds: float | None = None
    harmonic_mean_teps: float | None = None
    peak_bytes: int | None = None
    source_lines: int | None = None
    validated: bool | None = None
    """None where trees cannot be checked: an external program that does not verify its own."""
    kernel2_seconds: list[float] = field(default_factory=list)
    """Of each search."""
    failure: str | None = None
    """Why there are no figures."""

    @property
    def emulated(self) -> bool:
        """Whether its time is no device's."""
        return "emulated" in self.device


@dataclass(frozen=True, slots=True)
class Course:
    """What all systems have to do: a graph, and where to search it from."""

    origin: Origin
    scale: int | None
    sources: tuple[int, ...]
    """By index."""

    @classmethod
    def of(cls, origin: Origin, n_trials: int, seed: int, progress: Progress = silent) -> Course:
        """Searches from random vertices that have edges."""
        outline = build_outline(origin, progress)
        sources = outline.random_sources(n_trials, seed)
        if not sources.size:
            raise ValueError(f"{origin.name} has no edges, so no vertex to start from")
        indices = tuple(int(outline.ids.index(int(v))) for v in sources)
        return cls(origin, getattr(origin.stream, "scale", None), indices)

    def row(self, system: System, **found: Any) -> Row:
        """A row of the table."""
        return Row(system.name, system.paper, system.device, self.origin.name, self.scale, **found)


def compare(
    courses: Sequence[Course],
    systems: Sequence[System],
    *,
    timeout: float,
    apart: bool = True,
    show_row: Callable[[Row], None] = lambda row: None,
    progress: Progress = silent,
) -> list[Row]:
    """Run all systems over all courses; one that fails says why, and the others go on.

    Unless they run ``apart``, each in a process of its own, the peak memory of one includes that of
    those before it, and one that takes too long is not terminated.
    """
    rows: list[Row] = []
    total = len(courses) * len(systems)
    for course in courses:
        for system in systems:
            progress("comparing", len(rows), total)
            if apart:
                rows.append(_measure_apart(system, course, timeout))
            else:
                rows.append(course.row(system, **_measure_or_explain(system, course, timeout)))
            show_row(rows[-1])
    progress("comparing", total, total)
    return rows


def _measure_apart(system: System, course: Course, timeout: float) -> Row:
    """A system in a process of its own, for so many seconds at most."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    words = () if system.command is None else (system.command.text,)
    process = context.Process(target=_report, args=(theirs, system.name, words, course, timeout))
    process.start()
    theirs.close()
    try:
        if not ours.poll(timeout):
            return course.row(system, failure=f"not done after {timeout:g} s")
        found: dict[str, Any] = ours.recv()
        process.join(_SECONDS_TO_LEAVE)
    except EOFError:
        process.join()
        return course.row(system, failure=f"its process ended with code {process.exitcode}")
    finally:
        for way in (process.terminate, process.kill):
            if process.is_alive():
                way()
                process.join(_SECONDS_TO_LEAVE)
    return course.row(system, **found)


def _report(
    target: Any, name: str, commands: Sequence[str], course: Course, timeout: float
) -> None:
    """Run a system, and send what was found; what it prints belongs to no table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whatever it started is ended too
    _silence()
    target.send(_measure_or_explain(catalogue(commands)[name], course, timeout))
    target.close()


def _measure_or_explain(system: System, course: Course, timeout: float) -> dict[str, Any]:
    """What was measured of a system, or why it could not be."""
    try:
        return measure(system, course, timeout)
    except Exception as error:  # whatever a system does, the others are to run
        return {"failure": f"{type(error).__name__}: {error}"}


def _silence() -> None:
    """Print nothing more, nor what this process starts."""
    with Path(os.devnull).open("w") as nowhere:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere.fileno(), stream.fileno())


def measure(system: System, course: Course, timeout: float) -> dict[str, Any]:
    """Both kernels of a system, timed, and what its trees are worth."""
    if system.command is not None:
        return _run_command(system.command, course, timeout)
    small, _ = input_edges(random_origin(*_SMALL))
    edges, outline = input_edges(course.origin)
    with system.start() as kernels:
        kernels.kernel2(kernels.kernel1(small), int(small.heads[0]))
        found, parents = _time_kernels(kernels, edges, course.sources)
    try:
        reached = _validate_trees(outline, course.origin, course.sources, parents)
    except ValidationError as error:
        return {"validated": False, "failure": f"a wrong tree: {error}"}
    return found | {
        "validated": True,
        "source_lines": system.source_lines(),
        "harmonic_mean_teps": _rate(reached, found["kernel2_seconds"]),
    }


def _rate(edges: Sequence[int], seconds: Sequence[float]) -> float | None:
    """The harmonic mean; None where a search is too short for the clock, or finds no edges."""
    if not all(edges) or not all(seconds):
        return None
    return statistics.harmonic_mean([n / s for n, s in zip(edges, seconds, strict=True)])


def _run_command(command: Command, course: Course, timeout: float) -> dict[str, Any]:
    """What a program tells of itself, run once for each source."""
    edges, outline = input_edges(course.origin)
    graph = build_graph(course.origin)
    ids = outline.vertices
    within = [bfs(graph, int(ids[s]), driver="direct").edges for s in course.sources]
    del graph
    with written_files(edges, [command]) as files:
        end = time.perf_counter() + timeout
        runs = [
            command.run(files, source, timeout_seconds=max(0.0, end - time.perf_counter()))
            for source in course.sources
        ]
    verdicts = {run.validated for run in runs}
    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    seconds = [statistics.median(run.trial_seconds) for run in runs]
    return {
        "kernel1_seconds": runs[0].kernel1_seconds,
        "kernel2_seconds": seconds,
        "peak_bytes": max(peaks, default=None),
        "validated": False if False in verdicts else None if None in verdicts else True,
        "harmonic_mean_teps": None if False in verdicts else _rate(within, seconds),
        "failure": "a wrong tree, by its own checks" if False in verdicts else None,
    }


def _time_kernels(
    kernels: Kernels, edges: Edges, sources: Sequence[int]
) -> tuple[dict[str, Any], list[np.ndarray]]:
    start = time.perf_counter()
    made = kernels.kernel1(edges)
    kernel1_seconds = time.perf_counter() - start
    kernels.kernel2(made, sources[0])
    parents, seconds = [], []
    for source in sources:
        start = time.perf_counter()
        parent = kernels.kernel2(made, source)
        seconds.append(time.perf_counter() - start)
        parents.append(np.array(parent))  # its memory may serve the next search
    found = {
        "kernel1_seconds": kernel1_seconds,
        "kernel2_seconds": seconds,
        "peak_bytes": sum(kernels.peaks(made)),
    }
    return found, parents


def input_edges(origin: Origin) -> tuple[Edges, RemoteGraph]:
    """All edges in memory, by indices of vertices, and the outline of their graph."""
    outline = build_outline(origin)
    blocks = indexed_blocks(outline, origin.stream)
    return Edges(*collect_blocks(blocks, outline.n_input_edges), outline.n_vertices), outline


def _validate_trees(
    outline: RemoteGraph, origin: Origin, sources: Sequence[int], parents: Sequence[np.ndarray]
) -> list[int]:
    """Check all trees against the input edges; returns the edges within each."""
    trees = Trees(outline)
    vertices = outline.vertices
    within = []
    for source, parent in zip(sources, parents, strict=True):
        if trees.full:
            trees.check(origin.stream)
        if parent.shape != (vertices.size,) or parent.max(initial=-1) >= vertices.size:
            raise ValidationError(5, int(vertices[source]), "its parents are of another graph")
        reached = parent >= 0
        named = np.full(parent.size, -1, np.int64)
        named[reached] = vertices[parent[reached]]
        trees.add(int(vertices[source]), named)
        by_row = reached[outline.original_index[: outline.n_rows]]
        within.append(int(outline.input_degree[by_row].sum(dtype=np.int64)) // 2)
    trees.check(origin.stream)
    return within


def report(rows: Sequence[Row]) -> dict[str, Any]:
    """The JSON contract of ``daskbfs compare``."""
    return {
        "daskbfs": __version__,
        "machine": hardware.describe(),
        "rows": [asdict(row) for row in rows],
    }


COLUMNS = ("system", "paper", "device", "Kernel 1", "Kernel 2", "peak", "lines")


def cells(row: Row) -> tuple[str, ...]:
    """A row as people read it."""
    rate, peak, lines = row.harmonic_mean_teps, row.peak_bytes, row.source_lines
    return (
        row.name,
        row.paper or "-",
        row.device,
        "-" if row.kernel1_seconds is None else f"{row.kernel1_seconds:.3f} s",
        row.failure or ("-" if rate is None else hardware.human_rate(rate)),
        "-" if peak is None else hardware.human_bytes(peak),
        "-" if lines is None else str(lines),
    )


def by_graph(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Rows by the graph that was searched."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.graph, []).append(row)
    return found
