"""The systems that ``daskbfs compare`` sets side by side, by the papers that they come from.

Of the hybrid machines, ``1S`` and ``2S`` are one and two CPU workers, each with half of the cores,
as sockets are; ``1G`` and ``2G`` are GPU workers, emulated where there is no GPU.

The five systems of SEI are modules of :mod:`daskbfs.bench.systems.baselines`, whole and short,
because their lines are counted; rows of the other papers are settings of our own engine. Blocks of
``linear_algebra`` are scipy's: unmasked products of python-graphblas took 1.4 times as long
(kron:18, one block). Peers are used by the fastest way that they document.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import importlib
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dask
import numpy as np
from distributed import Client

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.bfs.result import BFSResult
from daskbfs.bench.systems.baselines import Edges, cpu_csr, cpu_list
from daskbfs.bench.systems.baselines.command import Command
from daskbfs.bench.systems.baselines.peers import PEERS, Peer
from daskbfs.bench.systems.source_lines import lines_of_file, lines_of_search
from daskbfs.bench.trials import process_peaks
from daskbfs.cluster.local import local_cluster
from daskbfs.distribution.connect import client_for
from daskbfs.distribution.distributed_graph import DistributedGraph, distribute
from daskbfs.graph.build import build_graph
from daskbfs.graph.edge_stream import ArrayEdges, Origin
from daskbfs.graph.graph import Graph
from daskbfs.machine import hardware
from daskbfs.machine.devices import check_device
from daskbfs.names import Device

PEER = "peer"
"""Takes the place of a paper where a system is third-party."""

NAIVE = {
    "daskbfs.construction.vertices": "input",
    "daskbfs.construction.neighbours": "input",
}
"""Without the optimizations of locality."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """A system that is ready to be timed."""

    kernel1: Callable[[Edges], Any]
    kernel2: Callable[[Any, int], np.ndarray]
    peaks: Callable[[Any], list[int]] = lambda made: [hardware.peak_bytes()]
    """The most memory that each process held, given what Kernel 1 made."""


@dataclass(frozen=True, slots=True)
class System:
    """Something that searches."""

    name: str
    paper: str
    """Its number among the papers; nothing for what is in none."""
    devices: tuple[Device, ...]
    about: str
    start: Callable[[], contextlib.AbstractContextManager[Kernels]]
    source_lines: Callable[[], int | None] = lambda: None
    command: Command | None = None
    """A program of its own, which is not started here and times itself."""

    @property
    def device(self) -> str:
        """The kinds of its devices."""
        return "+".join(dict.fromkeys(map(str, self.devices)))


@functools.cache
def accelerator() -> Device:
    """A GPU where there is one, else an emulated one."""
    try:
        check_device(Device.GPU)
    except RuntimeError:
        return Device.GPU_EMULATED
    return Device.GPU


def catalogue(commands: Sequence[str] = ()) -> dict[str, System]:
    """All systems by name: ours, those of the papers, installed peers, and programs."""
    ours = [*_ours(), *_hybrid(), *_dating(), *_adaptive(), *_plain()]
    found = [*ours, *map(_peer, filter(Peer.installed, PEERS)), *map(_program, commands)]
    systems = {system.name: system for system in found}
    if len(systems) < len(found):
        raise ValueError("two systems have one name: call a peer command otherwise")
    return systems


def _peer(peer: Peer) -> System:
    ready = contextlib.nullcontext(Kernels(peer.kernel1, peer.kernel2))
    return System(peer.name, PEER, (peer.device,), peer.version(), lambda: ready)


def _program(text: str) -> System:
    command = Command.parse(text)
    about = " ".join(command.words)
    return System(command.name, PEER, (Device.CPU,), about, _run_instead, command=command)


def _run_instead() -> contextlib.AbstractContextManager[Kernels]:
    raise RuntimeError("a program of its own has no kernels that can be called: run it")


def _plain() -> Iterator[System]:
    """The five of 004."""
    yield _serial("cpu-list", cpu_list, "head and next lists over the edge list, one thread")
    yield _serial("cpu-csr", cpu_csr, "compressed sparse rows of packed ids, one thread")
    yield _on_gpu("gpu-csr", "gpu_csr", "a wavefront in two phases, rows in the GPU's memory")
    yield _on_gpu("gpu-out-of-core", "gpu_out_of_core", "blocks of edges sent to the GPU in turn")
    for n in (1, 2):
        yield System(
            f"linear-algebra-{n}",
            "004",
            (Device.CPU,) * n,
            f"matrix-vector products in a semiring, {n}x{n} blocks on {n} worker"
            + ("s" if n > 1 else ""),
            functools.partial(_algebra, n),
            functools.partial(lines_of_file, "bench/systems/baselines/linear_algebra.py"),
        )


def _serial(name: str, module: types.ModuleType, about: str) -> System:
    def start() -> contextlib.AbstractContextManager[Kernels]:
        return contextlib.nullcontext(Kernels(module.kernel1, module.kernel2))

    file = f"bench/systems/baselines/{module.__name__.rpartition('.')[2]}.py"
    lines = functools.partial(lines_of_file, file)
    return System(name, "004", (Device.CPU,), about, start, lines)


def _on_gpu(name: str, module: str, about: str) -> System:
    def start() -> contextlib.AbstractContextManager[Kernels]:
        device = accelerator()
        check_device(device)
        arrays = np if device is Device.GPU_EMULATED else importlib.import_module("cupy")
        there = importlib.import_module(f"daskbfs.bench.systems.baselines.{module}")
        kernel1 = functools.partial(there.kernel1, arrays=arrays)
        return contextlib.nullcontext(Kernels(kernel1, there.kernel2))

    def lines() -> int:
        files = (f"bench/systems/baselines/{name}.py" for name in (module, "cpu_csr"))
        return sum(lines_of_file(file) for file in files)

    return System(name, "004", (accelerator(),), about, start, lines)


@contextlib.contextmanager
def _algebra(n: int) -> Iterator[Kernels]:
    from daskbfs.bench.systems.baselines import linear_algebra

    with local_cluster(n) as cluster, cluster.get_client() as client:

        def peaks(made: Any) -> list[int]:
            there = client.run(hardware.peak_bytes).values() if n > 1 else ()
            return [hardware.peak_bytes(), *there]

        kernel1 = functools.partial(linear_algebra.kernel1, client=client, n_stripes=n)
        yield Kernels(kernel1, linear_algebra.kernel2, peaks)


@dataclass(frozen=True, slots=True)
class Setting:
    """How our own engine is to search."""

    n_cpu: int = 1
    n_gpu: int = 0
    strategy: str = "auto"
    direction: str | None = None
    driver: str = "auto"
    sockets: bool = True
    """Whether a CPU worker has half of the cores, or its share of all."""
    switches: Mapping[str, Any] = field(default_factory=dict)

    @property
    def devices(self) -> tuple[Device, ...]:
        """A device for each worker."""
        return (Device.CPU,) * self.n_cpu + (accelerator(),) * self.n_gpu

    @property
    def threads(self) -> int | None:
        """Of each worker's kernels."""
        return max(1, hardware.n_cores() // 2) if self.sockets else None

    def client(self) -> contextlib.AbstractContextManager[Client | None]:
        """A client of such a cluster; None is without Dask."""
        return client_for(
            direct=self.driver == "direct",
            n_workers=self.n_cpu,
            devices=self.devices if self.n_gpu else (),
        )

    def place(self, graph: Graph, client: Client | None) -> Graph | DistributedGraph:
        """A graph where it is to be searched."""
        if client is None:
            return graph
        placed: DistributedGraph = distribute(graph, client, strategy=self.strategy, seed=1)
        return placed

    def search(self, placed: Graph | DistributedGraph, source: int) -> BFSResult:
        """One search."""
        how = {"driver": self.driver, "direction": self.direction, "threads": self.threads}
        found: BFSResult = bfs(placed, source, **how)  # type: ignore[arg-type]
        return found

    @contextlib.contextmanager
    def start(self) -> Iterator[Kernels]:
        """A cluster, or none, that builds and searches so."""
        with self.client() as client:

            def kernel1(edges: Edges) -> Any:
                stream = ArrayEdges(edges.heads, edges.tails, edges.n_vertices)
                with dask.config.set(self.switches):
                    graph = build_graph(Origin(stream, False, "compared"))
                return self.place(graph, client)

            def kernel2(placed: Any, source: int) -> np.ndarray:
                parent: np.ndarray = self.search(placed, source).parent
                return parent

            yield Kernels(kernel1, kernel2, process_peaks)


def _engine(name: str, paper: str, about: str, setting: Setting) -> System:
    lines = functools.partial(lines_of_search, direct=setting.driver == "direct")
    return System(name, paper, setting.devices, about, setting.start, lines)


def _ours() -> Iterator[System]:
    whole = functools.partial(Setting, sockets=False)
    yield _engine("daskbfs", "", "as 'daskbfs run' searches: one worker, all cores", whole())
    yield _engine("daskbfs-direct", "", "the same without Dask", whole(driver="direct"))
    resident = whole(2, driver="resident")
    yield _engine("daskbfs-2-workers", "", "two workers, resident", resident)


def _hybrid() -> Iterator[System]:
    """Table 1 and figure 2 of 000."""
    for name, direction in (("top-down", "top_down"), ("do", "beamer")):
        plain = functools.partial(Setting, direction=direction, driver="resident")
        what = "classic top-down" if name == "top-down" else "direction-optimized"
        bare = plain(2, switches=NAIVE)
        yield _engine(f"naive-{name}-2S", "000", f"{what}, no optimization of locality", bare)
        for switch, value in NAIVE.items():
            which = switch.rpartition(".")[2]
            without = plain(2, switches={switch: value})
            about = f"{what}, {which} in the order of the input"
            yield _engine(f"{name}-2S-plain-{which}", "000", about, without)
        for n_cpu in (1, 2):
            yield _engine(f"{name}-{n_cpu}S", "000", f"{what}, CPU only", plain(n_cpu))
    machines = [(n_cpu, n_gpu) for n_cpu in (1, 2) for n_gpu in (1, 2)]
    for n_cpu, n_gpu in machines:
        for strategy in ("high", "random"):
            mixed = Setting(n_cpu, n_gpu, strategy, "beamer", "resident")
            cut = "hubs on the CPU" if strategy == "high" else "random partitions"
            label = f"do-{n_cpu}S{n_gpu}G-{strategy}"
            yield _engine(label, "000", f"direction-optimized, {cut}", mixed)
    classic = Setting(2, 2, "high", "top_down", "resident")
    yield _engine("top-down-2S2G-high", "000", "classic top-down, hubs on the CPU", classic)


def _dating() -> Iterator[System]:
    """The strategies of 001."""
    for strategy in ("high", "low", "random"):
        setting = Setting(1, 1, strategy, "top_down", "resident")
        about = f"classic top-down, half of the edges on the CPU, {strategy}"
        yield _engine(f"classic-{strategy}", "001", about, setting)


def _adaptive() -> Iterator[System]:
    """The policy of 002, and its CPU half alone."""
    setting = Setting(1, 1, "mirror", "adaptive", "resident")
    yield _engine("adaptive", "002", "a device for each level: TC, BC, BG or BGC", setting)
    alone = Setting(1, 0, direction="adaptive", driver="resident")
    yield _engine("adaptive-cpu", "002", "the same rules, TC or BC", alone)


def choose_systems(
    patterns: Sequence[str] = (),
    papers: Sequence[str] = (),
    *,
    peers: bool = False,
    commands: Sequence[str] = (),
) -> list[System]:
    """The systems of some papers whose names match any of some patterns; none given means all.

    Peers come beside them, all or those that are named, and programs.
    """
    systems = catalogue(commands)
    for pattern in patterns:
        if not fnmatch.filter(systems, pattern):
            raise ValueError(f"no system is called {pattern!r}: there are {', '.join(systems)}")

    def wanted(system: System) -> bool:
        if system.command is not None:
            return True
        named = any(fnmatch.fnmatchcase(system.name, pattern) for pattern in patterns)
        if system.paper == PEER:
            return peers or system.name in patterns
        return (named or not patterns) and (not papers or system.paper in papers)

    found = [system for system in systems.values() if wanted(system)]
    if not found:
        raise ValueError(
            f"no system of paper {', '.join(papers)} is called {' or '.join(patterns)}: "
            "'daskbfs compare --list' tells what there is"
        )
    return found
