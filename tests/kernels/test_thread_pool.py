"""The thread pool of the kernels: every part runs once, whichever thread calls, forks or fails."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest

from daskbfs.kernels import threads
from daskbfs.kernels.bitmap import atomic_add
from daskbfs.kernels.thread_pool import N_SLOTS, in_parallel, part_of
from tests.support.process import run_python


@numba.njit(nogil=True)
def _count(part, n_parts, runs, work):
    atomic_add(runs, part, 1)
    total = 0.0
    for i in range(work):
        total += np.sqrt(i + part)
    if total < 0:
        runs[0] = -1


@numba.njit(nogil=True)
def count_runs(n_parts, work):
    """How often each part has run."""
    runs = np.zeros(n_parts, np.int64)
    in_parallel(_count, n_parts, (runs, work))
    return runs


@numba.njit(nogil=True)
def _sum_part(part, n_parts, values, sums):
    first, last = part_of(values.size, part, n_parts)
    sums[part] = values[first:last].sum()


@numba.njit(nogil=True)
def sum_in_parts(values, n_parts):
    sums = np.zeros(n_parts)
    in_parallel(_sum_part, n_parts, (values, sums))
    return sums.sum()


@numba.njit(nogil=True)
def _claim_all(part, n_parts, claimed, most, total):
    while atomic_add(claimed, 0, 1) < most:
        scratch = np.zeros(64)  # would be given the memory of an array that was freed too early
        scratch[:] = 1e9
        atomic_add(total, 0, 1)


@numba.njit(nogil=True)
def claim_in_parts(n_parts, most):
    """How many pieces are claimed from a counter that only the arguments refer to."""
    total = np.zeros(1, np.int64)
    in_parallel(_claim_all, n_parts, (np.zeros(1, np.int64), most, total))
    return total[0]


@numba.njit(nogil=True)
def _allocate(part, n_parts, size):
    np.empty(size, np.float64)[0] = part


@numba.njit(nogil=True)
def allocate_in_parts(n_parts, size):
    in_parallel(_allocate, n_parts, (size,))


@pytest.mark.parametrize("n_parts", [1, 2, 3, 17, 500])
@pytest.mark.parametrize("work", [0, 1000])
def test_every_part_runs_once(n_parts, work):
    threads.n_threads()
    for _ in range(20):
        assert count_runs(n_parts, work).tolist() == [1] * n_parts


def test_arguments_live_as_long_as_their_parts():
    threads.n_threads()
    for most in range(1, 200):
        assert claim_in_parts(3, most) == most


def test_nothing_to_do_is_done():
    assert count_runs(0, 1).size == 0


def test_more_callers_than_slots_get_all_their_parts_run():
    threads.n_threads()
    values = np.arange(10_000.0)
    wrong = []

    def call():
        wrong.extend(n for n in range(1, 200) if sum_in_parts(values, n) != values.sum())

    callers = [threading.Thread(target=call) for _ in range(2 * N_SLOTS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=120)
    assert not any(caller.is_alive() for caller in callers)
    assert wrong == []


def test_a_part_without_memory_fails_the_kernel_and_not_the_pool():
    threads.n_threads()
    with pytest.raises(MemoryError, match="a thread of a kernel failed"):
        allocate_in_parts(4, 2**58)
    assert count_runs(4, 10).tolist() == [1] * 4


def test_threads_are_limited_inside_and_restored_outside():
    before = threads.n_threads()
    with threads.threads(1):
        assert threads.n_threads() == 1
    assert threads.n_threads() == before
    with threads.threads(None):
        assert threads.n_threads() == before
    with pytest.raises(ValueError, match="threads=0"), threads.threads(0):
        pass


FORKED = """
import multiprocessing, os, daskbfs
graph = daskbfs.kronecker(10)
source = int(graph.random_sources(1)[0])
def search(source):
    result = daskbfs.bfs(graph, source, driver="direct")
    tasks = os.listdir("/proc/self/task")
    names = {open(f"/proc/self/task/{task}/comm").read().strip() for task in tasks}
    return result.reached, "daskbfs-1" in names
here = search(source)
print(here[1], here == multiprocessing.get_context("fork").Pool(1).map(search, [source])[0])
"""


def test_a_forked_process_has_helpers_of_its_own():
    done = run_python(FORKED, NUMBA_NUM_THREADS="2")
    assert done.stdout == "True True\n", done.stderr


def test_a_process_may_end_while_its_kernels_work():
    code = """
import threading, time, daskbfs
graph = daskbfs.kronecker(14)
source = int(graph.random_sources(1)[0])
def search():
    while True:
        daskbfs.bfs(graph, source, driver="direct")
for _ in range(3):
    threading.Thread(target=search, daemon=True).start()
time.sleep(1)
print("ends")
"""
    done = run_python(code)
    assert (done.stdout, done.returncode) == ("ends\n", 0), done.stderr


@pytest.mark.parametrize(
    ("policy", "told"), [("passive", "sleep at once"), ("", "spin for 200 µs, then sleep")]
)
def test_the_users_way_to_wait_is_respected(policy, told, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    assert threads.describe_waiting() == told


def test_the_environment_of_child_processes_is_left_alone():
    code = """
import os
before = dict(os.environ)
import daskbfs
daskbfs.bfs(daskbfs.from_edges([(0, 1)]), 0, driver="direct")
print({name: value for name, value in os.environ.items() if before.get(name) != value})
"""
    assert run_python(code).stdout == "{}\n"
