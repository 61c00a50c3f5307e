"""Workers are made ready before a clock runs: mail, kernels, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from distributed import get_worker

from daskbfs.cluster.tuning import exempt_from_collection, is_tuned
from daskbfs.engine.exchange.mail import Mailboxes
from daskbfs.engine.program import Program
from daskbfs.graph.build import construct
from daskbfs.graph.edge_stream import ArrayEdges
from daskbfs.graph.graph import Graph
from daskbfs.names import Device
from daskbfs.partition.layout import Layout, lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import Partition, cut


def warm_worker(
    program: Program, indptr_dtype: str, n_partitions: int, partitions: Sequence[Partition]
) -> None:
    """Make this worker ready for a program; a tuned one collects less garbage from now on."""
    Mailboxes.here()  # from now on, mail can be delivered
    program.warm(indptr_dtype, n_partitions, partitions)
    if is_tuned(get_worker()):
        exempt_from_collection()


def tiny_graph(indptr_dtype: str) -> Graph:
    """A path that kernels can be compiled with, with offsets of a type."""
    path = np.arange(8)
    graph = construct(ArrayEdges(path[:-1], path[1:]))
    graph.out = graph.into = replace(graph.out, indptr=graph.out.indptr.astype(indptr_dtype))
    return graph


def partitions_on(
    graph: Graph, n_partitions: int, device: Device, layout: Layout | None = None
) -> list[Partition]:
    """Partitions of a graph on one device, in this process."""
    layout = layout or lay_out(graph, n_partitions)
    numbering = number(graph, layout).on(device)
    return [cut(graph, layout, p, numbering) for p in range(n_partitions)]
