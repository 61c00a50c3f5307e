"""Losses that are hard to time, in one process: each is brought about at the right moment."""

from __future__ import annotations

import asyncio
import contextlib
import time

import dask
import numpy as np
import pytest
from distributed import Client, Worker

import daskbfs
from daskbfs.cluster import liveness as watch
from daskbfs.cluster.liveness import Watch
from daskbfs.cluster.workers import WorkerState
from daskbfs.distribution import distributed_graph as distribution
from daskbfs.engine import attempts as engine
from daskbfs.engine.exchange.mail import Mailboxes
from tests.support.exchange import exchange_by
from tests.support.in_loop import cluster

GRAPH = daskbfs.kronecker(10)
SOURCE = int(GRAPH.random_sources(1)[0])


ROOMY = {"worker_kwargs": {"memory_limit": 0}, "timeout": 60}
"""Workers without a limit on memory."""


async def check(placed):
    result = await daskbfs.bfs(placed, SOURCE, driver="auto")
    await result.fetch()
    expected = daskbfs.bfs(GRAPH, SOURCE, driver="direct")
    assert np.array_equal(result.level, expected.level)
    daskbfs.validate(GRAPH, SOURCE, result.parent, result.level)


@cluster(2, **ROOMY)
async def test_mail_that_cannot_be_sent_ends_the_search_on_all_workers(c, s, *workers):
    with exchange_by("mail"):
        await check_mail_that_cannot_be_sent(c)


async def check_mail_that_cannot_be_sent(c):
    placed = await daskbfs.distribute(GRAPH, c)
    await check(placed)
    send, failures = Mailboxes._send, []

    class Broken:
        async def daskbfs_deliver(self, **mail):
            failures.append(mail["topic"])
            raise OSError("reset by peer")

    async def flaky(self, run, to, topic, content):
        if topic != "reply-0" or failures:
            return await send(self, run, to, topic, content)
        rpc, self._worker.rpc = self._worker.rpc, lambda to: Broken()
        try:
            await send(self, run, to, topic, content)
        finally:
            self._worker.rpc = rpc

    Mailboxes._send = flaky
    try:
        start = time.monotonic()
        with pytest.raises(ConnectionError, match="cannot be reached: reset by peer"):
            await daskbfs.bfs(placed, SOURCE, driver="waves", timeout=20)
        assert failures == ["reply-0"]
        assert time.monotonic() - start < 5
    finally:
        Mailboxes._send = send
    await check(placed)


@contextlib.contextmanager
def lost_when_partitions_move(worker):
    """Close a worker just before partitions are put anywhere."""
    put = distribution.place_partitions

    async def losing(*arguments, **more):
        distribution.place_partitions = put
        await worker.close()
        return await put(*arguments, **more)

    distribution.place_partitions = losing
    try:
        yield
    finally:
        distribution.place_partitions = put


@cluster(3, **ROOMY)
async def test_a_second_worker_lost_while_partitions_are_made_again(c, s, *workers):
    placed = await daskbfs.distribute(GRAPH, c)
    await check(placed)
    await workers[0].close()
    with lost_when_partitions_move(workers[1]):
        await check(placed)
    assert list(placed.where()) == [workers[2].address]


@cluster(3, **ROOMY)
async def test_a_worker_lost_while_partitions_are_balanced(c, s, *workers):
    placed = await daskbfs.distribute(GRAPH, c, n_partitions=2)
    with lost_when_partitions_move(workers[2]):
        await placed.rebalance()
    assert workers[2].address not in placed.where()
    await check(placed)


@cluster(0, **ROOMY)
async def test_the_only_worker_comes_back_at_its_old_address(c, s):
    worker = await Worker(s.address, nthreads=1, memory_limit=0)
    port = int(worker.address.rsplit(":", 1)[1])
    placed = await daskbfs.distribute(GRAPH, c)
    await check(placed)
    await worker.close()
    worker = await Worker(s.address, nthreads=1, memory_limit=0, port=port)
    with dask.config.set({"daskbfs.recovery.wait-seconds": 2}):
        await check(placed)
    await worker.close()


