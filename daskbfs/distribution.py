"""Graphs on a cluster: partitions as Dask futures, pinned to their workers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client, Future

from daskbfs.cluster import embedded_client, settled
from daskbfs.graph import Graph
from daskbfs.partition import (
    Layout,
    Numbering,
    Partition,
    cut,
    from_arrays,
    lay_out,
    number,
    own_numbering,
    to_arrays,
)
from daskbfs.placement import Placement, place
from daskbfs.post import Post
from daskbfs.types import NONE


class DistributedGraph:
    """A graph with partitions on the workers of a Dask cluster; made by :func:`distribute`.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.distribute(daskbfs.from_edges([(0, 1), (1, 2)]), n_partitions=2)
    >>> graph.n_partitions, graph.n_edges
    (2, 2)
    """

    def __init__(
        self, graph: Graph, client: Client, layout: Layout, placement: Placement, strategy: str
    ) -> None:
        self.graph = graph
        self.client = client
        self.layout = layout
        self.placement = placement
        self.strategy = strategy
        self.partitions: list[Future] = []
        self.numberings: dict[str, Future] = {}
        self.warm = False
        """Whether the workers' kernels are ready."""
        self.n_levels: int | None = None
        """Levels of the last search, for the next to prepare as many."""
        self.numbering = number(graph, layout)
        self.place: np.ndarray = layout.global_id[graph.order]
        """Global id of each vertex, by its index."""

    def held_by(self, worker: str) -> list[Future]:
        """The partitions on a worker."""
        return [self.partitions[p] for p in self.placement.held_by(worker)]

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def n_vertices(self) -> int:
        return self.graph.n_vertices

    @property
    def n_edges(self) -> int:
        return self.graph.n_edges

    @property
    def n_partitions(self) -> int:
        return self.layout.n_partitions

    def dask_columns(self, parts: Sequence[Future]) -> tuple[Any, Any]:
        """Vertex ids and parents of a search as Dask arrays, a chunk for each partition."""
        from dask.array import concatenate, from_delayed
        from dask.delayed import delayed

        run = uuid.uuid4().hex
        dtype = self.graph.parent_dtype
        columns: tuple[list[Any], list[Any]] = ([], [])
        for w, worker in enumerate(self.placement.workers):
            for i, p in enumerate(self.placement.held_by(worker)):
                pair = self.client.submit(
                    user_columns,
                    parts[w],
                    i,
                    self.partitions[p],
                    self.graph.ids.values,
                    dtype,
                    key=f"user_columns-{run}-{p}",
                    workers=[worker],
                    pure=False,
                )
                shape = (len(self.layout.rows[p]),)
                for k, column in enumerate(columns):
                    column.append(from_delayed(delayed(pair)[k], shape, dtype))
        return tuple(concatenate(column) for column in columns)  # type: ignore[return-value]

    def random_sources(self, n: int, seed: int = 1) -> np.ndarray:
        """Up to ``n`` distinct vertices that are not isolated, the same for the same seed."""
        return self.graph.random_sources(n, seed)

    def __repr__(self) -> str:
        return (
            f"Distributed{self.graph!r}, {self.n_partitions} partitions on "
            f"{len(self.placement.workers)} workers"
        )


def distribute(
    graph: Graph,
    client: Client | None = None,
    *,
    n_partitions: int | None = None,
    strategy: str = "random",
    seed: int = 1,
) -> Any:
    """Cut a graph into partitions and pin them to the workers of a cluster.

    Parameters
    ----------
    graph
        What to distribute.
    client
        A Dask client; None starts a cluster with one worker inside this process.
    n_partitions
        How many partitions; None makes one for each worker.
    strategy
        How rows are dealt to partitions: ``"random"``.
    seed
        The same seed deals the same way.

    Returns
    -------
    DistributedGraph
        To be searched with :func:`bfs`. With an asynchronous client, ``await distribute(...)``.

    Examples
    --------
    >>> import daskbfs
    >>> daskbfs.distribute(daskbfs.from_edges([(0, 1), (1, 2)]))
    DistributedGraph 'edges': 3 vertices, 2 edges, undirected, 828 B, 1 partitions on 1 workers
    """
    if client is None:
        client = embedded_client()
    return client.sync(spread, graph, client, n_partitions, strategy, seed)


async def spread(
    graph: Graph,
    client: Client,
    n_partitions: int | None = None,
    strategy: str = "random",
    seed: int = 1,
) -> DistributedGraph:
    """Do what :func:`distribute` says, on the client's event loop."""
    workers = sorted(await client.nthreads())
    placement = place(n_partitions if n_partitions is not None else len(workers), workers)
    layout = lay_out(graph, len(placement.holders), strategy, seed)
    placed = DistributedGraph(graph, client, layout, placement, strategy)
    numbering = placed.numbering
    run = uuid.uuid4().hex
    for worker in placement.workers:
        (raw,) = await client.scatter([numbering], workers=[worker], direct=True, hash=False)
        placed.numberings[worker] = client.submit(
            own_numbering, raw, key=f"numbering-{run}-{worker}", workers=[worker], pure=False
        )
    for p, worker in enumerate(placement.holders):
        arrays = to_arrays(cut(graph, layout, p, numbering))
        (raw,) = await client.scatter([arrays], workers=[worker], direct=True, hash=False)
        placed.partitions.append(
            client.submit(
                pin_partition,
                raw,
                placed.numberings[worker],
                key=f"pin_partition-{run}-{p}",
                workers=[worker],
                pure=False,
            )
        )
        del raw, arrays
        await settled(placed.partitions[-1:])
    return placed


def user_columns(
    held: Any, i: int, partition: Partition, ids: np.ndarray | None, dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    """A partition's vertices, and their parents, in the user's ids."""
    rows = slice(partition.first, partition.first + partition.n_rows)
    vertex = partition.numbering.vertex[rows].astype(np.int64)
    parent = held.parts[i].parent[: partition.n_rows].astype(np.int64)
    reached = parent != int(NONE)
    parent[~reached] = -1
    if ids is not None:
        vertex, parent[reached] = ids[vertex], ids[parent[reached]]
    return vertex.astype(dtype), parent.astype(dtype)


def pin_partition(arrays: dict[str, Any], numbering: Numbering) -> Partition:
    """Make a partition of what was sent to this worker, where it is to stay."""
    Post.here()  # from now on, mail can be delivered
    return from_arrays(arrays, numbering)
