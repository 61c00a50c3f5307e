"""The Graph500 benchmark, by its rules: generation, Kernel 1, Kernel 2 from 64 keys, validation.

Kernel 2 is timed from before the search until the parent array stands in the caller's memory, in
the vertices of the input. Every tree is checked against the input edges, outside the clock.

A run that cannot keep the edges subtracts from construction only what the quickest worker took to
make them. Nothing is kept between searches but buffers and compiled kernels: the number of levels
that the waves driver expects is forgotten. Kernel 2 includes the assembly of the dense array in the
caller's memory, which ``seconds`` of ``daskbfs run`` does not.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.result import BFSResult
from daskbfs.bench import confidence
from daskbfs.bench.energy import measure_energy
from daskbfs.bench.trials import Trials, summarize
from daskbfs.distribution.connect import is_here, place, require_workers
from daskbfs.distribution.distributed_graph import DistributedGraph, require_graph
from daskbfs.graph.degrees import construction_bytes
from daskbfs.graph.edge_stream import ArrayEdges, EdgeStream, Origin, collect_blocks
from daskbfs.graph.generators import GENERATORS, KINDS, RandomEdges, ReferenceEdges, random_origin
from daskbfs.graph.graph import Graph, Outline
from daskbfs.kernels.tree_checks import MOST_TREES
from daskbfs.machine import hardware
from daskbfs.partition.placement import in_this_process
from daskbfs.progress import Progress
from daskbfs.validation.trees import Trees, ValidationError

_BYTES_PER_EDGE = 8
_BYTES_PER_TREE = 9  # and vertex: parents, as found and to be checked, and levels
_BYTES_OF_A_SEARCH = 24  # and vertex: parents, twice, levels, and the outline of a graph elsewhere


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run."""

    scale: int
    edgefactor: int = 16
    n_keys: int = 64
    generator: str = "fast"
    seed: int | None = None
    """None takes the official one for the reference generator, else 1."""
    driver: str = "auto"
    direction: str | None = None
    strategy: str = "auto"
    cpu_share: float | None = None
    threads: int | None = None
    energy_seconds: float | None = None

    @property
    def kind(self) -> str:
        """What the graph is called before its scale."""
        return GENERATORS[self.generator]

    @property
    def seed_number(self) -> int:
        """The seed of graph and keys."""
        return KINDS[self.kind].default_seed if self.seed is None else self.seed

    def origin(self) -> Origin:
        """Where the graph comes from; no edge is made yet."""
        return random_origin(self.kind, self.scale, self.edgefactor, self.seed)


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """The memory of this machine that a run needs, and what is free."""

    needed: int
    """Without the edges."""
    edges: int
    free: int
    builds_here: bool
    """Whether this process makes the graph, so that it can keep the edges."""

    @classmethod
    def of(cls, plan: Plan, workers: Sequence[str] | None) -> MemoryNeed:
        """An estimate, before anything is made; workers on this machine share its memory."""
        n, m = 2**plan.scale, plan.edgefactor * 2**plan.scale
        needed = n * (_BYTES_OF_A_SEARCH + MOST_TREES * _BYTES_PER_TREE)
        if workers is None or any(is_here(worker) for worker in workers):
            needed += construction_bytes(n, m)
        builds_here = workers is None or in_this_process(workers)
        return cls(needed, m * _BYTES_PER_EDGE, hardware.available_bytes(), builds_here)

    @property
    def keeps_edges(self) -> bool:
        """Whether edges are made once and stored, or made again whenever they are needed."""
        return self.builds_here and self.needed + self.edges <= self.free

    def check(self) -> None:
        """Refuse a run that cannot fit."""
        hardware.require_memory(
            self.needed, "this run", "take a smaller --scale, or workers on other machines"
        )

    def __str__(self) -> str:
        takes = self.needed + (self.edges if self.keeps_edges else 0)
        how = "stored" if self.keeps_edges else "made again for each pass"
        return (
            f"needs about {hardware.human_bytes(takes)}, and {hardware.human_bytes(self.free)} are "
            f"free here; edges are {how}"
        )