@cluster(2, **ROOMY)
async def test_parents_that_a_retiring_worker_handed_over_can_be_fetched(c, s, a, b):
    placed = await daskbfs.distribute(GRAPH, c)
    result = await daskbfs.bfs(placed, SOURCE, driver="auto")
    await c.retire_workers([b.address])
    with dask.config.set({"daskbfs.recovery.look-seconds": 0.0}):
        await result.fetch()
    daskbfs.validate(GRAPH, SOURCE, result.parent)


@cluster(2, **ROOMY)
async def test_searches_at_once_place_a_graph_once(c, s, *workers):
    graph, distribute_graph, calls = daskbfs.kronecker(9), engine.distribute_graph, []

    async def counted(*arguments):
        calls.append(arguments)
        return await distribute_graph(*arguments)

    engine.distribute_graph = counted
    try:
        sources = [int(v) for v in graph.random_sources(3)]
        results = await asyncio.gather(*[daskbfs.bfs(graph, v, c, driver="auto") for v in sources])
    finally:
        engine.distribute_graph = distribute_graph
    assert len(calls) == 1
    for source, result in zip(sources, results, strict=True):
        await result.fetch()
        daskbfs.validate(graph, source, result.parent)


@cluster(2, **ROOMY)
async def test_what_has_moved_or_is_released_is_gone_for_all_clients(c, s, *workers):
    def partitions():
        return [key for key in s.tasks if key[0] == "pin_partition"]

    async def left(n):
        for _ in range(50):
            if len(partitions()) == n:
                return True
            await asyncio.sleep(0.05)
        return False

    placed = await daskbfs.distribute(GRAPH, c)
    async with Client(s.address, asynchronous=True) as other:
        view = placed.seen_by(other)
        await check(view)
        third = await Worker(s.address, nthreads=1, memory_limit=0)
        await placed.rebalance()
        assert len(placed.where()) == len(view.where()) == 3
        assert await left(3)
        await check(view)
        placed.release()
        assert await left(0)
        await third.close()


@cluster(2, **ROOMY)
async def test_a_graph_built_on_the_workers_uses_those_that_join(c, s, *workers):
    placed = await daskbfs.distribute("kron:10", c)
    await check(placed)
    third = await Worker(s.address, nthreads=1, memory_limit=0)
    await placed.rebalance()
    assert len(placed.where()) == 3
    await check(placed)
    await third.close()
    await check(placed)
    assert len(placed.where()) == 2


@cluster(2, **ROOMY)
async def test_a_worker_that_pauses_does_not_send_rows_elsewhere(c, s, a, b):
    placing = asyncio.ensure_future(daskbfs.distribute("kron:10", c))
    while not any(key[0] == "build_rows" for key in a.data):
        await asyncio.sleep(0.001)
    a.status = type(a.status).paused
    await asyncio.sleep(0.5)
    a.status = type(a.status).running
    placed = await asyncio.wait_for(placing, 20)
    await check(placed)


def test_a_worker_that_pauses_twice_has_not_been_paused_between(monkeypatch):
    clock, status = [0.0], ["paused"]

    async def workers_now(client):
        return {"tcp://w": WorkerState("process", clock[0], 2**30, 2**29, status[0])}

    monkeypatch.setattr(watch, "workers_now", workers_now)
    monkeypatch.setattr(watch.time, "monotonic", lambda: clock[0])
    looking = Watch(None, {"tcp://w": "process"})
    for clock[0], status[0] in [(0.0, "paused"), (1.0, "running"), (11.5, "paused")]:
        asyncio.run(looking.look())
    clock[0] = 22.0
    with pytest.raises(MemoryError, match=r"is paused, since it uses 512.0 MiB of its 1.0 GiB"):
        asyncio.run(looking.look())
