"""Kernels in fresh processes: cold and warm caches, other threading layers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

import daskbfs
from daskbfs.kernels import compiling
from daskbfs.kernels.bitmap import (
    atomic_add,
    leading_zeros,
    popcount,
    shared_counter,
    trailing_zeros,
)

ANNOUNCED = "daskbfs: compiling kernels for this machine"


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=240,
    )


SEARCH = """
import daskbfs
graph = daskbfs.from_edges([(0, 1), (1, 2)])
print(daskbfs.bfs(graph, 0).parent.tolist())
"""


@pytest.mark.slow
def test_a_cold_cache_is_announced_once_and_a_warm_one_is_silent(tmp_path):
    cold = python(SEARCH, NUMBA_CACHE_DIR=str(tmp_path))
    warm = python(SEARCH, NUMBA_CACHE_DIR=str(tmp_path))
    assert cold.stdout == warm.stdout == "[0, 0, 1]\n"
    assert cold.stderr.count(ANNOUNCED) == 1
    assert warm.stderr == ""


@pytest.mark.slow
def test_without_a_writable_cache_folder_kernels_still_run():
    # root may write anywhere, so numba is told that there is no place at all
    blocked = "import numba.core.caching; numba.core.caching.CacheImpl._locator_classes = []"
    done = python(blocked + SEARCH)
    assert done.stdout == "[0, 0, 1]\n", done.stderr
    assert done.stderr.count(ANNOUNCED) == 1


AT_ONCE = """
import threading, numba, daskbfs
graph = daskbfs.kronecker(10)
sources = [int(v) for v in graph.random_sources(4)]
expected = [daskbfs.bfs(graph, v).level.tolist() for v in sources]
wrong = []
def search(i):
    for _ in range(30):
        if daskbfs.bfs(graph, sources[i]).level.tolist() != expected[i]:
            wrong.append(i)
threads = [threading.Thread(target=search, args=(i,)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(numba.threading_layer(), wrong)
"""


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_kernels_at_once_in_one_process_are_safe_with_every_threading_layer(layer):
    done = python(AT_ONCE, NUMBA_THREADING_LAYER=layer)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{layer} []\n"


def test_the_first_kernels_of_a_process_may_come_from_two_threads():
    code = """
import threading
from daskbfs.kernels.compiling import _TEAM
threads = [threading.Thread(target=lambda: _TEAM.entered()) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print("alive", _TEAM._shared)
"""
    done = python(code, NUMBA_THREADING_LAYER="workqueue")
    assert done.stdout == "alive False\n", done.stderr


@pytest.mark.slow
def test_a_forked_process_gets_an_error_instead_of_a_hang():
    code = """
import multiprocessing, daskbfs
graph = daskbfs.from_edges([(0, 1), (1, 2)])
daskbfs.bfs(graph, 0)
def search(source):
    try:
        return daskbfs.bfs(graph, source).reached
    except RuntimeError as error:
        return str(error)
print(multiprocessing.get_context("fork").Pool(1).map(search, [0])[0])
"""
    done = python(code, NUMBA_THREADING_LAYER="omp")
    assert "start processes with the method 'spawn'" in done.stdout, done.stderr


def test_threads_are_limited_inside_and_restored_outside():
    before = compiling.n_threads()
    with compiling.threads(1):
        assert compiling.n_threads() == 1
    assert compiling.n_threads() == before
    with compiling.threads(None):
        assert compiling.n_threads() == before
    with pytest.raises(ValueError, match="threads=0"), compiling.threads(0):
        pass


def test_importing_starts_no_thread_and_writes_no_file(tmp_path):
    code = """
import threading, daskbfs
daskbfs.bfs; daskbfs.kronecker; daskbfs.read_graph
print(threading.active_count())
"""
    done = python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout == "1\n", done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@numba.njit
def _count(word):
    return trailing_zeros(word), leading_zeros(word), popcount(word)


@pytest.mark.parametrize("word", [1, 2**63, 2**64 - 1, 0b101000, 2**40 + 2**3])
def test_bit_intrinsics(word):
    digits = f"{word:064b}"
    expected = (64 - len(digits.rstrip("0")), digits.index("1"), digits.count("1"))
    expected = (len(digits) - len(digits.rstrip("0")), *expected[1:])
    assert _count(numba.uint64(word)) == expected


@numba.njit(nogil=True)
def _add(counter, n):
    for _ in range(n):
        atomic_add(counter, 0, 1)


def test_atomic_additions_lose_nothing():
    counter = numba.njit(lambda: shared_counter())()
    _add(counter, 1)
    threads = [threading.Thread(target=_add, args=(counter, 500_000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter[0] == 2_000_001


def test_a_thread_can_let_go_of_its_team_and_have_another():
    graph = daskbfs.kronecker(10)
    before = daskbfs.bfs(graph, 1, driver="direct").level
    compiling.disband()
    compiling.disband()
    assert np.array_equal(daskbfs.bfs(graph, 1, driver="direct").level, before)
