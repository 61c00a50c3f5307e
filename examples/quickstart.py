"""Search a random graph, look at what happened, check the tree."""

import daskbfs

graph = daskbfs.kronecker(scale=16)  # or daskbfs.read_graph("soc-LiveJournal1.txt.gz")
print(graph)

source = int(graph.random_sources(1)[0])
result = daskbfs.bfs(graph, source)
print(result)
print(result.levels)

daskbfs.validate(graph, source, result.parent, result.level)
print("The tree passes the five Graph500 checks.")
