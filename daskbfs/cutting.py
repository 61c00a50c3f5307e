"""How a graph is cut for the devices that there are; done again when they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from daskbfs import config
from daskbfs.graph import Outline
from daskbfs.partition import Layout, arcs_before, lay_out, lay_out_to_fit, partition_footprint
from daskbfs.strategy import choose
from daskbfs.types import Device


@dataclass(frozen=True, slots=True)
class Cutting:
    """Which rows go where."""

    strategy: str
    why: str
    seed: int
    n_cpu: int
    """Partitions of the CPU's side; they come first."""
    n_others: int
    cpu_share: float | None = None
    """Of the arcs; None: as little as possible where it is known what fits elsewhere."""
    other_bytes: int | None = None
    """Memory of each accelerator."""

    def lay_out(self, graph: Outline) -> Layout:
        """Cut the graph."""
        if self.n_others and self.cpu_share is None and self.other_bytes is not None:
            return lay_out_to_fit(
                graph, self.n_cpu, self.n_others, self.other_bytes, self.strategy, self.seed
            )
        share = config.get("partition.cpu-share") if self.cpu_share is None else self.cpu_share
        n_partitions = self.n_cpu + self.n_others
        return lay_out(
            graph, n_partitions, self.strategy, self.seed, n_cpu=self.n_cpu, cpu_share=share
        )

    def among(self, devices: Sequence[Device]) -> Cutting:
        """The same for other devices, one for each partition."""
        n_cpu = devices.count(Device.CPU)
        return replace(self, n_cpu=n_cpu, n_others=len(devices) - n_cpu)


def choose_cut(
    graph: Outline,
    devices: Sequence[Device],
    strategy: str,
    seed: int,
    cpu_share: float | None,
    other_bytes: int | None,
    algorithm: str = "bfs",
) -> Cutting:
    """How to cut a graph for some devices, one for each partition: as asked for, or what pays."""
    n_cpu = devices.count(Device.CPU)
    n_others = len(devices) - n_cpu
    whole = partition_footprint(graph, lay_out(graph, 1, "high"), 0).total
    strategy, why = choose(
        strategy,
        arcs_before(graph),
        n_cpu=n_cpu,
        n_others=n_others,
        needed_bytes=whole,
        other_bytes=None if other_bytes is None else n_others * other_bytes,
        algorithm=algorithm,
    )
    return Cutting(strategy, why, seed, n_cpu, n_others, cpu_share, other_bytes)
