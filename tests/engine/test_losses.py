"""Workers that die, retire or cannot hold a graph: the right tree or one clear error, in time.

All kinds of losses are in tests/campaigns.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import dask
import pytest
from distributed import Client, Status
from distributed.utils_test import captured_logger

import daskbfs
from tests.support.checks import check
from tests.support.crew import left_behind, until
from tests.support.in_loop import cluster
from tests.support.losses import (
    KILL_SECONDS,
    check_kill_in_a_search,
    set_trap,
    slow_down,
    timed_search,
)

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("on_the_cluster")]


async def no_task_is_left(scheduler):
    for _ in range(100):
        if not scheduler.tasks:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(list(scheduler.tasks))


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("coordinator", [True, False])
@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_a_worker_killed_in_a_search(exchange, crew, crew_graph, kron14, coordinator, driver):
    check_kill_in_a_search(
        crew, crew_graph, kron14, "between", coordinator=coordinator, driver=driver
    )


@pytest.mark.slow
def test_what_a_loss_leaves_behind_does_not_wait_for_the_garbage_collector(
    exchange, crew, crew_graph, kron14
):
    sources = [int(v) for v in kron14.random_sources(2)]

    def stray():
        own = {future.key for future in crew_graph.placed_partitions.futures}
        return [key for key in crew.client.who_has() if key not in own]

    gc.collect()
    gc.disable()
    try:
        crew.client.run(
            set_trap, "compute", signal.SIGKILL, workers=[crew_graph.placement.workers[1]]
        )
        check(kron14, sources[0], daskbfs.bfs(crew_graph, sources[0]))
        until(lambda: not stray())
        kept = daskbfs.bfs(crew_graph, sources[1])
        os.kill(crew.pids()[crew_graph.placement.workers[1]], signal.SIGKILL)
        if exchange == "shared memory":  # it is in the memory of another worker, too
            check(kron14, sources[1], kept)
            del kept
        for _ in range(2 if exchange == "mail" else 0):
            with pytest.raises(RuntimeError, match="the result is lost"):
                kept.fetch()
        check(kron14, sources[0], daskbfs.bfs(crew_graph, sources[0]))
        until(lambda: not stray())
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_worker_that_retires_or_closes(crew, crew_graph, kron14):
    sources = [int(v) for v in kron14.random_sources(3)]
    first, second, _ = crew_graph.placement.workers
    crew.client.retire_workers([first])
    check(kron14, sources[0], daskbfs.bfs(crew_graph, sources[0]))
    crew.client.run(
        lambda dask_worker: dask_worker.loop.add_callback(dask_worker.close), workers=[second]
    )
    result, seconds = timed_search(crew_graph, sources[1])
    assert seconds < KILL_SECONDS + 2.0
    check(kron14, sources[1], result)
    assert len(crew_graph.where()) == 1


@pytest.mark.slow
def test_a_client_that_dies_leaves_nothing(crew, crew_graph, kron14):
    code = f"""
import os, threading, daskbfs
from distributed import Client, Status
client = Client(scheduler_file={str(crew.file)!r})
crew_graph = daskbfs.distribute(daskbfs.kronecker(14), client)
daskbfs.bfs(crew_graph, int(crew_graph.random_sources(1)[0]), driver="waves")
threading.Timer(0.4, os._exit, (1,)).start()
while True:
    for source in crew_graph.random_sources(50):
        daskbfs.bfs(crew_graph, int(source), driver="waves")
