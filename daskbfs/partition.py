"""Which rows belong together: partitions, and the global ids that they give to vertices.

A vertex's global id is the start of its partition, in whole words, plus its row there; rows of a
partition keep the graph's order. So the bitmap of all vertices is the partitions' bitmaps, one
behind the other, and nothing needs decoding when they are put together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from daskbfs.arrays import Recycler, owned
from daskbfs.graph import Graph, Outline, Rows, word_padded
from daskbfs.home import DeviceHome, HostHome
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.frontier import cut_rows
from daskbfs.kernels.threads import n_threads
from daskbfs.machine import human_bytes
from daskbfs.memory import Footprint, footprint
from daskbfs.pinned import Pinned
from daskbfs.strategy import Sides, check_share, check_strategy, sides
from daskbfs.types import MAX_VERTICES, NONE, Device


@dataclass(frozen=True, slots=True, eq=False)
class Numbering(Pinned):
    """What all partitions of a graph share: everything by global id."""

    n_partitions: int
    n_rows: int
    n_arcs: int
    vertex: np.ndarray
    """The vertex of each global id, as an index; NONE for padding."""
    mean_degree: np.ndarray
    """Of each word of vertices."""
    n_primary: int
    """Partitions that own their rows; those behind them mirror these, one each."""
    degree: np.ndarray | None = None
    """Of each vertex, where the mean of a word says nothing: rows are in the input's order."""
    arrays: Recycler = field(default_factory=Recycler)
    """For gathers and, on a CPU, leases; never sent anywhere."""
    home: HostHome = None  # type: ignore[assignment]
    """What the partitions here live in; never sent anywhere."""

    def __post_init__(self) -> None:
        if self.home is None:
            home = HostHome(self.vertex, self.mean_degree, self.arrays)
            object.__setattr__(self, "home", home)

    @property
    def mirrored(self) -> bool:
        """Whether accelerators hold the rows of CPUs once more."""
        return self.n_primary < self.n_partitions

    @property
    def n_global(self) -> int:
        """Global ids, padding included."""
        return self.vertex.size

    @property
    def n_words(self) -> int:
        """Words of a bitmap over all vertices."""
        return self.mean_degree.size

    def on(self, device: Device, limit: int | None = None) -> Numbering:
        """The same for partitions that live on another device, which has so many bytes."""
        if device is Device.CPU:
            return self
        return replace(self, home=DeviceHome(device, self.vertex, self.mean_degree, limit))

    def __sizeof__(self) -> int:
        exact = 0 if self.degree is None else self.degree.nbytes
        return self.vertex.nbytes + self.mean_degree.nbytes + exact


