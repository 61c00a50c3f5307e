"""Graphs: streams of edges, the user's vertex ids, Kernel 1, and what it builds."""
