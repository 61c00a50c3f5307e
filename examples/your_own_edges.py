"""Search edges of your own, with vertex ids of your own."""

import numpy as np

import daskbfs

accounts = np.array(
    [
        (7_000_000_001, 42),
        (42, 99),
        (99, 7_000_000_001),
        (99, 123_456_789_012),
        (5, 6),
    ]
)
graph = daskbfs.from_edges(accounts)
result = daskbfs.bfs(graph, source=42)

for vertex, parent, level in zip(result.vertices, result.parent, result.level, strict=True):
    if level < 0:
        print(f"{vertex} cannot be reached from 42")
    else:
        print(f"{vertex} is {level} steps from 42, by way of {parent}")

near = daskbfs.bfs(graph, source=42, depth_limit=1)
print(f"{near.reached - 1} accounts are direct neighbours of 42")
