"""Workers are made ready before a clock runs: mail, kernels, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from distributed import Future, get_worker

from daskbfs.cluster.futures import new_run, wait_all
from daskbfs.cluster.segment import Slot
from daskbfs.cluster.tuning import exempt_from_collection, is_tuned
from daskbfs.distribution.placed_partitions import PlacedPartitions
from daskbfs.distribution.sharing import Sharing
from daskbfs.engine import tasks
from daskbfs.engine.exchange.mail import Mailboxes
from daskbfs.engine.exchange.shared_memory import Columns, touch_memory
from daskbfs.engine.program import KernelNeeds, Program
from daskbfs.graph.csr import Rows, pad_to_words
from daskbfs.graph.graph import Graph
from daskbfs.graph.ordering import Locality
from daskbfs.graph.vertex_ids import DenseIds
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device
from daskbfs.partition.footprint import RESULTS
from daskbfs.partition.layout import Layout, lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import Partition, cut
from daskbfs.partition.pinned import Pinned


def warm_worker(program: Program, partitions: Sequence[Partition], shared: bool) -> None:
    """Make this worker ready for a program; a tuned one collects less garbage from now on."""
    Mailboxes.here()  # from now on, mail can be delivered
    program.warm_kernels(KernelNeeds.of(partitions, shared=shared))
    if not shared:
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
    futures = [
        placed.client.submit(
            warm_worker,
            program,
            placed.held_by(worker),
            bool(placed.sharings),
            workers=[worker],
            key=("warm_worker", new_run()),
        )
        for worker in placed.placement.workers
    ]
    await wait_all(futures)
    await _touch_shared(placed, program)
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


async def _touch_shared(placed: PlacedPartitions, program: Program) -> None:
    """Have the memory that runs share in place on every worker; the first one makes it."""
    if not placed.sharings:
        return
    columns, run = program.share(placed.numbering), new_run()
    touched: list[Future] = []
    first, *others = placed.placement.workers
    for workers in ([first], others):
        touched += [
            placed.client.submit(
                touch_shared,
                placed.sharing(worker),
                columns,
                program.variant,
                run,
                key=("touch_shared", run, worker),
                workers=[worker],
                pure=False,
            )
            for worker in workers
        ]
        await wait_all(touched)


def touch_shared(sharing: Sharing, columns: Columns, kind: str, run: str) -> Touched:
    """Have the memory that runs share in place on this worker."""
    return Touched(touch_memory(sharing, columns, kind, run, RESULTS))


class Touched(Pinned):
    """Shared memory that is not to be used by others yet."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self._slots = slots


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