@dataclass(slots=True)
class Outcome:
    """A run so far."""

    plan: Plan
    placed: Graph | DistributedGraph
    generation_seconds: float
    construction_seconds: float
    edges_stored: bool
    trials: Trials = field(default_factory=lambda: Trials(validated=True))
    seconds: list[float] = field(default_factory=list)
    """Of Kernel 2, by key."""
    validate_seconds: list[float] = field(default_factory=list)
    energy: dict[str, Any] | None = None


def run(
    plan: Plan, client: Client | None, progress: Progress, say: Callable[[str], None]
) -> Outcome:
    """The whole benchmark; a wrong tree ends it."""
    origin = plan.origin()
    stream = origin.stream
    assert isinstance(stream, RandomEdges)
    memory = MemoryNeed.of(plan, None if client is None else require_workers(client))
    memory.check()
    say(f"{origin.name} {memory}")
    generation_seconds = 0.0
    edges: EdgeStream = stream
    if memory.keeps_edges:
        start = time.perf_counter()
        edges = store_edges(stream, progress)
        generation_seconds = time.perf_counter() - start
    start = time.perf_counter()
    placed = place(
        Origin(edges, origin.directed, origin.name),
        client,
        strategy=plan.strategy,
        cpu_share=plan.cpu_share,
        seed=plan.seed_number,
        progress=progress,
    )
    construction_seconds = time.perf_counter() - start
    graph = require_graph(placed)
    if not memory.keeps_edges:  # they were made on the way, which is none of Kernel 1
        generation_seconds = graph.generation_seconds or 0.0
        construction_seconds -= generation_seconds
    outcome = Outcome(plan, placed, generation_seconds, construction_seconds, memory.keeps_edges)
    keys = search_keys(graph, stream, plan)
    if not keys:
        raise ValueError(f"{origin.name} has no vertex with an edge: take a larger --edgefactor")
    _search(placed, keys[0], plan)  # kernels are loaded, and buffers there, as in the official code
    try:
        _search_all(outcome, keys, edges, progress)
    except ValidationError as error:
        outcome.trials.validated, outcome.trials.failure = False, error
        return outcome
    if plan.energy_seconds is not None:
        outcome.energy = _energy(outcome, client, progress)
    return outcome


def _energy(outcome: Outcome, client: Client | None, progress: Progress) -> dict[str, Any]:
    """Component energy; where it cannot be had, why: what was measured before is not lost."""
    plan = outcome.plan
    assert plan.energy_seconds is not None
    edges_of = {record["source"]: record["edges"] for record in outcome.trials.records}
    try:
        return measure_energy(
            lambda key: _search(outcome.placed, key, plan),
            edges_of,
            client,
            plan.energy_seconds,
            progress,
        )
    except Exception as error:  # of a driver, a worker, or a search
        return {"unavailable": f"{type(error).__name__}: {error}"}


def store_edges(stream: RandomEdges, progress: Progress) -> ArrayEdges:
    """Edges made once and kept, as the edge list of the specification is."""
    n = stream.n_edges
    edges = collect_blocks(stream.blocks(), n, lambda done: progress("generating", done, n))
    return ArrayEdges(*edges, stream.n_vertices)


def search_keys(graph: Outline, stream: RandomEdges, plan: Plan) -> list[int]:
    """Distinct random vertices with an edge that is no self-loop: all there are, if too few.

    With the reference generator, those that the official code takes.
    """
    if not isinstance(stream, ReferenceEdges):
        return [int(v) for v in graph.random_sources(plan.n_keys, plan.seed_number)]
    keys: dict[int, None] = {}
    most = min(plan.n_keys, graph.n_rows)
    # the official code gives up after so many candidates; the rules do not
    for vertex in itertools.chain(stream.key_candidates(), range(stream.n_vertices)):
        if len(keys) == most:
            break
        if graph.row_of(vertex) is not None:
            keys[vertex] = None
    return list(keys)


