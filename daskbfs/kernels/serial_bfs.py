"""Walks in the order of a queue, and of each row: one neighbour after the other.

For callers to whom the order matters, as it does to networkx's; searches of ours have none.
A vertex was visited when its ``level`` is not negative.
"""

from __future__ import annotations

from daskbfs.kernels.compile import kernel


@kernel
def walk(indptr, indices, queue, done, size, last_level, parent, level):
    """Visit what can be reached from ``queue[done:size]``; returns where the queue ends."""
    while done < size:
        row = queue[done]
        done += 1
        next_level = level[row] + 1
        if next_level > last_level:
            break
        for e in range(indptr[row], indptr[row + 1]):
            neighbour = indices[e]
            if level[neighbour] < 0:
                level[neighbour] = next_level
                parent[neighbour] = row
                queue[size] = neighbour
                size += 1
    return size
