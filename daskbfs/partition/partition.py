"""Which rows belong together: partitions, and the global ids that they give to vertices.

A vertex's global id is the start of its partition, in whole words, plus its row there; rows of a
partition keep the graph's order. So the bitmap of all vertices is the partitions' bitmaps, one
behind the other, and nothing needs decoding when they are put together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from daskbfs.graph.csr import Rows, pad_to_words
from daskbfs.graph.graph import Graph
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.buffers import Recycler, ensure_owned
from daskbfs.kernels.frontier import cut_rows
from daskbfs.kernels.threads import n_threads
from daskbfs.names import Device
from daskbfs.partition.layout import Layout
from daskbfs.partition.memory_space import HostMemory
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.pinned import Pinned


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
    def memory(self) -> HostMemory:
        """The memory it lives in."""
        return self.numbering.memory

    @property
    def n_padded(self) -> int:
        """Rows and padding."""
        return pad_to_words(self.n_rows)

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
        if self.memory.device is not Device.GPU:
            return self.nbytes
        into = 0 if self.into is self.out else self.into.indices.host_bytes
        return int(self.out.indices.host_bytes + into)

    @property
    def what(self) -> str:
        return f"partition {self.number}"


def cut(graph: Graph, layout: Layout, p: int, numbering: Numbering) -> Partition:
    """Partition ``p`` of a graph; of a layout with one partition, without copying anything."""
    if layout.n_partitions == 1 and numbering.memory.device is Device.CPU:
        return Partition(0, 0, numbering, graph.out, graph.into, graph.hub_vertex)
    return partition_of(p, int(layout.first[p]), numbering, *cut_rows_of(graph, layout, p))


def cut_rows_of(graph: Graph, layout: Layout, p: int) -> tuple[Rows, Rows]:
    """The rows out of a partition, and into it."""
    if layout.n_partitions == 1:
        return graph.out, graph.into
    out = _cut(graph.out, layout, p)
    return out, _cut(graph.into, layout, p) if graph.directed else out


def partition_of(p: int, first: int, numbering: Numbering, out: Rows, into: Rows) -> Partition:
    """A partition that has these rows, in the memory of its numbering."""
    memory = numbering.memory
    hub_vertex = memory.put(numbering.vertex[into.hub])
    return Partition(p, first, numbering, *memory.rows(out, into), hub_vertex)


def _cut(rows: Rows, layout: Layout, p: int) -> Rows:
    mine = layout.rows[p]
    indptr = np.zeros(mine.size + 1, np.int64)
    np.cumsum(rows.lengths(mine), out=indptr[1:])
    if indptr[-1] < 2**32:
        indptr = indptr.astype(np.uint32)
    indices = np.empty(int(indptr[-1]), np.uint32)
    cut_rows(mine, rows.indptr, rows.indices, layout.global_id, indptr, indices, n_threads())
    return Rows.of(indptr, indices, no_hub=int(layout.first[p]) + mine.size)


def to_arrays(columns: Rows | Numbering) -> dict[str, Any]:
    """What must travel to make rows or a numbering elsewhere."""
    values = {field.name: getattr(columns, field.name) for field in fields(columns)}
    return {k: value for k, value in values.items() if not isinstance(value, Recycler | HostMemory)}


def rows_to_arrays(out: Rows, into: Rows) -> dict[str, Any]:
    """What must travel to make a partition's rows elsewhere."""
    return {"out": to_arrays(out), "into": None if into is out else to_arrays(into)}


def rows_from_arrays(arrays: dict[str, Any]) -> tuple[Rows, Rows]:
    """Rows from what travelled; kernels are compiled for arrays that can be written."""
    out = Rows(**ensure_all_owned(arrays["out"]))
    return out, out if arrays["into"] is None else Rows(**ensure_all_owned(arrays["into"]))


def ensure_all_owned(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, arrays among them owned."""
    return {k: ensure_owned(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
