"""Workers that die, stop, retire and come back in any phase: the right tree or one clear error."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import product

import dask
import numpy as np
import pytest
from distributed import Client

import daskbfs
from tests.support.checks import check
from tests.support.crew import Crew, free_port, left_behind, until
from tests.support.losses import (
    KILL_SECONDS,
    STOP_SECONDS,
    check_kill_in_a_search,
    set_trap,
    timed_search,
)

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("on_the_cluster")]


@pytest.mark.parametrize(
    ("phase", "coordinator"),
    [
        *product(["open", "compute", "between", "close", "settle"], [True, False]),
        ("gather", True),
    ],
)
@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_a_worker_killed_in_a_phase_of_a_search(
    exchange, crew, crew_graph, kron14, phase, coordinator, driver
):
    check_kill_in_a_search(crew, crew_graph, kron14, phase, coordinator=coordinator, driver=driver)


@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_a_worker_killed_while_vertices_are_ranked(exchange, crew, crew_graph, kron14, driver):
    expected = daskbfs.pagerank(kron14, driver="direct").rank
    victim = crew_graph.placement.workers[1]
    crew.client.run(set_trap, "between", signal.SIGKILL, workers=[victim])
    ranks = daskbfs.pagerank(crew_graph, driver=driver).rank
    assert victim not in crew_graph.where()
    assert np.allclose(ranks, expected, rtol=1e-6)
    assert left_behind(crew.client, crew_graph.placed_partitions) == ([], [])


@pytest.mark.oldest
def test_a_worker_killed_between_two_searches(exchange, crew, crew_graph, kron14):
    sources = [int(v) for v in kron14.random_sources(3)]
    kept = daskbfs.bfs(crew_graph, sources[0])
    fetched = daskbfs.bfs(crew_graph, sources[1]).fetch()
    victim = crew_graph.placement.workers[1]
    os.kill(crew.pids()[victim], signal.SIGKILL)
    if exchange == "shared memory":  # it is in the memory of another worker, too
        check(kron14, sources[0], kept)
    else:
        with pytest.raises(RuntimeError, match=f"the result is lost, since worker {victim}"):
            _ = kept.parent
    result, seconds = timed_search(crew_graph, sources[2])
    assert seconds < KILL_SECONDS + 1.0
    check(kron14, sources[2], result)
    check(kron14, sources[1], fetched)
    # the worker that comes back is used again when we say so
    crew.restore(3)
    crew_graph.rebalance()
    assert len(crew_graph.where()) == 3
    check(kron14, sources[0], daskbfs.bfs(crew_graph, sources[0]))


@pytest.mark.parametrize("coordinator", [True, False])
def test_a_worker_that_stops_silently_is_lost_after_a_while(
    exchange, crew, crew_graph, kron14, coordinator
):
    victim = crew_graph.placement.workers[0 if coordinator else 1]
    pid = crew.pids()[victim]
    crew.client.run(set_trap, "compute", signal.SIGSTOP, workers=[victim])
    source = int(kron14.random_sources(2)[1])
    try:
        result, seconds = timed_search(crew_graph, source)
        check(kron14, source, result)
        assert STOP_SECONDS - 1 < seconds < STOP_SECONDS + 3
    finally:
        os.kill(pid, signal.SIGCONT)
    # it comes back with an old state, and disturbs no search
    for source in kron14.random_sources(4):
        check(kron14, int(source), daskbfs.bfs(crew_graph, int(source)))
    del result
    assert left_behind(crew.client, crew_graph.placed_partitions) == ([], [])


def test_a_worker_that_comes_back_at_its_old_address(crew, kron14):
    crew.restore(3)
    port = free_port()
    crew.start_worker(f"--worker-port={port}")
    crew.client.wait_for_workers(4, timeout=60)
    (address,) = (w for w in crew.client.nthreads() if w.endswith(f":{port}"))
    placed = daskbfs.distribute(kron14, crew.client)
    source = int(kron14.random_sources(1)[0])
    check(kron14, source, daskbfs.bfs(placed, source))
    os.kill(crew.pids()[address], signal.SIGKILL)
    deadline = time.monotonic() + 30
    while address in crew.client.nthreads() and time.monotonic() < deadline:
        time.sleep(0.05)
    crew.start_worker(f"--worker-port={port}")
    crew.client.wait_for_workers(4, timeout=60)
    assert address in crew.client.nthreads()
    check(kron14, source, daskbfs.bfs(placed, source))
    assert left_behind(crew.client, placed.placed_partitions) == ([], [])
    placed.release()


def test_a_nannys_worker_is_restarted_and_used_again(kron14):
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron14, client)
        source = int(kron14.random_sources(1)[0])
        check(kron14, source, daskbfs.bfs(placed, source))
        for pid in client.run(os.getpid).values():  # all at once: no worker is left
            os.kill(pid, signal.SIGKILL)
        result, seconds = timed_search(placed, source)
        check(kron14, source, result)
        assert seconds < 40, "two processes start anew, perhaps beside other work"


def test_a_restarted_cluster_gets_its_graph_again(kron14):
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron14, client)
        source = int(kron14.random_sources(1)[0])
        check(kron14, source, daskbfs.bfs(placed, source))
        client.restart()
        check(kron14, source, daskbfs.bfs(placed, source))


def test_a_worker_killed_while_the_graph_is_distributed(crew, kron14):
    crew.restore(3)
    large = daskbfs.kronecker(18)
    victim = sorted(crew.client.nthreads())[1]
    pid = crew.pids()[victim]
    timer = threading.Timer(0.15, os.kill, (pid, signal.SIGKILL))
    timer.start()
    placed = daskbfs.distribute(large, crew.client, n_partitions=6)
    timer.join()
    source = int(large.random_sources(1)[0])
    check(large, source, daskbfs.bfs(placed, source))
    assert victim not in placed.where()
    placed.release()


def test_the_scheduler_dies(tmp_path, kron14):
    crew = Crew(2, tmp_path)
    try:
        placed = daskbfs.distribute(kron14, crew.client)
        source = int(kron14.random_sources(1)[0])
        daskbfs.bfs(placed, source)
        threading.Timer(0.3, crew.scheduler.kill).start()
        start = time.monotonic()
        with pytest.raises(ConnectionError, match=r"the scheduler at tcp://.* is gone"):
            while time.monotonic() < start + 20:
                daskbfs.bfs(placed, source)
        assert time.monotonic() - start < 0.3 + KILL_SECONDS
    finally:
        crew.close()


def test_two_clients_that_see_the_same_loss_rebuild_once(crew, crew_graph, kron14):
    with Client(scheduler_file=str(crew.file), set_as_default=False) as other:
        sources = [int(v) for v in kron14.random_sources(2)]
        check(kron14, sources[0], daskbfs.bfs(crew_graph, sources[0], other))
        os.kill(crew.pids()[crew_graph.placement.workers[2]], signal.SIGKILL)
        epoch = crew_graph.placed_partitions.epoch
        results = {}

        def work(client, source):
            results[source] = daskbfs.bfs(crew_graph, source, client)

        threads = [
            threading.Thread(target=work, args=pair)
            for pair in zip((crew.client, other), sources, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for source in sources:
            check(kron14, source, results[source])
        assert crew_graph.placed_partitions.epoch == epoch + 1
        assert crew_graph.seen_by(other).placed_partitions.epoch == epoch + 1


def test_dask_arrays_of_a_result_whose_worker_is_gone_do_not_wait(tmp_path, kron14):
    crew = Crew(3, tmp_path)
    try:
        placed = daskbfs.distribute(kron14, crew.client)
        results = [daskbfs.bfs(placed, int(source)) for source in kron14.random_sources(2)]
        _, parents = results[0].to_dask()
        retired, killed, _ = placed.placement.workers
        crew.client.retire_workers([retired])
        with pytest.raises(RuntimeError, match=r"partition 0 has left with its worker: search"):
            crew.client.compute(results[1].to_dask()[1]).result(20)
        os.kill(crew.pids()[killed], signal.SIGKILL)
        with pytest.raises(Exception, match=r"cancelled|lost|has left"):
            crew.client.compute(parents).result(20)
    finally:
        crew.close()


def test_no_workers_is_an_error_after_a_while(tmp_path, kron14):
    crew = Crew(1, tmp_path)
    try:
        placed = daskbfs.distribute(kron14, crew.client)
        crew.processes[1].kill()
        with (
            dask.config.set({"daskbfs.recovery.wait-seconds": 1}),
            pytest.raises(RuntimeError, match="no worker is left to hold the graph"),
        ):
            daskbfs.bfs(placed, int(kron14.random_sources(1)[0]))
    finally:
        crew.close()


SHORT_LOGS = {  # what Dask remembers is bounded, but it takes thousands of searches to fill
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "10",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "5",
    "DASK_DISTRIBUTED__SCHEDULER__DASHBOARD__TASKS__TASK_STREAM_LENGTH": "100",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DASKBFS__TELEMETRY__SEARCHES": "10",
}


def resident_bytes():
    """Memory of a process, without the last 100,000 names of tasks that Dask remembers."""
    import gc

    import psutil
    from dask.utils import key_split

    key_split.cache_clear()
    gc.collect()
    return psutil.Process().memory_info().rss


@pytest.mark.timeout(900)
def test_memory_after_a_thousand_searches_is_that_after_ten(tmp_path, kron14, capsys):
    crew = Crew(2, tmp_path, SHORT_LOGS)
    placed = daskbfs.distribute(kron14, crew.client)
    sources = [int(v) for v in kron14.random_sources(50)]

    def memory():
        return np.array(
            [
                crew.client.run_on_scheduler(resident_bytes),
                *crew.client.run(resident_bytes).values(),
            ]
        )

    try:
        for n in range(1, 1001):
            daskbfs.bfs(placed, sources[n % 50], driver="waves" if n % 4 == 0 else "resident")
            if n == 10:
                before = memory()
            elif n % 50 == 0:
                growth = memory() / before - 1
        assert left_behind(crew.client, placed.placed_partitions) == ([], [])
        with capsys.disabled():
            print(
                f"\nscheduler and workers after 1,000 searches: {np.round(100 * growth, 1)} % more"
            )
        assert np.all(growth < 0.02), growth
    finally:
        crew.close()


def await_end_of(crew, worker):
    """Wait until the scheduler knows that a worker is gone: a search may end before that."""
    until(lambda: worker not in crew.client.nthreads())


@pytest.mark.timeout(900)
def test_a_campaign_of_forty_kills(crew, kron14, capsys):
    rng = np.random.default_rng(2026)
    longest = 0.0
    crew.restore(3)
    placed = daskbfs.distribute(kron14, crew.client)
    sources = [int(v) for v in kron14.random_sources(64)]
    for kill in range(40):
        crew.restore(3)
        if len(placed.where()) < 3:
            placed.rebalance()
        daskbfs.bfs(placed, sources[kill])  # warm again
        victim = placed.placement.workers[rng.integers(3)]
        pid = crew.pids()[victim]
        timer = threading.Timer(float(rng.uniform(0, 0.08)), os.kill, (pid, signal.SIGKILL))
        timer.start()
        result, seconds = timed_search(placed, sources[kill])
        timer.join()
        try:
            check(kron14, sources[kill], result)
        except RuntimeError as error:  # the kill came between the search and the fetch
            assert "the result is lost" in str(error)
            result, seconds = timed_search(placed, sources[kill])
            check(kron14, sources[kill], result)
        longest = max(longest, seconds)
        assert seconds < KILL_SECONDS + 1.0
        del result
        await_end_of(crew, victim)
    assert left_behind(crew.client, placed.placed_partitions) == ([], [])
    with capsys.disabled():
        print(f"\n40 kills, 0 wrong, 0 hangs, 0 states left; longest search {longest:.2f} s")
    placed.release()
