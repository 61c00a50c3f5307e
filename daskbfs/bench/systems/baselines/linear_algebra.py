"""A search as products of a sparse matrix with a sparse vector, over blocks on Dask workers.

The matrix is cut both ways, into a grid of blocks, and each worker holds some. A level is one
product in the semiring whose sum is the minimum and whose product is the left factor: each block
multiplies its part of the frontier, and the smallest parent that a vertex is offered wins.
Method: SEI's "Multi-CPU, CombBLAS".
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future, wait

from daskbfs.bench.systems.baselines import Edges
from daskbfs.cluster.futures import new_run
from daskbfs.machine.devices import require_package


@dataclass(frozen=True, slots=True)
class Grid:
    """Blocks of a matrix, by stripes of rows and of columns, and the workers that hold them."""

    client: Client
    blocks: dict[tuple[int, int], Future]
    workers: dict[tuple[int, int], str]
    bounds: np.ndarray
    """Where each stripe begins, of rows and columns alike; and the end."""


def kernel1(edges: Edges, client: Client, n_stripes: int) -> Grid:
    """Cut the edges into stripes both ways; workers make matrices of the blocks."""
    require_package("scipy", "bench", "a product of sparse matrices")
    bounds = np.linspace(0, edges.n_vertices, n_stripes + 1).astype(np.int64)
    stripes = [np.searchsorted(bounds[1:-1], e, side="right") for e in (edges.heads, edges.tails)]
    turns = itertools.cycle(sorted(client.scheduler_info(n_workers=-1)["workers"]))
    blocks, workers = {}, {}
    for i, j in itertools.product(range(n_stripes), repeat=2):
        down = (stripes[0] == i) & (stripes[1] == j)
        up = (stripes[1] == i) & (stripes[0] == j)
        workers[i, j] = next(turns)
        arcs = (
            np.concatenate([edges.heads[down], edges.tails[up]]) - bounds[i],
            np.concatenate([edges.tails[down], edges.heads[up]]) - bounds[j],
        )
        (sent,) = client.scatter([arcs], workers=[workers[i, j]], hash=False)
        shape = (int(bounds[i + 1] - bounds[i]), int(bounds[j + 1] - bounds[j]))
        blocks[i, j] = client.submit(
            make_block,
            sent,
            shape,
            key=("make_block", new_run()),
            workers=[workers[i, j]],
        )
    wait(list(blocks.values()))
    return Grid(client, blocks, workers, bounds)


def kernel2(grid: Grid, source: int) -> np.ndarray:
    """Multiply until a product has no vertex that is new."""
    parent = np.full(int(grid.bounds[-1]), -1, np.int64)
    parent[source] = source
    frontier = np.array([source])
    while frontier.size:
        frontier = _next(grid, frontier, parent)
    return parent


def _next(grid: Grid, frontier: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """One product, without what has a parent already: the next frontier, ascending."""
    begin = np.searchsorted(frontier, grid.bounds)
    products = [
        grid.client.submit(
            multiply,
            block,
            frontier[begin[i] : begin[i + 1]] - grid.bounds[i],
            key=("multiply", new_run()),
            workers=[grid.workers[i, j]],
        )
        for (i, j), block in grid.blocks.items()
        if begin[i] < begin[i + 1]
    ]
    cells = [(i, j) for i, j in grid.blocks if begin[i] < begin[i + 1]]
    found = []
    for (i, j), (columns, offered) in zip(cells, grid.client.gather(products), strict=True):
        columns = columns + grid.bounds[j]
        new = parent[columns] < 0  # stripes come in the order of their rows: the first is smallest
        parent[columns[new]] = offered[new] + grid.bounds[i]
        found.append(columns[new])
    return np.sort(np.concatenate(found))


def make_block(arcs: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> Any:
    """A block of the matrix, as scipy's sparse rows."""
    from scipy import sparse

    return sparse.csr_array((np.ones(arcs[0].size, np.bool_), arcs), shape=shape)


def multiply(block: Any, frontier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that a block's part of the frontier meets, and the smallest row that meets each.

    The frontier is ascending, so the smallest is the first, which is written last.
    """
    rows = block[frontier]
    offered = np.repeat(frontier, np.diff(rows.indptr))
    smallest = np.full(block.shape[1], -1, np.int64)
    smallest[rows.indices[::-1]] = offered[::-1]
    columns = np.flatnonzero(smallest >= 0)
    return columns, smallest[columns]
