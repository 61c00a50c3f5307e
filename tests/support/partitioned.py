"""Searches in this process, over partitions on the CPU."""

from __future__ import annotations

from daskbfs.algorithms.bfs.direction import policy
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.algorithms.bfs.result import BFSResult, Tree
from daskbfs.cluster.threads import Share
from daskbfs.engine.results import LocalResult
from daskbfs.engine.superstep import run_in_place
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import cut
from daskbfs.telemetry.levels import LevelTable


def partitions_of(graph, n, seed=1, strategy="random", **sides):
    layout = lay_out(graph, n, strategy, seed, **sides)
    numbering = number(graph, layout)
    return layout, [cut(graph, layout, p, numbering) for p in range(n)]


def search(graph, n, source, direction="beamer", seed=1, sides=None, **options):
    """A search over ``n`` partitions, as a result."""
    layout, partitions = partitions_of(graph, n, seed, **sides or {})
    place = layout.global_id[graph.order]
    row = graph.row_of(source)
    program = BFS(int(layout.global_id[row]), graph.out.degree(row), policy(direction), **options)
    outcome = run_in_place(program, partitions, Share())
    tree = Tree(graph, place, layout.global_id, LocalResult(outcome))
    return BFSResult(tree, source, LevelTable(outcome.measured.records), 1.0)
