"""Runs over memory that the workers of one host share: in one place, and on real workers."""

from __future__ import annotations

import time
from pathlib import Path

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.algorithms.bfs.api import _program
from daskbfs.algorithms.bfs.warmup import warm_shared
from daskbfs.cluster.threads import Share
from daskbfs.engine.levels import run_as_shared
from daskbfs.kernels.cpu import shared_search
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device
from tests.support import naive
from tests.support.checks import check
from tests.support.crew import until
from tests.support.exchange import exchange_by, n_mapped
from tests.support.in_process import CPU, EMULATED, held

pytestmark = pytest.mark.usefixtures("on_the_cluster")

EDGES = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), min_size=1, max_size=250)


def levels_of(graph, source, devices, **options):
    """The levels of a search in one place, by vertex; its tree is checked."""
    partitions, place = held(graph, devices)
    parts = run_as_shared(_program(graph, source, place, **options), partitions, Share(2))
    found = np.concatenate([part.values for part in parts])[place]
    parent = found.astype(np.int64)
    parent[found == NONE] = -1
    parent[graph.order == graph.n_rows] = -1
    level = np.full(graph.n_vertices, -1)
    level[source] = 0
    for _ in range(graph.n_vertices):
        known = (parent >= 0) & (level < 0) & (level[parent] >= 0)
        if not known.any():
            break
        level[known] = level[parent[known]] + 1
    last = int(level.max()) if options else None
    daskbfs.validate(graph, source, parent, level, last_level=last)
    return level


@given(
    edges=EDGES,
    directed=st.booleans(),
    direction=st.sampled_from(["beamer", "top_down", "bottom_up", "coordinator"]),
    devices=st.sampled_from([[CPU], [CPU] * 2, [CPU] * 5, [CPU, EMULATED], [EMULATED] * 2]),
    data=st.data(),
)
def test_shared_searches_find_the_oracles_levels(edges, directed, direction, devices, data):
    graph = daskbfs.from_edges(edges, directed=directed)
    if graph.n_rows == 0:
        return
    source = data.draw(st.sampled_from(graph.original_index[: graph.n_rows].tolist()))
    found = levels_of(graph, source, devices, direction=direction)
    expected = naive.levels(edges, source, directed)
    assert {v: int(level) for v, level in enumerate(found) if level >= 0} == {
        v: level for v, level in expected.items() if level >= 0
    }


@pytest.mark.parametrize("driver", ["waves", "resident"])
@pytest.mark.parametrize("direction", ["beamer", "top_down", "bottom_up"])
def test_targets_end_a_shared_search_at_their_level(kron12, two_workers, driver, direction):
    placed = daskbfs.distribute(kron12, two_workers, n_partitions=3)
    assert placed.exchange == "shared memory"
    source = int(kron12.random_sources(1)[0])
    level = daskbfs.bfs(kron12, source, driver="direct").level
    for wanted in (1, 2, 3):
        targets = np.flatnonzero(level == wanted)[:3].tolist()
        targets += [source, targets[0]]
        result = daskbfs.bfs(placed, source, driver=driver, direction=direction, targets=targets)
        assert result.last_level == wanted
        assert np.array_equal(result.level, np.where(level <= wanted, level, -1))


@pytest.mark.parametrize("driver", ["waves", "resident"])
@pytest.mark.parametrize("limits", ["depth", "targets"])
def test_a_run_that_is_over_before_it_begins(exchange, kron12, two_workers, driver, limits):
    placed = daskbfs.distribute(kron12, two_workers)
    source = int(kron12.random_sources(1)[0])
    options = {"depth": {"depth_limit": 0}, "targets": {"targets": [source]}}[limits]
    result = daskbfs.bfs(placed, source, driver=driver, timeout=20, **options)
    assert (result.reached, result.parent[source]) == (1, source)


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_a_run_that_is_not_wanted_ends_although_it_never_waits(kron12, two_workers, driver):
    placed = daskbfs.distribute(kron12, two_workers)
    daskbfs.pagerank(placed, iterations=1)
    with pytest.raises(TimeoutError):
        daskbfs.pagerank(placed, iterations=10**7, driver=driver, timeout=1)
    until(lambda: not any(two_workers.processing().values()), seconds=10)


