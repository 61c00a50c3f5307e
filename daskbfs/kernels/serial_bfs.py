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


@kernel
def walk_all(indptr, indices, queue, last_level, parent, level, begins):
    """Walk from each vertex in turn that no walk has visited; ``begins`` tells where, in the queue.

    Returns how many walks there were.
    """
    size = 0
    n_walks = 0
    for vertex in range(level.size):
        if level[vertex] < 0:
            level[vertex] = 0
            queue[size] = vertex
            begins[n_walks] = size
            n_walks += 1
            size = walk(indptr, indices, queue, size, size + 1, last_level, parent, level)
    begins[n_walks] = size
    return n_walks
