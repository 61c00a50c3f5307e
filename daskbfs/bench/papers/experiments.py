"""What experiments of the papers share: how they are described, graphs, and a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from distributed import Client

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.bench.energy import measure_energy
from daskbfs.bench.systems.catalogue import accelerator
from daskbfs.cluster.hybrid import HybridCluster
from daskbfs.graph.generators import kronecker
from daskbfs.graph.graph import Graph
from daskbfs.names import Device
from daskbfs.progress import Progress

_T = TypeVar("_T")
_ENERGY_SECONDS = 5.0


class CannotRun(Exception):
    """An experiment that this machine does not allow; the message says why."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words, the first some of which are words."""

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    n_words: int = 1


@dataclass(frozen=True, slots=True)
class Observation:
    """What an experiment showed here."""

    told: str
    figure: Any = None
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment of a paper."""

    paper: str
    which: str
    """Its figure or table there."""
    there: str
    """What the paper found."""
    run: Callable[[Bench], Observation]
    on_gpus: bool = False
    """Whether GPU workers take part, which may be emulated."""


@dataclass(slots=True)
class Bench:
    """What experiments share: sizes, graphs, and a cluster of a CPU and an accelerator."""

    scale: int
    n_sources: int
    data: Path | None
    progress: Progress
    _made: dict[Any, Any] = field(default_factory=dict)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _client: Client | None = None

    def graph(self, scale: int | None = None) -> Graph:
        """A Kronecker graph, made once."""
        scale = self.scale if scale is None else scale
        return self.once(("graph", scale), lambda: kronecker(scale, progress=self.progress))

    def once(self, key: tuple[Any, ...], make: Callable[[], _T]) -> _T:
        """What several experiments show is made once."""
        if key not in self._made:
            self._made[key] = make()
        found: _T = self._made[key]
        return found

    def refuse_emulation(self) -> None:
        """Raise where the accelerator is emulated: whatever it takes says nothing of a GPU."""
        if accelerator() is Device.GPU_EMULATED:
            raise CannotRun("there is no GPU here, and an emulated one says nothing of its energy")

    def per_watt(self, search: Callable[[int], Any], client: Client | None) -> float:
        """MTEPS per watt of all components; an error where any does not count joules."""
        graph = self.graph()
        sources = [int(v) for v in graph.random_sources(self.n_sources)]
        edges = {source: bfs(graph, source, driver="direct").edges for source in sources}
        found = measure_energy(search, edges, client, _ENERGY_SECONDS, self.progress)
        rate: float | None = found["mteps_per_watt"]
        if rate is None:
            problems = [c.get("unavailable") for c in found["components"].values()]
            raise CannotRun("; ".join(p for p in problems if p) or "no component counts joules")
        return rate

    @property
    def scales(self) -> list[int]:
        """The largest scale, and some below it."""
        return [s for s in range(self.scale - 3, self.scale + 1) if s > 0]

    @property
    def hybrid(self) -> Client:
        """A client of one CPU worker and one accelerator, started once."""
        if self._client is None:
            real = accelerator() is Device.GPU
            cluster = HybridCluster(1, gpus=int(real), emulated_gpus=int(not real))
            self._stack.enter_context(cluster)
            self._client = self._stack.enter_context(cluster.get_client())
        return self._client

    def file(self, name: str) -> Path:
        """A real graph; an error where it is not here."""
        found = None if self.data is None else self.data / name
        if found is None or not found.exists():
            raise CannotRun(f"{name} is not here: name the folder that has it with --data")
        return found

    def close(self) -> None:
        """Stop the cluster."""
        self._stack.close()
