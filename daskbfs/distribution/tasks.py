"""The tasks that put a graph's partitions on workers and read results there, as Dask shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskbfs.cluster.segment import Segment, Ticket
from daskbfs.distribution.build_on_workers import BuiltRows
from daskbfs.distribution.sharing import find_arrays, store_arrays
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device
from daskbfs.partition.numbering import Numbering
from daskbfs.partition.partition import (
    Partition,
    ensure_all_owned,
    partition_of,
    rows_from_arrays,
)
from daskbfs.partition.pinned import Absent


def user_columns(
    held: Any, i: int, partition: Partition | Absent, ids: np.ndarray | None, dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    """A partition's vertices, and their parents, in the user's ids."""
    if isinstance(partition, Absent):
        raise RuntimeError(f"{partition.what} has left with its worker: search again")
    rows = slice(partition.first, partition.first + partition.n_rows)
    vertex = partition.numbering.vertex[rows].astype(np.int64)
    parent = held.parts[i].values[: partition.n_rows].astype(np.int64)
    reached = parent != int(NONE)
    parent[~reached] = -1
    if ids is not None:
        vertex, parent[reached] = ids[vertex], ids[parent[reached]]
    return vertex.astype(dtype), parent.astype(dtype)


def pin_numbering(
    values: dict[str, Any], device: Device, ticket: Ticket | None, member: int
) -> Numbering:
    """Make what the partitions of this worker share of what was sent to it, on its device.

    With a ticket, the first worker stores it where others find it by its description.
    """
    if ticket is None:
        return Numbering(**ensure_all_owned(values)).on(device)
    use = find_arrays if member else store_arrays
    return Numbering(**use(Segment.here(ticket, member), values)).on(device)


def pin_partition(
    rows: dict[str, Any] | BuiltRows, p: int, first: int, numbering: Numbering
) -> Partition:
    """Make a partition of rows that were sent or built here, where it is to stay."""
    out, into = rows.by_partition[p] if isinstance(rows, BuiltRows) else rows_from_arrays(rows)
    return partition_of(p, first, numbering, out, into)