def _search(placed: Graph | DistributedGraph, key: int, plan: Plan) -> tuple[BFSResult, float]:
    """One search, and how long it took until its parents stood in memory here."""
    if isinstance(placed, DistributedGraph):
        placed.placed_partitions.forget_runs()  # nothing is carried from one search to the next
    start = time.perf_counter()
    result: BFSResult = bfs(
        placed, key, driver=plan.driver, direction=plan.direction, threads=plan.threads
    )
    result.fetch()
    return result, time.perf_counter() - start


def _search_all(
    outcome: Outcome, keys: Sequence[int], edges: EdgeStream, progress: Progress
) -> None:
    """Search from each key in turn; when enough trees have come, check them."""
    trees = Trees(require_graph(outcome.placed))
    for first in range(0, len(keys), MOST_TREES):
        some = keys[first : first + MOST_TREES]
        parents = []
        for n, key in enumerate(some, first + 1):
            result, seconds = _search(outcome.placed, key, outcome.plan)
            outcome.trials.last = result
            outcome.trials.records.append(result.to_dict() | {"kernel2_seconds": seconds})
            outcome.seconds.append(seconds)
            parents.append(result.parent.copy())  # its own memory serves the next search
            progress("searching", n, len(keys))
        start = time.perf_counter()
        for key, parent in zip(some, parents, strict=True):
            trees.add(key, parent)
        trees.check(edges, progress)
        share = (time.perf_counter() - start) / len(some)
        outcome.validate_seconds += [share] * len(some)


def official(outcome: Outcome) -> dict[str, int | float]:
    """The fields of the specification's output, in its order; only for trees that are right."""
    plan, records = outcome.plan, outcome.trials.records
    edges = [record["edges"] for record in records]
    fields: dict[str, int | float] = {
        "SCALE": plan.scale,
        "edgefactor": plan.edgefactor,
        "NBFS": len(records),
        "graph_generation": outcome.generation_seconds,
        "construction_time": outcome.construction_seconds,
    }
    groups = {
        "time": confidence.statistics(outcome.seconds),
        "nedge": confidence.statistics(edges),
        "TEPS": confidence.rate_statistics(outcome.seconds, edges),
        "validate": confidence.statistics(outcome.validate_seconds),
    }
    for what, figures in groups.items():
        fields |= {f"bfs_{name}_{what}": value for name, value in figures.items()}
    return fields


def intervals(outcome: Outcome) -> dict[str, list[float]] | None:
    """Between which values some fields lie with 95 % confidence; None after too few searches."""
    edges = [record["edges"] for record in outcome.trials.records]
    per_edge = [s / m for s, m in zip(outcome.seconds, edges, strict=True)]
    times, medians, each = (
        confidence.interval(outcome.seconds),
        confidence.interval(outcome.seconds, confidence.median),
        confidence.interval(per_edge),
    )
    if times is None or medians is None or each is None:
        return None
    return {
        "bfs_mean_time": list(times),
        "bfs_median_time": list(medians),
        "bfs_harmonic_mean_TEPS": [1 / each[1], 1 / each[0]],
    }


def report(outcome: Outcome) -> dict[str, Any]:
    """The JSON contract: official fields at the top, beside what ``daskbfs run`` tells."""
    plan = outcome.plan
    common = summarize(outcome.placed, outcome.trials, direction=plan.direction)
    common |= {
        "generator": plan.generator,
        "seed": plan.seed_number,
        "edges_stored": outcome.edges_stored,
    }
    if outcome.trials.failure is not None:
        for record in common["trials"]:
            record["teps"] = None
        nothing = {"harmonic_mean_teps": None, "median_seconds": None}
        return common | nothing | {"failure": str(outcome.trials.failure)}
    fields = official(outcome)
    for record in common["trials"]:  # one clock for all rates: Kernel 2's
        record["teps"] = record["edges"] / record["kernel2_seconds"]
    common["harmonic_mean_teps"] = fields["bfs_harmonic_mean_TEPS"]
    common["median_seconds"] = fields["bfs_median_time"]
    return {
        **confidence.finite(fields),
        "intervals": intervals(outcome),
        "energy": outcome.energy,
        **common,
    }
