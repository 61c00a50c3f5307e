"""Searches, ranks and components in numba's CUDA simulator, on one of a few tiny graphs.

Run by test_cudasim with NUMBA_ENABLE_CUDASIM=1, in a process of its own, because numba chooses the
simulator when it is imported. Prints how many searches were checked, and which kernels ran.
"""

from __future__ import annotations

import itertools
import json
import sys
from types import ModuleType

import numpy as np
from numba.cuda.simulator.kernel import FakeCUDAKernel
from numba.cuda.simulator.kernelapi import FakeCUDAShared

import daskbfs
from daskbfs.bench.systems.baselines import Edges, gpu_csr, gpu_out_of_core
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import cut
from tests.support import naive
from tests.support.gpu_checks import check_bitmap_and_queue
from tests.support.in_process import EMULATED, connected, ranked, search, search_mirrored

# the emulator wants numba's compiler, which the simulator replaces: nothing may call it here
sys.modules["daskbfs.kernels.gpu.emulator"] = ModuleType("daskbfs.kernels.gpu.emulator")

DIRECTIONS = ("top_down", "bottom_up", "beamer")


def one_array_for_all_threads(shared, shape, dtype):
    """Numba's own looks for the array, then makes it, with no lock: two threads may make two."""
    line = sys._getframe(1).f_lineno
    return shared._allocations.setdefault(line, np.empty(shape, dtype))


def kernels_that_run():
    """The names of kernels that the simulator is given from now on."""
    names, run = set(), FakeCUDAKernel.__call__

    def noted(kernel, *arguments):
        names.add(kernel.py_func.__name__)
        run(kernel, *arguments)

    FakeCUDAKernel.__call__ = noted
    return names


def path():
    return daskbfs.from_edges(list(itertools.pairwise(range(20)))), 9


def star():
    """Its centre has enough arcs to get a whole warp."""
    return daskbfs.from_edges([(0, leaf) for leaf in range(1, 300)]), 7


def kronecker():
    graph = daskbfs.kronecker(6)
    return graph, int(graph.random_sources(1)[0])


def even():
    """No rows are much longer than others, so that some blocks can be smaller than all of them."""
    graph = daskbfs.uniform(7, edgefactor=3)
    return graph, int(graph.random_sources(1)[0])


def directed():
    edges = np.random.default_rng(1).integers(0, 100, size=(400, 2))
    return daskbfs.from_edges(edges, directed=True), int(edges[0, 0])


def held(graph, limit):
    """The whole graph on a device of so many bytes; None where it does not fit."""
    layout = lay_out(graph, 1)
    try:
        return cut(graph, layout, 0, number(graph, layout).on(EMULATED, limit))
    except MemoryError:
        return None


def tightest_limit(graph):
    """The bytes of the smallest device that takes the graph: it streams arcs, in some blocks."""
    limit = next(n for n in itertools.count(0, 64) if held(graph, n) is not None)
    partition = held(graph, limit)
    streamed = [r.indices for r in (partition.out, partition.into) if r.indices.streamed]
    assert max(len(arcs.blocks) for arcs in streamed) > 1
    return limit


def oracle_arcs(graph):
    """The vertices that arcs leave, and those that they reach, by index."""
    tails = np.repeat(np.arange(graph.n_rows), np.diff(graph.out.indptr))
    return graph.original_index[tails], graph.original_index[graph.out.indices]


def oracle(graph, source):
    """The level of every vertex, by index."""
    arcs = zip(*oracle_arcs(graph), strict=True)
    found = naive.levels(arcs, int(graph.ids.index(source)), directed=True)
    return np.array([found.get(v, -1) for v in range(graph.n_vertices)])


def check_search(graph, source, devices, limit, direction):
    parent, records, _ = search(graph, source, devices, limit=limit, direction=direction)
    daskbfs.validate(graph, source, parent, oracle(graph, source))
    assert {record.device for record in records} == {EMULATED}


def check_ranks(graph, devices, limit):
    result, _ = ranked(graph, devices, limit=limit, iterations=2, tolerance=None)
    expected = daskbfs.pagerank(graph, iterations=2, driver="direct")
    assert np.allclose(result.rank, expected.rank, rtol=1e-6)
    assert {record.device for record in result.levels} == {EMULATED}


def check_components(graph, devices, limit):
    result, _ = connected(graph, devices, limit=limit)
    expected = daskbfs.connected_components(graph, driver="direct")
    assert np.array_equal(result.component, expected.component)


def check_baselines(graph, source):
    """The plain searches of others, which have kernels of their own."""
    edges = Edges(*oracle_arcs(graph), graph.n_vertices)
    expected = oracle(graph, source) >= 0
    for made, kernel2 in (
        (gpu_csr.kernel1(edges, np), gpu_csr.kernel2),
        (gpu_out_of_core.kernel1(edges, np, 16), gpu_out_of_core.kernel2),
    ):
        parent = kernel2(made, int(graph.ids.index(source)))
        assert np.array_equal(parent >= 0, expected)


def check_all(graph, source, *, streamed=False, on_two_devices=False):
    """All directions in core, and in other ways where asked; the baseline; returns how many.

    Ranks and components are checked in the same ways.
    """
    ways = [([EMULATED], None)]
    if streamed:
        ways.append(([EMULATED], tightest_limit(graph)))
    if on_two_devices:
        ways.append(([EMULATED, EMULATED], None))
    searches = list(itertools.product(ways, DIRECTIONS))
    for (devices, limit), direction in searches:
        check_search(graph, source, devices, limit, direction)
    for devices, limit in ways:
        check_ranks(graph, devices, limit)
        check_components(graph, devices, limit)
    if on_two_devices:
        parent, _ = search_mirrored(graph, source, [EMULATED] * 2)
        daskbfs.validate(graph, source, parent, oracle(graph, source))
    if not graph.directed:
        check_baselines(graph, source)
    return len(searches) + 1


CASES = {
    "path": lambda: check_all(*path()),
    "star": lambda: check_all(*star()),
    "kronecker": lambda: check_all(*kronecker()),
    "even": lambda: check_all(*even(), streamed=True, on_two_devices=True),
    "directed": lambda: check_all(*directed(), streamed=True),
}

if __name__ == "__main__":
    sys.setswitchinterval(1e-6)  # threads take turns often: what is not atomic then shows
    FakeCUDAShared.array = one_array_for_all_threads
    names = kernels_that_run()
    check_bitmap_and_queue(257)  # a scan over two blocks
    print(json.dumps({"searches": CASES[sys.argv[1]](), "kernels": sorted(names)}))
