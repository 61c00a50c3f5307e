"""Searches as others have written them, small and faithful, to compare with.

A module for each: ``kernel1(edges)`` makes whatever its search wants of the input edges, and
``kernel2(made, source)`` gives the parent of each vertex, -1 where the search does not come.
``cpu_list``, ``cpu_csr``, ``gpu_csr``, ``gpu_out_of_core`` and ``linear_algebra`` are the five of a
technical note of the SEI (BFS on CPUs and GPUs); ``peers`` has what is installed of other packages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Edges:
    """Input edges of an undirected graph; duplicates and self-loops are in."""

    heads: np.ndarray
    tails: np.ndarray
    n_vertices: int
    """Vertices are 0 to ``n_vertices - 1``."""
