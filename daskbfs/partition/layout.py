"""Which rows belong to which partition, and the global ids that this gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskbfs.graph.csr import pad_to_words
from daskbfs.graph.graph import Outline
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.buffers import ensure_owned
from daskbfs.kernels.vertex_numbers import MAX_VERTICES
from daskbfs.machine.hardware import human_bytes
from daskbfs.partition.footprint import Footprint, footprint
from daskbfs.partition.strategy import Sides, check_share, check_strategy, sides


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Which partition each row of a graph belongs to, and its global id there."""

    rows: tuple[np.ndarray, ...]
    """Rows of each partition, in the graph's order."""
    first: np.ndarray
    """Global id of each partition's row 0, and the end of all."""
    global_id: np.ndarray
    """By row of the graph; the row behind the last stands for isolated vertices: a padding id."""
    n_primary: int
    """Partitions that own their rows; those behind them mirror these, one each."""

    @property
    def n_partitions(self) -> int:
        return len(self.rows)

    @property
    def n_global(self) -> int:
        """Global ids, padding included."""
        return int(self.first[-1])

    def owned_copy(self) -> Layout:
        """A layout that came over the wire, with arrays that kernels know."""
        rows = tuple(ensure_owned(mine) for mine in self.rows)
        return Layout(rows, self.first, ensure_owned(self.global_id), self.n_primary)


def lay_out(
    graph: Outline,
    n_partitions: int,
    strategy: str = "random",
    seed: int = 1,
    *,
    n_cpu: int | None = None,
    cpu_share: float = 1.0,
) -> Layout:
    """Deal a graph's rows to partitions.

    The first ``n_cpu`` partitions are the CPU's, and get ``cpu_share`` of the arcs; None gives it
    all of them.
    """
    check_count(graph, n_partitions)
    check_strategy(strategy)
    if n_partitions == 1:
        return layout_of(np.zeros(graph.n_rows, np.uint32), 1)
    if n_cpu is None:
        n_cpu = n_partitions
    handed_out = _sides(graph, strategy, seed)
    n_cpu_rows = handed_out.cpu_rows(_only_share(n_cpu, n_partitions, cpu_share))
    return layout_of(handed_out.deal(n_cpu_rows, n_cpu, n_partitions - n_cpu), n_partitions)


def lay_out_to_fit(
    graph: Outline, n_cpu: int, n_others: int, other_bytes: int, strategy: str, seed: int = 1
) -> Layout:
    """Deal accelerators, which have so many bytes each, as much as fits, and CPUs the rest."""
    n_partitions = n_cpu + n_others
    check_count(graph, n_partitions)
    handed_out = _sides(graph, strategy, seed)
    n_global = graph.n_rows + WORD_BITS * n_partitions
    arcs_share = graph.n_arcs / max(1, handed_out.n_arcs)  # of one direction, where there are two

    def fits(n_rows: int, n_arcs: int) -> bool:
        mine, arcs = -(-n_rows // n_others), int(arcs_share * n_arcs / n_others)
        need = footprint(mine, arcs, arcs if graph.directed else None, n_global)
        return need.on_device <= slack * other_bytes

    slack = 1.0
    while True:  # partitions of a side are only about equal
        n_cpu_rows = handed_out.fewest_cpu_rows(fits)
        if n_cpu_rows and not n_cpu:
            raise MemoryError(
                f"{n_cpu_rows} of {graph.n_rows} vertices do not fit {n_others} accelerators of "
                f"{human_bytes(other_bytes)} each, and there is no CPU for the rest: add one"
            )
        layout = layout_of(handed_out.deal(n_cpu_rows, n_cpu, n_others), n_partitions)
        needs = [
            partition_footprint(graph, layout, p).on_device for p in range(n_cpu, n_partitions)
        ]
        if max(needs) <= other_bytes:
            return layout
        if n_cpu_rows == graph.n_rows:
            raise MemoryError(
                f"accelerators of {human_bytes(other_bytes)} each are too small for any part of "
                f"the graph: without a single row, one needs {human_bytes(max(needs))}"
            )
        slack *= _CLOSER


_CLOSER = 0.98


def check_number(n_partitions: int) -> None:
    """Refuse numbers of partitions that no graph can have."""
    if n_partitions < 1:
        raise ValueError(f"n_partitions {n_partitions} is out of range: at least 1")


def check_count(graph: Outline, n_partitions: int) -> None:
    """Refuse numbers of partitions that a graph cannot have."""
    check_number(n_partitions)
    if graph.n_rows + 2 * WORD_BITS * n_partitions > MAX_VERTICES:
        raise ValueError(f"{n_partitions} partitions are too many for {graph.n_rows} vertices")


def _only_share(n_cpu: int, n_partitions: int, cpu_share: float) -> float:
    """The CPU's share; all or nothing where one kind has all partitions."""
    if n_cpu == n_partitions:
        return 1.0
    return check_share(cpu_share) if n_cpu else 0.0


def arcs_before(graph: Outline) -> np.ndarray:
    """Arcs of the rows before each, in both directions where they differ; and all of them."""
    out, into = graph.all_lengths
    arcs = np.zeros(graph.n_rows + 1, np.int64)
    np.cumsum(out, out=arcs[1:])
    if graph.directed:
        arcs[1:] += np.cumsum(into, dtype=np.int64)
    return arcs


def _sides(graph: Outline, strategy: str, seed: int) -> Sides:
    by_degree = graph.locality.by_degree
    return sides(arcs_before(graph), graph.input_degree, strategy, seed, by_degree=by_degree)


def layout_of(owner: np.ndarray, n_partitions: int) -> Layout:
    """The layout in which each row has the given owner."""
    dealt = np.argsort(owner.astype(np.min_scalar_type(n_partitions)), kind="stable")
    counts = np.bincount(owner, minlength=n_partitions)
    rows = tuple(np.split(dealt.astype(np.uint32), np.cumsum(counts)[:-1]))
    first = np.cumsum([0, *(pad_to_words(r.size) for r in rows)])
    global_id = np.empty(owner.size + 1, np.uint32)
    global_id[-1] = first[0] + rows[0].size
    for p, mine in enumerate(rows):
        global_id[mine] = first[p] + np.arange(mine.size)
    return Layout(rows, first, global_id, n_partitions)


def mirrored(layout: Layout) -> Layout:
    """The same rows once more, for as many accelerators."""
    first = np.concatenate([layout.first[:-1], layout.first])
    return Layout(layout.rows * 2, first, layout.global_id, layout.n_primary)


def partition_footprint(graph: Outline, layout: Layout, p: int) -> Footprint:
    """Memory of a partition that is yet to be made."""
    rows = layout.rows[p]
    out_arcs, in_arcs = (int(lengths.sum(dtype=np.int64)) for lengths in graph.lengths_of(rows))
    return footprint(rows.size, out_arcs, in_arcs if graph.directed else None, layout.n_global)
