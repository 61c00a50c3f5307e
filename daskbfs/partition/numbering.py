"""What all partitions of a graph must know of all vertices, by global id."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from daskbfs.graph.graph import Graph, Outline
from daskbfs.graph.ordering import has_even_degrees
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.buffers import Recycler
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device
from daskbfs.partition.layout import Layout
from daskbfs.partition.memory_space import DeviceMemory, HostMemory
from daskbfs.partition.pinned import Pinned


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
    even: bool = False
    """Whether no row has many more arcs than the mean, out of it or into it."""
    renamed: bool = True
    """Whether some global id is another number than its vertex."""
    degree: np.ndarray | None = None
    """Of each vertex, where the mean of a word says nothing: rows are in the input's order."""
    arrays: Recycler = field(default_factory=Recycler)
    """For gathers and, on a CPU, states; never sent anywhere."""
    memory: HostMemory = None  # type: ignore[assignment]
    """What the partitions here live in; never sent anywhere."""

    def __post_init__(self) -> None:
        if self.memory is None:
            vertex = self.vertex if self.renamed else self.vertex[:0]
            memory = HostMemory(vertex, self.mean_degree, self.arrays)
            object.__setattr__(self, "memory", memory)

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
        return replace(self, memory=DeviceMemory(device, self.vertex, self.mean_degree, limit))

    def __sizeof__(self) -> int:
        exact = 0 if self.degree is None else self.degree.nbytes
        return self.vertex.nbytes + self.mean_degree.nbytes + exact


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
    out_lengths, in_lengths = graph.all_lengths
    even = has_even_degrees(out_lengths)
    if in_lengths is not out_lengths:
        even = even and has_even_degrees(in_lengths)
    if not graph.locality.by_degree and not even:
        exact = np.zeros(layout.n_global, np.uint32)
        exact[layout.global_id[:-1]] = out_lengths
    return Numbering(
        n_partitions=layout.n_partitions,
        n_rows=graph.n_rows,
        n_arcs=graph.n_arcs,
        vertex=vertex,
        mean_degree=mean_degree,
        n_primary=layout.n_primary,
        even=even,
        renamed=layout.n_partitions > 1 or not graph.keeps_input_order,
        degree=exact,
    )