"""
    subprocess.run([sys.executable, "-c", code], timeout=60, stderr=subprocess.DEVNULL)
    start = time.monotonic()
    assert left_behind(crew.client, crew_graph.placed_partitions) == ([], [])
    assert time.monotonic() - start < 5


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_timeouts_and_interrupts_leave_nothing(exchange, crew, crew_graph, kron14, driver):
    source = int(kron14.random_sources(1)[0])
    crew.client.run(slow_down, 0.5)
    try:
        with pytest.raises(TimeoutError, match=r"the run did not end within 0.7 s"):
            daskbfs.bfs(crew_graph, source, timeout=0.7, driver=driver)
        main = threading.main_thread().ident
        threading.Timer(0.7, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            daskbfs.bfs(crew_graph, source, driver=driver)
    finally:
        crew.client.run(slow_down, 0)
    assert left_behind(crew.client, crew_graph.placed_partitions) == ([], [])
    check(kron14, source, daskbfs.bfs(crew_graph, source, timeout=60))


def test_a_closed_client_is_told(two_workers, kron12):
    client = Client(two_workers.scheduler.address, set_as_default=False)
    placed = daskbfs.distribute(kron12, client)
    client.close()
    with pytest.raises(RuntimeError, match="the client is closed"):
        daskbfs.bfs(placed, int(kron12.random_sources(1)[0]))


def test_release_frees_everything_and_says_so(two_workers, kron12):
    placed = daskbfs.distribute(kron12, two_workers)
    result = daskbfs.bfs(placed, int(kron12.random_sources(1)[0]))
    partitions = placed.placed_partitions
    placed.release()
    result.fetch()
    with pytest.raises(RuntimeError, match="the graph was released: distribute it again"):
        daskbfs.bfs(placed, 0)
    with pytest.raises(RuntimeError, match="partitions have moved or were released"):
        result.to_dask()
    del result, placed
    partitions.partitions.clear()
    partitions.numberings.clear()
    assert left_behind(two_workers, partitions) == ([], [])


@cluster(2)
async def test_a_graph_that_does_not_fit_is_refused_with_numbers(c, s, *workers):
    graph = daskbfs.kronecker(12)
    for state in s.workers.values():
        state.memory_limit = 2**20
    with pytest.raises(MemoryError, match=r"of its 1.0 MiB, .* and partitions \[0\] need .* KiB"):
        await daskbfs.distribute(graph, c)
    await no_task_is_left(s)


@cluster(2)
async def test_a_search_on_a_paused_worker_is_an_error_with_numbers(c, s, a, b):
    graph = daskbfs.kronecker(9)
    placed = await daskbfs.distribute(graph, c)
    source = int(graph.random_sources(1)[0])
    await daskbfs.bfs(placed, source, driver="auto")
    b.memory_manager.memory_pause_fraction = 1e-9  # it pauses at its next look
    b.memory_manager.memory_limit = 2**40
    while b.status is not Status.paused:
        await asyncio.sleep(0.02)
    with (
        dask.config.set({"daskbfs.recovery.silent-seconds": 1}),
        pytest.raises(MemoryError, match=r"is paused, since it uses .* [MG]iB of its"),
    ):
        await daskbfs.bfs(placed, source, driver="auto")


@cluster(1, worker_kwargs={"memory_limit": "2 GiB"})
async def test_a_worker_told_to_spill_keeps_partitions_and_states(c, s, a):
    graph = daskbfs.kronecker(10)
    placed = await daskbfs.distribute(graph, c, n_partitions=2)
    source = int(graph.random_sources(1)[0])
    await daskbfs.bfs(placed, source, driver="waves")
    with captured_logger("distributed.spill"):
        while a.data.evict() > 0:  # what Dask does to a worker that runs out of memory
            pass
    assert not any(future.key in a.data.slow for future in placed.placed_partitions.partitions)
    assert not any(
        future.key in a.data.slow for future in placed.placed_partitions.numberings.values()
    )
    result = await daskbfs.bfs(placed, source, driver="waves")
    await result.fetch()
    check(graph, source, result)


@cluster(2)
async def test_a_partition_that_dask_would_spill_at_once_is_refused(c, s, *workers):
    graph = daskbfs.kronecker(16)
    for state in s.workers.values():
        state.memory_limit = 4 * 2**30
    with (
        dask.config.set({"distributed.worker.memory.target": 0.0001}),
        pytest.raises(
            MemoryError, match=r"partition \d needs .* MiB, more than the 0% of its 4.0 GiB"
        ),
    ):
        await daskbfs.distribute(graph, c)
    await no_task_is_left(s)


def test_partitions_that_were_cancelled_come_back(two_workers, kron12):
    placed = daskbfs.distribute(kron12, two_workers)
    source = int(kron12.random_sources(1)[0])
    check(kron12, source, daskbfs.bfs(placed, source))
    epoch = placed.placed_partitions.epoch
    two_workers.cancel(placed.placed_partitions.partitions[:1], force=True)
    check(kron12, source, daskbfs.bfs(placed, source))
    assert placed.placed_partitions.epoch == epoch + 1
