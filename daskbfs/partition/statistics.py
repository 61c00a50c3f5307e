"""What each partition of a layout is like: sizes, degrees, and what leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from daskbfs.graph.graph import Graph
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.frontier import boundary, count_bits
from daskbfs.kernels.threads import n_threads
from daskbfs.names import Device
from daskbfs.partition.layout import Layout, partition_footprint


@dataclass(frozen=True, slots=True)
class PartitionSurvey:
    """One partition; edges are the arcs of its rows, so an undirected one counts at both ends."""

    partition: int
    device: Device
    n_vertices: int
    n_edges: int
    vertex_share: float
    edge_share: float
    mean_degree: float
    max_degree: int
    boundary_edges: int
    """Arcs to vertices of other partitions: messages without aggregation."""
    aggregated_messages: int
    """The vertices that they reach: messages when one for each is enough."""
    bytes: int
    """Rows, numbering, and one search."""
    bitmap_bytes: int
    """One bit for each of its vertices."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def survey(graph: Graph, layout: Layout, devices: Sequence[Device]) -> list[PartitionSurvey]:
    """Look at every partition of a layout."""
    owner = np.empty(graph.n_rows, np.uint32)
    for p, rows in enumerate(layout.rows[: layout.n_primary]):
        owner[rows] = p
    found = []
    for p, rows in enumerate(layout.rows):
        lengths = graph.out.lengths(rows)
        n_arcs = int(lengths.sum(dtype=np.int64))
        need = partition_footprint(graph, layout, p)
        seen = np.zeros(-(-graph.n_rows // WORD_BITS), np.uint64)
        owned_by = np.uint32(p % layout.n_primary)
        crossing = boundary(
            rows, graph.out.indptr, graph.out.indices, owner, owned_by, seen, n_threads()
        )
        found.append(
            PartitionSurvey(
                partition=p,
                device=devices[p],
                n_vertices=rows.size,
                n_edges=n_arcs,
                vertex_share=rows.size / max(1, graph.n_rows),
                edge_share=n_arcs / max(1, graph.n_arcs),
                mean_degree=n_arcs / max(1, rows.size),
                max_degree=int(lengths.max(initial=0)),
                boundary_edges=int(crossing),
                aggregated_messages=int(count_bits(seen)),
                bytes=need.total if devices[p] is Device.CPU else need.on_device,
                bitmap_bytes=-(-rows.size // 8),
            )
        )
    return found
