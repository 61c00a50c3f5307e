"""Undirected edges from files that hold each of them as two arcs: taken once, checked for both.

Arcs that lead up and arcs that lead down must be the same edges. Neither stands in memory as a
whole, so their numbers and the sums of their hashes, in which order does not matter, are compared.
"""

from __future__ import annotations

import numpy as np

from daskbfs.graph.edge_stream import Block
from daskbfs.kernels.export import take_once


class Symmetry:
    """Takes each edge of a file once, and tells in the end whether all were there both ways."""

    def __init__(self, name: str, n_vertices: int, first_id: int) -> None:
        self.n_up = self.n_down = self.n_kept = 0
        self._up_hash = self._down_hash = 0
        self._name = name
        self._n_vertices = n_vertices
        self._first_id = first_id

    def take(self, heads: np.ndarray, tails: np.ndarray) -> Block:
        """The arcs to keep: those that lead down, and self-loops."""
        kept_heads, kept_tails = np.empty_like(heads), np.empty_like(tails)
        bad, n_kept, n_up, n_down, up_hash, down_hash = take_once(
            heads, tails, self._n_vertices, kept_heads, kept_tails
        )
        if bad >= 0:
            first = self._first_id
            raise ValueError(
                f"{self._name}: vertex {first + int(heads[bad])} has the neighbour "
                f"{first + int(tails[bad])}: vertices are {first} to {first + self._n_vertices - 1}"
            )
        self.n_up += n_up
        self.n_down += n_down
        self.n_kept += n_kept
        self._up_hash = (self._up_hash + int(up_hash)) % 2**64
        self._down_hash = (self._down_hash + int(down_hash)) % 2**64
        return kept_heads[:n_kept], kept_tails[:n_kept]

    def check(self) -> None:
        """Refuse a file in which an arc lacks its reverse; called after the last block."""
        if (self.n_up, self._up_hash) != (self.n_down, self._down_hash):
            raise ValueError(
                f"{self._name} holds undirected edges, but its {self.n_up} arcs upwards and "
                f"{self.n_down} downwards are not the same edges: "
                "each edge must be there both ways"
            )
