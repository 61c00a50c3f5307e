"""How a graph is cut for the devices that there are; done again when they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daskbfs import config
from daskbfs.graph.csr import pad_to_words
from daskbfs.graph.graph import Outline
from daskbfs.names import Device
from daskbfs.partition.footprint import footprint
from daskbfs.partition.layout import Layout, arcs_before, lay_out, lay_out_to_fit, mirrored
from daskbfs.partition.strategy import MIRROR, check_mirrors, choose


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user asked for."""

    strategy: str = "auto"
    seed: int = 1
    cpu_share: float | None = None
    """Of the arcs; None: as little as possible where it is known what fits elsewhere."""
    algorithm: str = "bfs"


@dataclass(frozen=True, slots=True)
class Cutting:
    """Which rows go where."""

    wish: Wish
    strategy: str
    why: str
    n_cpu: int
    """Partitions of the CPU's side; they come first."""
    n_others: int
    other_bytes: int | None = None
    """Memory for each partition on an accelerator."""

    def lay_out(self, graph: Outline) -> Layout:
        """Cut the graph."""
        seed, share = self.wish.seed, self.wish.cpu_share
        if self.strategy == MIRROR:
            check_mirrors(self.n_cpu, self.n_others, share)
            return mirrored(lay_out(graph, self.n_cpu, "high", seed))
        if self.n_others and share is None and self.other_bytes is not None:
            return lay_out_to_fit(
                graph, self.n_cpu, self.n_others, self.other_bytes, self.strategy, seed
            )
        share = config.get("partition.cpu-share") if share is None else share
        n_partitions = self.n_cpu + self.n_others
        return lay_out(graph, n_partitions, self.strategy, seed, n_cpu=self.n_cpu, cpu_share=share)


def choose_cut(
    graph: Outline, devices: Sequence[Device], wish: Wish, other_bytes: int | None
) -> Cutting:
    """How to cut a graph for some devices, one for each partition: as asked for, or what pays."""
    n_cpu = devices.count(Device.CPU)
    n_others = len(devices) - n_cpu
    arcs = graph.n_arcs
    whole = footprint(
        graph.n_rows, arcs, arcs if graph.directed else None, pad_to_words(graph.n_rows)
    ).on_device
    strategy, why = choose(
        wish.strategy,
        arcs_before(graph),
        n_cpu=n_cpu,
        n_others=n_others,
        needed_bytes=whole,
        other_bytes=None if other_bytes is None else n_others * other_bytes,
        algorithm=wish.algorithm,
    )
    return Cutting(wish, strategy, why, n_cpu, n_others, other_bytes)
