"""Faults planted in the GPU's kernels, one at a time: the checks that we have must catch each.

A fault (of ``faults.toml``) is a kernel's source with one fragment replaced. Another process runs
it, because a faulty kernel may write anywhere, crash, or never end: that counts as caught too. What
is wrong in a single thread shows in the trees, in the number of arcs that a top-down search looks
at, or in the queues. A dropped atomic shows only where two threads of the host meet in one word,
and never where a word belongs to one block, since the emulator gives a block to one thread: then
only the device code tells, which has an ``atomicrmw`` less.
"""

from __future__ import annotations

import faulthandler
import functools
import inspect
import linecache
import os
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numba import types

import daskbfs
from daskbfs.kernels.gpu import bfs as gpu
from daskbfs.kernels.gpu import components as gpu_components
from daskbfs.kernels.gpu import emulator
from daskbfs.kernels.gpu import pagerank as gpu_pagerank
from daskbfs.kernels.gpu.arcs import Arcs
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import cut
from tests.support import ROOT
from tests.support.gpu_checks import check_bitmap_and_queue, check_tree
from tests.support.in_process import CPU, EMULATED, connected, ranked, search, search_mirrored

DIRECTIONS = "beamer", "top_down", "bottom_up"
MANY_TIMES = 10  # enough for threads to meet, on a machine that lets them run at once
SECONDS = 120  # for a fault; a kernel that needs more has lost its way
NOTHING = "nothing"  # a fault that is none


class Caught(AssertionError):
    """A check found something wrong."""


# ---- the lines of defence


def queues():
    """Bitmaps become queues and bitmaps again, and a bitmap's arcs are those of its vertices."""
    for n_words in (7, 257, 1000):
        check_bitmap_and_queue(n_words)
        rng = np.random.default_rng(n_words)
        words = rng.integers(0, 2**63, n_words, dtype=np.uint64)
        mean_degree = rng.integers(0, 9, n_words).astype(np.float32)
        size, arcs = gpu._to_queue(words, mean_degree, np.empty(64 * n_words, np.uint32))
        assert size == np.bitwise_count(words).sum()
        assert arcs == (np.bitwise_count(words) * mean_degree).sum()


def searches():
    """Searches over partitions in memory."""
    for direction in DIRECTIONS:
        check_search(kronecker(14), [EMULATED], direction)
    for devices in ([EMULATED], [CPU, EMULATED], [EMULATED] * 3):
        for graph in (kronecker(10), grid(), star(), path(20)):
            for direction in DIRECTIONS:
                check_search(graph, devices, direction)


def streams():
    """Searches over a partition whose arcs are streamed, in many blocks."""
    for graph in (kronecker(12), grid(20), path(400)):
        for direction in DIRECTIONS:
            partitions = check_search(graph, [EMULATED], direction, limit=tight(graph))
            assert len(partitions[0].out.indices.blocks) > 2


def threads():
    """Two threads of the host share the blocks of each grid, and meet in the same words."""
    emulator.set_host_threads(2)
    try:
        vertices = np.random.default_rng(1).permutation(2**20).astype(np.uint32)
        for _ in range(MANY_TIMES):
            check_entering(vertices)
            check_expanding(vertices)
        check_search(kronecker(10), [EMULATED], "top_down")
    finally:
        emulator.set_host_threads(1)


def ranks():
    """Ranks over partitions in memory, and over one whose arcs are streamed."""
    for graph in (kronecker(10), star(), one_way()):
        for devices in ([EMULATED], [CPU, EMULATED]):
            check_ranks(graph, devices)
    check_ranks(kronecker(12), [EMULATED], limit=tight(kronecker(12)))


def components():
    """Components over partitions in memory, and over one whose arcs are streamed."""
    for graph in (kronecker(10), uneven(), one_way(), path(400)):
        for devices in ([EMULATED], [CPU, EMULATED], [EMULATED] * 2):
            check_components(graph, devices)
    check_components(uneven(), [EMULATED], limit=tight(uneven()))


def mirrors():
    """Searches on a mirror, with the frontier's first words in a cache."""
    graph = kronecker(14)  # its bitmap has more words than a block has threads
    for source in map(int, graph.random_sources(6)):
        check_tree(graph, source, search_mirrored(graph, source, [EMULATED] * 2)[0])


def code():
    """The device code has as many atomics as that of the kernel as it is written."""
    for name, arguments in SIGNATURES.items():
        now = n_atomics(getattr(module_of(name), name), arguments)
        right = n_atomics(AS_WRITTEN[name], arguments)
        if now != right:
            raise Caught(f"{name} has {now} atomics instead of {right}")


LINES = {
    line.__name__: line
    for line in (queues, searches, streams, threads, ranks, components, mirrors, code)
}
PIECES = dict.fromkeys(("search_rows", "search_rows_cached"), (gpu._look_behind_hubs,))
"""What kernels share, which is compiled into each."""
MODULES = (gpu, gpu_pagerank, gpu_components)
AS_WRITTEN = {kernel.py_func.__name__: kernel for module in MODULES for kernel in module.KERNELS}

