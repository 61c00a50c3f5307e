"""Dask clusters: starting them, their workers, whether these are alive, and low latency."""
