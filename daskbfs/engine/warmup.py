"""Workers are made ready before a clock runs: mail, kernels, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Future, get_worker

from daskbfs import config
from daskbfs.cluster.futures import new_run, wait_all
from daskbfs.cluster.tuning import exempt_from_collection, is_tuned
from daskbfs.distribution.placed_partitions import PlacedPartitions
from daskbfs.engine import tasks
from daskbfs.engine.exchange.mail import Mailboxes
from daskbfs.engine.exchange.segment import MOST_WORKERS, Segment, Ticket
from daskbfs.engine.exchange.shared_memory import Sharing
from daskbfs.engine.program import Program
from daskbfs.graph.csr import Rows, pad_to_words
from daskbfs.graph.graph import Graph
from daskbfs.graph.ordering import Locality
from daskbfs.graph.vertex_ids import DenseIds
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.meeting import can_meet
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device
from daskbfs.partition.layout import Layout, lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import Partition, cut


def warm_worker(
    program: Program, indptr_dtype: str, n_partitions: int, partitions: Sequence[Partition]
) -> None:
    """Make this worker ready for a program; a tuned one collects less garbage from now on."""
    Mailboxes.here()  # from now on, mail can be delivered
    program.warm_kernels(indptr_dtype, n_partitions, partitions)
    program.touch_memory(partitions)
    if is_tuned(get_worker()):
        exempt_from_collection()


def tiny_graph(indptr_dtype: str) -> Graph:
    """A path to compile kernels with, with offsets of a type; it takes no kernel to make."""
    n = 8
    ends = np.arange(n)
    neighbours = np.stack([ends - 1, ends + 1], axis=1)
    there = (neighbours >= 0) & (neighbours < n)
    degree = there.sum(axis=1).astype(np.uint32)
    indptr = np.concatenate([[0], np.cumsum(degree)]).astype(indptr_dtype)
    n_padded = pad_to_words(n)
    hub = np.full(n_padded, n, np.uint32)
    hub[:n] = np.where(ends > 0, ends - 1, 1)
    mean_degree = np.ones(n_padded // WORD_BITS, np.float32)
    rows = Rows(indptr, neighbours[there].astype(np.uint32), hub, mean_degree, n)
    original_index = np.full(n_padded, NONE, np.uint32)
    original_index[:n] = ends
    return Graph(
        name="path:8",
        directed=False,
        ids=DenseIds(n),
        order=ends.astype(np.uint32),
        original_index=original_index,
        input_degree=degree,
        n_input_edges=n - 1,
        locality=Locality("input", "input"),
        out=rows,
        into=rows,
    )


def partitions_on(
    graph: Graph,
    n_partitions: int,
    device: Device,
    layout: Layout | None = None,
    *,
    even: bool = True,
) -> list[Partition]:
    """Partitions of a graph on one device, in this process, as if its degrees were even or not."""
    layout = layout or lay_out(graph, n_partitions)
    numbering = replace(number(graph, layout), even=even).on(device)
    return [cut(graph, layout, p, numbering) for p in range(n_partitions)]


async def warm_workers(placed: PlacedPartitions, program: Program) -> None:
    """Make every worker that holds a partition ready for a program; once for each placement."""
    if program.variant in placed.warmed:
        return
    if not placed.warmed:
        await share_memory(placed)
    dtype = "uint32" if placed.graph.n_arcs < 2**32 else "int64"
    futures = [
        placed.client.submit(
            warm_worker,
            program,
            dtype,
            placed.n_partitions,
            placed.held_by(worker),
            workers=[worker],
            key=("warm_worker", new_run()),
        )
        for worker in placed.placement.workers
    ]
    await wait_all(futures)
    if not placed.warmed:
        with placed.annotate():
            placed.anchors = [
                placed.client.submit(
                    _stay,
                    key=(placed.task_group(name), new_run()),
                    workers=[placed.placement.coordinator],
                    pure=False,
                )
                for name in _TASK_NAMES
            ]
        await wait_all(placed.anchors)  # a process that ends soon would warn of those that run
    placed.warmed.add(program.variant)


async def share_memory(placed: PlacedPartitions) -> None:
    """Have the workers of a placement share memory, if they are on one host and want to."""
    workers, devices = placed.placement.workers, placed.devices
    placed.exchange = "mail"
    if not 1 < len(workers) <= MOST_WORKERS or not config.get("exchange.shared-memory"):
        return
    holders = tuple((worker, devices[worker]) for worker in placed.placement.holders)

    def submit(task: Any, worker: str, *arguments: Any) -> Future:
        return placed.client.submit(
            task, *arguments, key=(task.__name__, new_run()), workers=[worker], pure=False
        )

    first = submit(create_sharing, workers[0], holders)
    ticket = await submit(read_ticket, workers[0], first)
    others = [
        submit(open_sharing, worker, ticket, member, holders)
        for member, worker in enumerate(workers[1:], 1)
    ]
    await wait_all(others)
    if ticket is not None and all(future.type is Sharing for future in others):
        placed.sharings = dict(zip(workers, [first, *others], strict=True))
        placed.exchange = "shared memory"


def create_sharing(holders: tuple[tuple[str, Device], ...]) -> Sharing | None:
    """Memory for the workers of a placement to share; None where this system has none."""
    try:
        return Sharing(Segment.create(), holders) if can_meet() else None
    except OSError:
        return None


def read_ticket(sharing: Sharing | None) -> Ticket | None:
    """How other workers find this one's memory."""
    return None if sharing is None else sharing.segment.ticket


def open_sharing(
    ticket: Ticket | None, member: int, holders: tuple[tuple[str, Device], ...]
) -> Sharing | None:
    """The same memory on another worker; None where that is another host, or another user's."""
    segment = None if ticket is None else Segment.open(ticket, member)
    return None if segment is None else Sharing(segment, holders)


_TASK_NAMES = tuple(
    task.__name__
    for task in (
        tasks.run_program,
        tasks.run_levels,
        tasks.read_measurements,
        tasks.open_states,
        tasks.compute_level,
        tasks.gather_level,
        tasks.settle_result,
    )
)


def _stay() -> None:
    """One task of each name stays as long as its graph.

    With the last task of a name Dask begins its statistics of that name anew, and keeps the old
    ones for ever: some 50 kB for each run.
    """
