"""Asynchronous clients, and low latency that comes and goes."""

from __future__ import annotations

import asyncio

import pytest
from distributed import Client, Worker
from distributed.utils_test import gen_cluster

import daskbfs
from tests.support.checks import check
from tests.support.exchange import EXCHANGES, exchange_by

cluster_of_three = gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)] * 3,
    clean_kwargs={"processes": False, "threads": False},  # other tests' clusters may be there
)


@cluster_of_three
async def test_asynchronous_clients(c, s, *workers):
    graph = daskbfs.kronecker(9)
    source = int(graph.random_sources(1)[0])
    for name in EXCHANGES:
        with exchange_by(name):
            placed = await daskbfs.distribute(graph, c, n_partitions=5)
        assert placed.exchange == name
        result = await daskbfs.bfs(placed, source, driver="auto")
        if name == "mail":  # else the result can be read where it is
            with pytest.raises(RuntimeError, match=r"'await result.fetch\(\)' first"):
                _ = result.parent
            assert repr(result).endswith(" ms, not fetched")
        assert await result.fetch() is result
        check(graph, source, result)
        assert {w.address for w in workers} == set(placed.placement.workers)


@cluster_of_three
async def test_partitions_stay_where_they_are_put(c, s, *workers):
    graph = daskbfs.kronecker(8)
    placed = await daskbfs.distribute(graph, c, n_partitions=4)
    for p, holder in enumerate(placed.placement.holders):
        task = s.tasks[placed.placed_partitions.partitions[p].key]
        assert {w.address for w in task.who_has} == {holder}
        assert task.worker_restrictions == {holder}
    # what was sent there is gone, once it became a partition
    for _ in range(100):
        if not [key for key in s.tasks if "dict" in str(key)]:
            break
        await asyncio.sleep(0.05)
    assert not [key for key in s.tasks if "dict" in str(key)]


@cluster_of_three
async def test_tuning_is_counted_covers_newcomers_and_is_undone(c, s, a, b, d):
    before = [
        s.stream_comms[a.address].interval,
        a.batched_stream.interval,
        c.scheduler_comm.interval,
    ]
    assert all(interval > 0 for interval in before)
    first = await daskbfs.tune(c)
    again = await daskbfs.tune(c)
    await again.close()
    async with Client(s.address, asynchronous=True) as other:
        second = await daskbfs.tune(other)
        assert all(comm.interval == 0 for comm in s.stream_comms.values())
        assert all(comm.interval == 0 for comm in s.client_comms.values())
        assert a.batched_stream.interval == c.scheduler_comm.interval == 0
        async with Worker(s.address) as late:
            assert late.batched_stream.interval == 0
            assert s.stream_comms[late.address].interval == 0
        await first.close()
        assert a.batched_stream.interval == 0
        await second.close()
    after = [
        s.stream_comms[a.address].interval,
        a.batched_stream.interval,
        c.scheduler_comm.interval,
    ]
    assert after == before


@cluster_of_three
async def test_tuning_ends_with_the_client_that_asked_for_it(c, s, a, b, d):
    before = a.batched_stream.interval
    async with Client(s.address, asynchronous=True) as other:
        tuning = await daskbfs.tune(other)
        assert a.batched_stream.interval == 0
    for _ in range(100):
        if a.batched_stream.interval == before:
            break
        await asyncio.sleep(0.05)
    assert a.batched_stream.interval == before
    assert not any("daskbfs" in name for name in [*s.plugins, *s.worker_plugins])
    assert tuning.close() is None
    assert repr(tuning).endswith("off>")
