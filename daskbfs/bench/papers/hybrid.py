"""The experiments of Sallinen, Gharaibeh and Ripeanu: direction-optimized searches, hybrid."""

from __future__ import annotations

from collections.abc import Sequence

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.result import BFSResult
from daskbfs.bench.papers.experiments import Bench, CannotRun, Experiment, Observation, Table
from daskbfs.bench.systems.catalogue import Setting, choose_systems
from daskbfs.bench.systems.figures import rates_over_scales, rates_side_by_side
from daskbfs.bench.systems.race import Course, Row, compare
from daskbfs.graph.generators import random_origin
from daskbfs.io.spec import open_origin
from daskbfs.machine.hardware import human_rate
from daskbfs.plotting.figures import degree_figure, phases_figure, runs_figure, search_figure

_SECONDS = 600.0
_STAND_INS = {
    "Twitter": "soc-Slashdot0902.txt.gz",
    "Wikipedia": "web-NotreDame.txt.gz",
    "LiveJournal": "soc-Epinions1.txt.gz",
}
"""Smaller graphs of the same kinds."""
_TABLE_1 = {  # billion TEPS: naive, Galois, Totem on 2S, Totem on 2S2G
    ("Twitter", "top-down"): (0.23, 0.50, 1.39, 2.05),
    ("Twitter", "do"): (None, 1.96, 2.84, 5.78),
    ("Wikipedia", "top-down"): (0.84, 0.42, 1.14, 1.29),
    ("Wikipedia", "do"): (None, 1.12, 1.49, 2.01),
    ("LiveJournal", "top-down"): (0.54, 0.99, 1.26, 1.57),
    ("LiveJournal", "do"): (None, 1.23, 1.96, 2.59),
}


def rows_of(courses: Sequence[Course], bench: Bench, *patterns: str) -> list[Row]:
    """Systems on some graphs; an error where any found a wrong tree."""
    systems = choose_systems(patterns)
    found = compare(courses, systems, timeout=_SECONDS, apart=False, progress=bench.progress)
    for row in found:
        if row.validated is False:
            raise AssertionError(f"{row.name} on {row.graph}: {row.failure}")
        if row.harmonic_mean_teps is None:
            raise CannotRun(f"{row.name} on {row.graph}: {row.failure or 'too quick to be timed'}")
    return found


def make_course(bench: Bench, scale: int) -> Course:
    """A Kronecker graph of some scale."""
    return Course.of(random_origin("kron", scale, 16, 1), bench.n_sources, 1)


def run_searches(bench: Bench, setting: Setting) -> list[BFSResult]:
    """Searches of the largest graph, with all that was measured."""
    graph = bench.graph()
    sources = [int(v) for v in graph.random_sources(bench.n_sources)]
    with setting.client() as client:
        placed = setting.place(graph, client)
        setting.search(placed, sources[0])  # kernels are loaded
        return [setting.search(placed, source).fetch() for source in sources]


