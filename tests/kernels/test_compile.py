"""Kernels in fresh processes, with cold and warm caches; the intrinsics that they are made of."""

from __future__ import annotations

import threading

import numba
import pytest

from daskbfs.kernels.bitmap import (
    atomic_add,
    leading_zeros,
    popcount,
    shared_counter,
    trailing_zeros,
)
from tests.support.process import run_python

ANNOUNCED = "daskbfs: compiling kernels for this machine"


SEARCH = """
import daskbfs
graph = daskbfs.from_edges([(0, 1), (1, 2)])
print(daskbfs.bfs(graph, 0).parent.tolist())
"""


@pytest.mark.slow
def test_a_cold_cache_is_announced_once_and_a_warm_one_is_silent(tmp_path):
    cold = run_python(SEARCH, NUMBA_CACHE_DIR=str(tmp_path))
    warm = run_python(SEARCH, NUMBA_CACHE_DIR=str(tmp_path))
    assert cold.stdout == warm.stdout == "[0, 0, 1]\n"
    assert cold.stderr.count(ANNOUNCED) == 1
    assert warm.stderr == ""


@pytest.mark.slow
def test_without_a_writable_cache_folder_kernels_still_run():
    # root may write anywhere, so numba is told that there is no place at all
    blocked = "import numba.core.caching; numba.core.caching.CacheImpl._locator_classes = []"
    done = run_python(blocked + SEARCH)
    assert done.stdout == "[0, 0, 1]\n", done.stderr
    assert done.stderr.count(ANNOUNCED) == 1


def test_importing_starts_no_thread_and_writes_no_file(tmp_path):
    code = """
import os, numpy
before = os.listdir("/proc/self/task")  # numpy's
import daskbfs
daskbfs.bfs; daskbfs.kronecker; daskbfs.read_graph
import daskbfs.kernels.cpu
print(os.listdir('/proc/self/task') == before)
"""
    done = run_python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout == "True\n", done.stderr
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
