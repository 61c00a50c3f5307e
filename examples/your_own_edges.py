"""Search edges of your own: tables, arrays, files, with vertex ids of your own."""

import numpy as np
import pandas

import daskbfs

calls = pandas.DataFrame(
    {
        "caller": [7_000_000_001, 42, 99, 99, 5],
        "called": [42, 99, 7_000_000_001, 123_456_789_012, 6],
        "minutes": [3, 1, 4, 1, 5],
    }
)
# polars, pyarrow, cuDF and Dask will do as well, or an array of shape (m, 2)
graph = daskbfs.from_edges(calls, columns=("caller", "called"))
tree = daskbfs.bfs(graph, source=42).to_pandas()
for row in tree.itertuples():
    if row.level < 0:
        print(f"{row.vertex} cannot be reached from 42")
    else:
        print(f"{row.vertex} is {row.level} calls from 42, by way of {row.parent}")

near = daskbfs.bfs(graph, source=42, depth_limit=1)
print(f"{near.reached - 1} people talked to 42 themselves")

np.save("calls.npy", calls[["caller", "called"]].to_numpy())
graph = daskbfs.read_graph("calls.npy", directed=True)  # .txt.gz, .mtx, .csv, .parquet, ...
daskbfs.write_graph(graph, "calls.dbfs")  # opens in milliseconds from now on, however large
print(daskbfs.read_graph("calls.dbfs"))
