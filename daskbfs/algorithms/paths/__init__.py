"""Shortest paths: the function."""