def set_slow_reduce(seconds):
    """Let this worker take long to see what a level came to, after others have heard of it."""
    from daskbfs.algorithms.bfs.program import BFS

    if not hasattr(BFS, "quick_reduce"):
        BFS.quick_reduce = BFS.reduce
    quick = BFS.quick_reduce

    def reduce(self, numbering, message, replies):
        time.sleep(seconds)
        return quick(self, numbering, message, replies)

    BFS.reduce = reduce if seconds else quick


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["waves", "resident"])
@pytest.mark.parametrize("slow", [0, 1])
def test_a_worker_settles_only_when_its_own_levels_are_over(kron12, two_workers, driver, slow):
    placed = daskbfs.distribute(kron12, two_workers)
    worker = placed.placement.workers[slow]
    sources = [int(v) for v in kron12.random_sources(3)]
    daskbfs.bfs(placed, sources[0])  # warm
    two_workers.run(set_slow_reduce, 0.1, workers=[worker])
    try:
        with dask.config.set({"daskbfs.waves.patience-seconds": 0.001}):
            for source in sources:
                check(kron12, source, daskbfs.bfs(placed, source, driver=driver, timeout=60))
    finally:
        two_workers.run(set_slow_reduce, 0, workers=[worker])


def is_mapped(dask_worker, key):
    """Whether a numbering lies in memory that workers share."""
    address = dask_worker.data[key].vertex.ctypes.data
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(word, 16) for word in line.split()[0].split("-"))
        if first <= address < last:
            return "memfd:daskbfs" in line
    return False


def test_the_numbering_lies_once_in_shared_memory_and_nothing_stays(kron12, two_workers):
    placed = daskbfs.distribute(kron12, two_workers)
    where = placed.placed_partitions
    for worker, future in where.numberings.items():
        found = two_workers.run(is_mapped, key=future.key, workers=[worker])
        assert found == {worker: True}
    source = int(kron12.random_sources(1)[0])
    result = daskbfs.bfs(placed, source)
    check(kron12, source, result)
    assert min(two_workers.run(n_mapped).values()) > 0
    placed.release()
    del placed, where, result, future
    until(lambda: not any(two_workers.run(n_mapped).values()))


def test_workers_that_cannot_open_the_memory_send_mail(kron12, two_workers):
    def refuse(dask_worker, refused):
        from daskbfs.cluster import segment

        if refused:
            segment.really_open = segment.open_shared
            segment.open_shared = lambda ticket: None
        else:
            segment.open_shared = segment.really_open

    *_, last = daskbfs.distribute(kron12, two_workers).placement.workers
    two_workers.run(refuse, refused=True, workers=[last])
    try:
        placed = daskbfs.distribute(kron12, two_workers)
    finally:
        two_workers.run(refuse, refused=False, workers=[last])
    assert placed.exchange == "mail"
    source = int(kron12.random_sources(1)[0])
    check(kron12, source, daskbfs.bfs(placed, source))


def test_one_worker_exchanges_nothing(kron12, one_worker):
    assert daskbfs.distribute(kron12, one_worker).exchange is None


def test_ranks_are_the_same_by_mail_and_over_shared_memory(kron12, two_workers):
    ranks = []
    for name in ("mail", "shared memory"):
        with exchange_by(name):
            placed = daskbfs.distribute(kron12, two_workers, n_partitions=3)
        ranks.append(daskbfs.pagerank(placed, iterations=5).rank)
        assert placed.exchange == name
    assert np.allclose(*ranks, rtol=1e-5)


def test_warming_reaches_every_kernel_of_shared_searches(kron12):
    warm_shared.__wrapped__("uint32", Device.CPU)
    kernels = {
        name: getattr(shared_search, name)
        for name in ("pick_own", "mark_own", "append_found", "top_down_together")
    }
    warm = {name: len(kernel.signatures) for name, kernel in kernels.items()}
    assert min(warm.values()) > 0, warm
    source = int(kron12.random_sources(1)[0])
    for devices in ([CPU], [CPU] * 2):
        levels_of(kron12, source, devices)
    assert {name: len(kernel.signatures) for name, kernel in kernels.items()} == warm