_L, _I, _N = types.int64[::1], types.uint32[::1], types.int64
_D, _F = types.float64[::1], types.float64
SIGNATURES = {
    "expand_rows": (_L, _I, _N, _I, _N, _I, _I, _I, _I, _N, _N, _N, _I, _L),
    "test_hubs": (_I, _I, _I, _I, _I, _I, _L),
    "search_rows": (_L, _I, _N, _I, _I, _I, _I, _I, _N, _N, _N, _L),
    "mark_vertices": (_I, _I),
    "enter_vertices": (_I, _N, _I, _I, _L),
    "link_arcs": (_L, _I, _N, _I, _N, _N, _N, _N, _N, _N, _I, _L),
    "settle_ranks": (_D, _N, _N, _N, _I, _F, _F, _D, _D, _D, _L),
}


def module_of(kernel):
    """The module of a kernel."""
    return sys.modules[AS_WRITTEN[kernel].py_func.__module__]


@functools.cache
def n_atomics(kernel, arguments):
    """How many atomic instructions a kernel has."""
    _, texts = emulator.device_code(kernel, types.void(*arguments))
    return sum(text.count("atomicrmw") for text in texts)


def check_search(graph, devices, direction, **options):
    """A valid tree; and top-down, every reached vertex's arcs were looked at just once."""
    source = int(graph.random_sources(1)[0])
    parent, records, partitions = search(graph, source, devices, direction=direction, **options)
    check_tree(graph, source, parent)
    if direction == "top_down":
        arcs = int(np.diff(graph.out.indptr)[graph.order[parent >= 0]].sum())
        examined = sum(record.edges_examined for record in records)
        if examined != arcs:
            raise Caught(f"{examined} arcs were looked at, of {arcs}")
    return partitions


def check_ranks(graph, devices, **options):
    """The CPU's ranks, and as much change in the last iteration."""
    result, _ = ranked(graph, devices, tolerance=None, iterations=5, **options)
    expected = daskbfs.pagerank(graph, iterations=5, driver="direct")
    if not np.allclose(result.rank, expected.rank, rtol=1e-5, atol=0):
        raise Caught("the ranks are not those of the CPU")
    if not np.isclose(result.changed, expected.changed, rtol=1e-3, atol=0):
        raise Caught(f"ranks changed by {result.changed}, not {expected.changed}")


def check_components(graph, devices, **options):
    """The CPU's components."""
    result, _ = connected(graph, devices, **options)
    expected = daskbfs.connected_components(graph, driver="direct")
    if not np.array_equal(result.component, expected.component):
        raise Caught("the components are not those of the CPU")


def tight(graph):
    """Memory for all of a graph but half of its arcs."""
    layout = lay_out(graph, 1)
    partition = cut(graph, layout, 0, number(graph, layout).on(EMULATED, None))
    return partition.memory.used_bytes - partition.out.indices.nbytes // 2


