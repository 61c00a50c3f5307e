"""Graphs that were built before, and are stored as they are in memory: nothing to construct."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Protocol, runtime_checkable

from daskbfs.graph.edge_stream import EdgeStream, Origin
from daskbfs.graph.graph import Graph, Outline, RemoteGraph


@runtime_checkable
class StoredStream(EdgeStream, Protocol):
    """Edges of a graph that was built before, and is stored as it is in memory."""

    def graph(self, name: str | None = None) -> Graph:
        """The graph itself."""


def stored_graph(origin: Origin) -> Graph | None:
    """The graph, where it was built before; None where it has yet to be, or otherwise."""
    if not isinstance(origin.stream, StoredStream):
        return None
    start = time.perf_counter()
    graph = origin.stream.graph(origin.name)
    if graph.directed != origin.directed:
        return None
    graph.construction_seconds = time.perf_counter() - start
    return graph


def outline_stored(graph: Graph, origin: Origin) -> RemoteGraph:
    """All of a stored graph but its rows, which others can have from the same file."""
    common = {f.name: getattr(graph, f.name) for f in fields(Outline)}
    lengths = graph.all_lengths
    return RemoteGraph(
        **common, stream=origin.stream, input_lengths=lengths, lengths=lengths, filled=True
    )
