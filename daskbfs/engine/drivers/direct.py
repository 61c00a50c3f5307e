"""The direct driver: all levels in the calling process, without Dask."""

from __future__ import annotations

from daskbfs.cluster.threads import Share
from daskbfs.engine.program import Program
from daskbfs.engine.superstep import Outcome, run_search
from daskbfs.graph.graph import Graph
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import Partition, cut


def search(partition: Partition, program: Program, share: Share) -> Outcome:
    """Run a program over a graph that is one partition."""
    return run_search(program, [partition], share)


def whole(graph: Graph) -> Partition:
    """The graph as one partition, made once."""
    if "whole" not in graph.derived:
        layout = lay_out(graph, 1)
        graph.derived["whole"] = cut(graph, layout, 0, number(graph, layout))
    partition: Partition = graph.derived["whole"]
    return partition
