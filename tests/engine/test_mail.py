"""Mail between workers: it arrives, waiting ends, and searches do not block each other."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import dask
import pytest
from distributed import Client

import daskbfs
from daskbfs.algorithms.bfs.direction import policy
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.engine.drivers import waves
from daskbfs.engine.exchange.mail import Attempt, Mailbox, Mailboxes
from daskbfs.engine.warmup import warm_workers
from tests.support.checks import check

pytestmark = pytest.mark.usefixtures("on_the_cluster")


def test_mail_waits_for_its_reader_and_is_gone_when_taken():
    box = Mailbox()
    box.put("reply-0", "b", 2)
    box.put("reply-0", "a", 1)
    assert box.read("reply-0", 2) == {"a": 1, "b": 2}
    assert box.take("reply-0", 2) == {"a": 1, "b": 2}
    box.put("end", "a", 3)
    assert box.take("reply-0", 2, unless="end") is None
    assert box.read("end") == {"a": 3}


def test_a_reader_is_woken_by_mail_and_by_an_error():
    box = Mailbox()
    with ThreadPoolExecutor() as pool, dask.config.set({"daskbfs.waves.patience-seconds": 60}):
        reading = pool.submit(box.read, "message-1")
        time.sleep(0.05)
        box.put("message-1", "a", "hello")
        assert reading.result(5) == {"a": "hello"}
        waiting = pool.submit(box.read, "message-2")
        time.sleep(0.05)
        box.fail(ValueError("first"))
        box.fail(ValueError("second"))
        with pytest.raises(ValueError, match="first"):
            waiting.result(5)
    assert box.read("message-1") == {"a": "hello"}  # what has come can still be read


@dataclass(frozen=True, slots=True)
class Failing(BFS):
    """A search that one worker cannot do."""

    level: int = 1

    def compute(self, partition, state, message):
        if partition.number == 1 and message.level == self.level:
            raise OSError("the disk is full")
        return BFS.compute(self, partition, state, message)


def n_boxes(dask_worker):
    return len(dask_worker.daskbfs_mail._boxes)


def no_mail_is_left(client):
    deadline = time.time() + 10
    while any(client.run(n_boxes).values()) and time.time() < deadline:
        time.sleep(0.05)
    return not any(client.run(n_boxes).values())


def test_one_workers_error_ends_the_search_everywhere_and_leaves_nothing(exchange, kron12):
    row = int(kron12.order[int(kron12.random_sources(1)[0])])
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron12, client, n_partitions=3)
        program = Failing(int(placed.layout.global_id[row]), kron12.out.degree(row), policy())
        attempt = Attempt("attempt", placed.placement.workers)
        client.sync(warm_workers, placed.placed_partitions, program)
        assert placed.exchange == exchange
        with pytest.raises(OSError, match="the disk is full"):
            client.sync(waves.run, placed.placed_partitions, program, attempt, None)
        assert no_mail_is_left(client)


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["resident", "waves"])
def test_a_worker_where_a_cancelled_search_never_began_keeps_no_mail(exchange, kron12, driver):
    source = int(kron12.random_sources(1)[0])
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron12, client)
        daskbfs.bfs(placed, source, driver=driver)
        coordinator = placed.placement.coordinator
        busy = client.submit(time.sleep, 4, workers=[coordinator], pure=False)
        with pytest.raises(TimeoutError):
            daskbfs.bfs(placed, source, driver=driver, timeout=1)
        if exchange == "mail":
            assert any(client.run(n_boxes).values()), "the other worker has begun"
        busy.result()
        assert no_mail_is_left(client)
        check(kron12, source, daskbfs.bfs(placed, source, driver=driver))


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_searches_at_once_from_several_clients_are_right_and_separate(exchange, kron12):
    sources = [int(v) for v in kron12.random_sources(8)]
    with (
        daskbfs.local_cluster(2) as cluster,
        cluster.get_client() as one,
        Client(cluster.scheduler_address, set_as_default=False) as other,
    ):
        graphs = [daskbfs.distribute(kron12, client, n_partitions=3) for client in (one, other)]
        results = {}

        def work(n):
            for source in sources[n % 2 :: 2]:
                results[n, source] = daskbfs.bfs(graphs[n % 2], source)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(results) == 24
        for (_, source), result in results.items():
            check(kron12, source, result)
        assert no_mail_is_left(one)


def test_late_mail_for_a_closed_attempt_is_dropped():
    class Worker:
        address = "here"
        handlers: dict = {}

    class Owner:
        pass

    mailboxes, owner = Mailboxes(Worker()), Owner()
    box = mailboxes.open("run", owner)
    mailboxes._deliver("run", "message-0", "there", 1)
    assert box.read("message-0") == {"there": 1}
    del owner
    mailboxes._deliver("run", "message-1", "there", 2)
    assert not mailboxes._boxes
