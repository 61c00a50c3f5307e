"""Graphs on a cluster: partitions as Dask futures, pinned to their workers."""