def median_of(results: Sequence[BFSResult]) -> BFSResult:
    """The search of median time."""
    return sorted(results, key=lambda result: result.seconds)[(len(results) - 1) // 2]


def _mean_degree(bench: Bench) -> Observation:
    graph = bench.graph()
    results = [
        bfs(graph, int(source), driver="direct") for source in graph.random_sources(bench.n_sources)
    ]
    levels = median_of(results).levels
    degrees = [record.mean_degree for record in levels]
    told = (
        f"The frontier's mean degree is largest in level {degrees.index(max(degrees))} and then "
        f"falls; bottom-up levels are shaded."
    )
    return Observation(told, degree_figure(levels, graph.name))


def _machines(bench: Bench) -> Observation:
    rows = rows_of([make_course(bench, bench.scale)], bench, "do-?S", "do-?S?G-*")
    rate = {row.name: row.harmonic_mean_teps or 0.0 for row in rows}
    gain = rate["do-2S2G-high"] / rate["do-2S2G-random"]
    told = f"Hubs on the CPU are {gain:.2f} times as fast as random partitions on 2S2G."
    return Observation(told, rates_side_by_side(rows, "Direction-optimized"))


def _scales(bench: Bench) -> Observation:
    courses = [make_course(bench, scale) for scale in bench.scales]
    rows = rows_of(courses, bench, "do-1S", "do-2S", "do-2S2G-high")
    told = "The rate end to end, which on small graphs is mostly the way to the workers and back."
    return Observation(told, rates_over_scales(rows, "Rates over scales"))


_TWO = Setting(2, direction="beamer", driver="resident")
_FOUR = Setting(2, 2, "high", "beamer", "resident")


def _overheads(bench: Bench) -> Observation:
    runs = {
        name: [result.to_dict() for result in run_searches(bench, setting)]
        for name, setting in (("2S", _TWO), ("2S2G", _FOUR))
    }
    return Observation("Means over all searches.", phases_figure(runs, "Where the time goes"))


def _levels(bench: Bench) -> Observation:
    settings = {
        "classic, 2S": Setting(2, direction="top_down", driver="resident"),
        "D/O, 2S": _TWO,
        "classic, 2S2G": Setting(2, 2, "high", "top_down", "resident"),
        "D/O, 2S2G": _FOUR,
    }
    levels = {n: median_of(run_searches(bench, s)).levels for n, s in settings.items()}
    slow, fast = (levels[name].kernel_seconds for name in ("classic, 2S", "D/O, 2S"))
    told = f"On 2S, kernels of the classic search take {slow / fast:.1f} times as long."
    return Observation(told, runs_figure(levels, "Time per level"))


def _devices(bench: Bench) -> Observation:
    levels = median_of(run_searches(bench, _FOUR)).levels
    return Observation("Time in kernels, by device.", search_figure(levels, "D/O, 2S2G"))


def _real_graphs(bench: Bench) -> Observation:
    lines = []
    columns = {"top-down": ("naive-top-down-2S", "top-down-2S", "top-down-2S2G-high"),
               "do": ("naive-do-2S", "do-2S", "do-2S2G-high")}  # fmt: skip
    for theirs, name in _STAND_INS.items():
        origin = open_origin(bench.file(name), directed=False)
        there = Course.of(origin, bench.n_sources, 1)
        names = [system for some in columns.values() for system in some]
        rate = {row.name: row.harmonic_mean_teps for row in rows_of([there], bench, *names)}
        for algorithm, systems in columns.items():
            paper = _TABLE_1[theirs, algorithm]
            found = [human_rate(rate[system] or 0.0) for system in systems]
            quoted = ["-" if value is None else f"{value:.2f} GTEPS" for value in paper]
            lines.append((f"{name} for {theirs}", algorithm, *found, *quoted))
    header = (
        "graph", "algorithm", "naive-2S", "2S", "2S2G", "there: naive-2S", "Galois-2S", "Totem-2S",
        "Totem-2S2G",
    )  # fmt: skip
    told = (
        "The real graphs at hand are far smaller, and stand in for those of the paper. Our copy of "
        "it has one figure for Naive, and does not say of which algorithm: it stands by top-down."
    )
    return Observation(told, table=Table(header, lines, n_words=2))


def _energy(bench: Bench) -> Observation:
    graph = bench.graph()
    rate = bench.per_watt(lambda source: bfs(graph, source, driver="direct"), None)
    return Observation(f"{rate:.1f} MTEPS/W, of components, on CPUs only.")


EXPERIMENTS = (
    Experiment(
        "000",
        "Figure 1",
        "The frontier's mean degree is large right after the start, then falls level by level, "
        "while most of the time is spent in a few levels in the middle.",
        _mean_degree,
    ),
    Experiment(
        "000",
        "Figure 2, left",
        "At scale 30, with hubs on the CPU, two GPUs that hold 8 % of the graph make two sockets "
        "2.4 times as fast; with random partitions the gain is the GPUs' share of the memory.",
        _machines,
        on_gpus=True,
    ),
    Experiment(
        "000",
        "Figure 2, right",
        "From scale 27 to 30, rates fall slowly as locality is lost, and the hybrid machine stays "
        "ahead.",
        _scales,
        on_gpus=True,
    ),
    Experiment(
        "000",
        "Figure 3",
        "Computation dominates; initialization, push, pull and aggregation are small.",
        _overheads,
        on_gpus=True,
    ),
    Experiment(
        "000",
        "Figure 4, left",
        "Direction optimization pays in the bottom-up levels 4 and 5; the GPUs then make level 4 "
        "much faster.",
        _levels,
        on_gpus=True,
    ),
    Experiment(
        "000",
        "Figure 4, right",
        "The first bottom-up level on the CPU dwarfs the rest; from level 5 on the GPUs are the "
        "slower ones.",
        _devices,
        on_gpus=True,
    ),
    Experiment(
        "000",
        "Table 1",
        "Direction-optimized beats top-down on all three graphs, and 2S2G beats 2S by 2.0 times on "
        "Twitter and 1.3 times on the smaller ones. Naive is without the optimizations of "
        "locality.",
        _real_graphs,
        on_gpus=True,
    ),
    Experiment(
        "000",
        "Section 4.3, energy",
        "10.86 MTEPS/W on CPUs only and 22.36 MTEPS/W hybrid at scale 30, measured at the outlet.",
        _energy,
    ),
)