@dataclass(frozen=True, slots=True, eq=False)
class Partition(Pinned):
    """Rows that live together; immutable, and never to leave the worker that holds it."""

    number: int
    first: int
    """Global id of row 0."""
    numbering: Numbering
    out: Rows
    into: Rows
    hub_vertex: np.ndarray
    """The vertex of each row's hub, as an index."""

    @property
    def n_rows(self) -> int:
        return self.out.n_rows

    @property
    def mirror(self) -> bool:
        """Whether another partition owns its rows, which are here once more."""
        return self.number >= self.numbering.n_primary

    @property
    def home(self) -> HostHome:
        """The memory it lives in."""
        return self.numbering.home

    @property
    def n_padded(self) -> int:
        """Rows and padding."""
        return word_padded(self.n_rows)

    @property
    def rows(self) -> slice:
        """Its global ids, padding included."""
        return slice(self.first, self.first + self.n_padded)

    @property
    def words(self) -> slice:
        """Its words of a bitmap over all vertices."""
        return slice(self.first // WORD_BITS, (self.first + self.n_padded) // WORD_BITS)

    @property
    def nbytes(self) -> int:
        """Memory of the rows; the numbering is shared."""
        directed = self.into is not self.out
        return self.out.nbytes + self.hub_vertex.nbytes + (self.into.nbytes if directed else 0)

    def __sizeof__(self) -> int:
        """What Dask should know of: memory of the host."""
        if self.home.device is not Device.GPU:
            return self.nbytes
        into = 0 if self.into is self.out else self.into.indices.host_bytes
        return int(self.out.indices.host_bytes + into)

    @property
    def what(self) -> str:
        return f"partition {self.number}"


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

    def owned(self) -> Layout:
        """A layout that came over the wire, with arrays that kernels know."""
        rows = tuple(owned(mine) for mine in self.rows)
        return Layout(rows, self.first, owned(self.global_id), self.n_primary)


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
    first = np.cumsum([0, *(word_padded(r.size) for r in rows)])
    global_id = np.empty(owner.size + 1, np.uint32)
    global_id[-1] = first[0] + rows[0].size
    for p, mine in enumerate(rows):
        global_id[mine] = first[p] + np.arange(mine.size)
    return Layout(rows, first, global_id, n_partitions)


def mirrored(layout: Layout) -> Layout:
    """The same rows once more, for as many accelerators."""
    first = np.concatenate([layout.first[:-1], layout.first])
    return Layout(layout.rows * 2, first, layout.global_id, layout.n_primary)


def number(graph: Outline, layout: Layout) -> Numbering:
    """The columns by global id that all partitions share."""
    if layout.n_partitions == 1 and isinstance(graph, Graph):
        vertex, mean_degree = graph.original_index, graph.out.mean_degree
    else:
        n_global = layout.n_global
        vertex = np.full(n_global, NONE, np.uint32)
        vertex[layout.global_id[:-1]] = graph.original_index[: graph.n_rows]
        degree, present = np.zeros(n_global), np.zeros(n_global)
        degree[layout.global_id[:-1]] = graph.all_lengths[0]
        present[layout.global_id[:-1]] = 1
        arcs, rows = (column.reshape(-1, WORD_BITS).sum(axis=1) for column in (degree, present))
        mean_degree = (arcs / np.maximum(rows, 1)).astype(np.float32)
    exact: np.ndarray | None = None
    if not graph.locality.by_degree:
        exact = np.zeros(layout.n_global, np.uint32)
        exact[layout.global_id[:-1]] = graph.all_lengths[0]
    return Numbering(
        n_partitions=layout.n_partitions,
        n_rows=graph.n_rows,
        n_arcs=graph.n_arcs,
        vertex=vertex,
        mean_degree=mean_degree,
        n_primary=layout.n_primary,
        degree=exact,
    )


def cut(graph: Graph, layout: Layout, p: int, numbering: Numbering) -> Partition:
    """Partition ``p`` of a graph; of a layout with one partition, without copying anything."""
    if layout.n_partitions == 1 and numbering.home.device is Device.CPU:
        return Partition(0, 0, numbering, graph.out, graph.into, graph.hub_vertex)
    return partition_of(p, int(layout.first[p]), numbering, *cut_rows_of(graph, layout, p))


def cut_rows_of(graph: Graph, layout: Layout, p: int) -> tuple[Rows, Rows]:
    """The rows out of a partition, and into it."""
    if layout.n_partitions == 1:
        return graph.out, graph.into
    out = _cut(graph.out, layout, p)
    return out, _cut(graph.into, layout, p) if graph.directed else out


def partition_of(p: int, first: int, numbering: Numbering, out: Rows, into: Rows) -> Partition:
    """A partition that has these rows, in the home of its numbering."""
    home = numbering.home
    hub_vertex = home.put(numbering.vertex[into.hub])
    return Partition(p, first, numbering, *home.rows(out, into), hub_vertex)


def partition_footprint(graph: Outline, layout: Layout, p: int) -> Footprint:
    """Memory of a partition that is yet to be made."""
    rows = layout.rows[p]
    out_arcs, in_arcs = (int(lengths.sum(dtype=np.int64)) for lengths in graph.lengths_of(rows))
    return footprint(rows.size, out_arcs, in_arcs if graph.directed else None, layout.n_global)


def _cut(rows: Rows, layout: Layout, p: int) -> Rows:
    mine = layout.rows[p]
    indptr = np.zeros(mine.size + 1, np.int64)
    np.cumsum(rows.lengths(mine), out=indptr[1:])
    if indptr[-1] < 2**32:
        indptr = indptr.astype(np.uint32)
    indices = np.empty(int(indptr[-1]), np.uint32)
    cut_rows(mine, rows.indptr, rows.indices, layout.global_id, indptr, indices, n_threads())
    return Rows.of(indptr, indices, nobody=int(layout.first[p]) + mine.size)


def to_arrays(columns: Rows | Numbering) -> dict[str, Any]:
    """What must travel to make rows or a numbering elsewhere."""
    values = {field.name: getattr(columns, field.name) for field in fields(columns)}
    return {k: value for k, value in values.items() if not isinstance(value, Recycler | HostHome)}


def rows_to_arrays(out: Rows, into: Rows) -> dict[str, Any]:
    """What must travel to make a partition's rows elsewhere."""
    return {"out": to_arrays(out), "into": None if into is out else to_arrays(into)}


def rows_from_arrays(arrays: dict[str, Any]) -> tuple[Rows, Rows]:
    """Rows from what travelled; kernels are compiled for arrays that can be written."""
    out = Rows(**all_owned(arrays["out"]))
    return out, out if arrays["into"] is None else Rows(**all_owned(arrays["into"]))


def all_owned(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, arrays among them owned."""
    return {k: owned(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
