"""Rank vertices: who is pointed to by those that are pointed to."""

import daskbfs

# who cites whom: a directed edge goes from a paper to an older one
citations = [(4, 1), (4, 2), (5, 1), (5, 4), (6, 1), (6, 4), (7, 4), (7, 6), (2, 1), (3, 2)]
graph = daskbfs.from_edges(citations, directed=True)

result = daskbfs.pagerank(graph, tolerance=1e-9)
print(result)
for vertex, rank in result.top(3):
    print(f"paper {vertex} has the rank {rank:.3f}")

near = daskbfs.pagerank(graph, personalization={7: 1.0})  # as seen from paper 7
print(f"from paper 7, the next to read is {near.top(2)[1][0]}")

large = daskbfs.pagerank(daskbfs.kronecker(scale=16), iterations=20)  # the time of the papers
print(f"20 iterations over a Kronecker graph: {large.edges_per_second / 1e6:.0f} M edges/s")
print(large.to_pandas().nlargest(3, "rank").to_string(index=False))