def check_entering(vertices):
    """All vertices, in any order, set all bits."""
    marked = np.empty(vertices.size // 64, np.uint64)
    entered = np.zeros_like(marked)
    gpu.queue_to_bitmap(vertices, vertices.size, marked, 1)
    gpu.enter_ids(vertices, 0, entered, np.empty(vertices.size, np.uint32))
    check_all_set(marked=marked, entered=entered)


def check_expanding(vertices):
    """Rows that share no neighbour find all vertices, each its own, all over the bitmap."""
    n, degree = vertices.size, 32
    indptr = np.arange(0, n + 1, degree)
    rows = np.arange(n // degree, dtype=np.uint32)
    parent, next_queue = np.empty(n, np.uint32), np.empty(n, np.uint32)
    visited, mean_degree = np.zeros(n // 64, np.uint64), np.zeros(n // 64, np.float32)
    arcs = Arcs(indptr, vertices, np.empty(0))
    found, _, examined = gpu.top_down(
        indptr, arcs, rows, mean_degree, 0, parent, parent, visited, rows, rows.size, next_queue, 1
    )
    check_all_set(visited=visited)
    if found != n or examined != n:
        raise Caught(f"{found} vertices were found, and {examined} arcs looked at, of {n}")
    assert np.array_equal(next_queue, np.arange(n))
    assert np.array_equal(parent[vertices], np.repeat(rows, degree))


def check_all_set(**bitmaps):
    for done, words in bitmaps.items():
        if lost := 64 * words.size - int(np.bitwise_count(words).sum()):
            raise Caught(f"{lost} vertices of {64 * words.size} were not {done}")


@functools.cache
def kronecker(scale):
    return daskbfs.kronecker(scale)


@functools.cache
def path(n_edges):
    return daskbfs.from_edges([(v, v + 1) for v in range(n_edges)])


@functools.cache
def star():
    """A row that is long enough for 32 lanes, and leaves that have leaves."""
    return daskbfs.from_edges([(0, v) for v in range(1, 600)] + [(v, v + 600) for v in range(600)])


@functools.cache
def uneven():
    """Some long rows, and many components of all sizes."""
    edges = np.random.default_rng(2).integers(0, 3000, size=(3000, 2))
    return daskbfs.from_edges(np.concatenate([edges, edges[:400] // [6, 1]]))


@functools.cache
def one_way():
    """A directed graph, with vertices without arcs out of them, and long rows."""
    edges = np.random.default_rng(1).integers(0, 400, size=(9000, 2)) // [1, 4]
    return daskbfs.from_edges(edges[edges[:, 0] % 3 > 0], directed=True)


@functools.cache
def grid(side=8):
    """A square, and an edge that no search of the square reaches."""
    v = np.arange(side * side)
    right, down = v[v % side < side - 1], v[:-side]
    edges = [np.column_stack([right, right + 1]), np.column_stack([down, down + side])]
    return daskbfs.from_edges(np.concatenate([*edges, [(10**6, 10**6 + 1)]]))


# ---- the faults


@dataclass(frozen=True, slots=True)
class Fault:
    """A kernel with a fragment replaced; the lines of defence that may catch it, in turn."""

    name: str
    """Begins with the kernel's."""
    right: str
    wrong: str
    caught_by: list[str]
    wild: bool = False
    """May write outside its arrays: the process that tried it is not used again."""

    @property
    def kernel(self):
        return re.match(r"\w+", self.name)[0]


with Path(__file__).with_name("faults.toml").open("rb") as file:
    FAULTS = tuple(Fault(name, **fields) for name, fields in tomllib.load(file).items())


def planted(fault):
    """The kernel with the fault in it."""
    kernels = [*PIECES.get(fault.kernel, ()), AS_WRITTEN[fault.kernel]]
    source = "\n".join(inspect.getsource(kernel.py_func) for kernel in kernels)
    assert source.count(fault.right) == 1, f"{fault.kernel} has changed: plant {fault.name!r} anew"
    text = source.replace(fault.right, fault.wrong)
    file = f"<{fault.name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = dict(vars(module_of(fault.kernel)))
    exec(compile(text, file, "exec"), names)
    return names[fault.kernel]


def work():
    """Plant the faults that are named on standard input, and answer what caught each."""
    for name in sys.stdin:
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        print(caught_by(name.strip()), flush=True)


def caught_by(name):
    """The first line of defence that notices a fault, and how; nothing where none does."""
    fault = next((fault for fault in FAULTS if fault.name == name), None)
    if fault is not None:
        setattr(module_of(fault.kernel), fault.kernel, planted(fault))
    try:
        for line in fault.caught_by if fault is not None else LINES:
            try:
                LINES[line]()
            except Exception as error:  # whatever it is, a user would see it
                return " ".join([f"{line}:", type(error).__name__, *str(error).splitlines()[:1]])
        return ""
    finally:
        if fault is not None:
            setattr(module_of(fault.kernel), fault.kernel, AS_WRITTEN[fault.kernel])


class Workers:
    """A process that plants faults, and another when that is broken."""

    def __init__(self):
        self._process = None

    def caught_by(self, name, *, wild=False):
        """What caught a fault: a line of defence, or the end of the process."""
        start = time.perf_counter()
        process = self._process = self._process or subprocess.Popen(
            [sys.executable, "-m", "tests.campaigns.test_faults"],
            cwd=ROOT,
            env=os.environ | {"OMP_WAIT_POLICY": "passive"},  # small kernels on a busy machine
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if answer and not wild:
            return answer.strip()
        code = self.end()
        if answer:
            return answer.strip()
        if code < 0:
            return f"crash with signal {-code}"
        assert time.perf_counter() - start > SECONDS, "the mistake is in this file: see above"
        return f"no end within {SECONDS} s"

    def end(self):
        """End the process, whatever its state; returns its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with process:
            process.stdin.close()
            try:
                return process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
        return process.returncode


@pytest.fixture(scope="module")
def workers():
    workers = Workers()
    yield workers
    workers.end()


_report = []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_can_be_planted(fault):
    assert planted(fault) is not AS_WRITTEN[fault.kernel]


def test_nothing_is_caught_where_nothing_is_wrong(workers):
    assert workers.caught_by(NOTHING) == ""


def cases(*, wild):
    return pytest.mark.parametrize(
        "fault", [pytest.param(fault, id=fault.name) for fault in FAULTS if fault.wild is wild]
    )


@cases(wild=False)
def test_a_planted_fault_is_caught(workers, fault):
    check_caught(workers, fault)


def test_planted_faults_leave_no_trace(workers):
    assert workers.caught_by(NOTHING) == ""


@cases(wild=True)
def test_a_fault_that_may_write_anywhere_is_caught(workers, fault):
    check_caught(workers, fault)


def check_caught(workers, fault):
    start = time.perf_counter()
    caught = workers.caught_by(fault.name, wild=fault.wild)
    _report.append(f"{fault.name}: {caught or 'NOT CAUGHT'} ({time.perf_counter() - start:.1f} s)")
    assert caught, f"{fault.name}: not noticed by {', '.join(fault.caught_by)}"


def test_what_caught_the_faults_is_told(capsys):
    with capsys.disabled():
        print("", *_report, sep="\n")
    assert len(_report) == len(set(_report))
    assert not [line for line in _report if "NOT CAUGHT" in line]


if __name__ == "__main__":
    work()
