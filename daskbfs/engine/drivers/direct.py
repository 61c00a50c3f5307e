"""The direct driver: all levels in the calling process, without Dask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskbfs.cluster.threads import Share
from daskbfs.engine.exchange.mail import Attempt
from daskbfs.engine.program import KernelNeeds, Program
from daskbfs.engine.results import LocalResult
from daskbfs.engine.superstep import run_in_place
from daskbfs.graph.graph import Graph, Outline
from daskbfs.partition.layout import Layout, lay_out
from daskbfs.partition.numbering import Numbering, number
from daskbfs.partition.partition import Partition, cut


@dataclass(frozen=True, slots=True, eq=False)
class WholeGraph:
    """A graph as one partition in this process."""

    graph: Outline
    layout: Layout
    partition: Partition

    @classmethod
    def of(cls, graph: Graph) -> WholeGraph:
        """The same for each run of a graph; nothing is copied."""
        return graph.derive(cls, cls._make)

    @classmethod
    def _make(cls, graph: Graph) -> WholeGraph:
        layout = lay_out(graph, 1)
        return cls(graph, layout, cut(graph, layout, 0, number(graph, layout)))

    @property
    def place(self) -> np.ndarray:
        """Global id of each vertex, by its index."""
        return self.graph.order

    @property
    def n_partitions(self) -> int:
        """One."""
        return 1

    @property
    def numbering(self) -> Numbering:
        """Global ids of rows."""
        return self.partition.numbering

    async def warm(self, program: Program) -> None:
        """Load a program's kernels, once in this process."""
        program.warm_kernels(KernelNeeds.of([self.partition]))

    def expect_waves(self, algorithm: str, n: int) -> None:
        """Nothing is prepared ahead here."""


async def run(
    whole: WholeGraph, program: Program, attempt: Attempt, threads: int | None
) -> LocalResult:
    """Run a program here; never waits."""
    return LocalResult(run_in_place(program, [whole.partition], Share(threads)))
