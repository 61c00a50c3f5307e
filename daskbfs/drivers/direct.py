"""The direct driver: all levels in the calling process, without Dask."""

from __future__ import annotations

from daskbfs.graph import Graph
from daskbfs.partition import Partition, cut, lay_out, number
from daskbfs.programs import Program
from daskbfs.superstep import Outcome, Share, run_search


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
