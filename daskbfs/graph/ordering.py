"""How vertices are numbered and neighbours sorted: what stands close together in memory.

Rows of high degree first, and hubs first within rows, are what makes searches of skewed graphs
quick; each can be switched off, to see what it gains. Graphs with even degrees keep the input's
order.
Method: Sallinen, Gharaibeh, Ripeanu (Accelerating Direction-Optimized BFS on Hybrid Architectures),
section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskbfs import config
from daskbfs.kernels.construction import number_by_degree

_VERTICES = ("auto", "degree", "input")
_NEIGHBOURS = ("hubs-first", "input")


@dataclass(frozen=True, slots=True)
class Locality:
    """How a graph's vertices are numbered, and neighbours sorted within rows.

    ``input`` is the order of the user's vertex ids. ``auto`` becomes ``degree`` or ``input`` once
    the degrees are known.
    """

    vertices: str
    neighbours: str
    why: str = ""
    """Why vertices are numbered so; empty where that was asked for, or comes from a file."""

    @classmethod
    def from_config(cls) -> Locality:
        """What ``daskbfs.construction`` says now."""
        return cls(
            _read_choice("construction.vertices", _VERTICES),
            _read_choice("construction.neighbours", _NEIGHBOURS),
        )

    def for_degrees(self, degree: np.ndarray) -> Locality:
        """The same with ``auto`` decided; ``degree`` is 0 for isolated vertices.

        Hubs first is what makes searches of skewed graphs quick. Where degrees are even there is
        no hub, and the input's order is often one in which neighbours stand close together.
        """
        if self.vertices != "auto":
            return self
        lengths = degree[degree > 0]
        if has_even_degrees(lengths):
            return Locality(
                "input", "input", f"no degree is far above the mean: {_spread(lengths)}"
            )
        return Locality("degree", self.neighbours, f"degrees are skewed: {_spread(lengths)}")

    @property
    def known(self) -> bool:
        """Whether both are orders that there are."""
        return self.vertices in _VERTICES[1:] and self.neighbours in _NEIGHBOURS

    @property
    def by_degree(self) -> bool:
        """Whether rows come by decreasing degree."""
        return self.vertices == "degree"

    @property
    def ascending(self) -> bool:
        """Whether neighbours come by ascending rows: sorted as rows are."""
        return self.by_degree == (self.neighbours == "hubs-first")

    def number(self, degree: np.ndarray, original_index: np.ndarray, order: np.ndarray) -> None:
        """Fill ``original_index`` for vertices that have a degree, and ``order``."""
        n_rows = np.uint32(np.count_nonzero(degree))
        if self.by_degree:
            number_by_degree(degree, original_index, order, n_rows)
            return
        connected = np.flatnonzero(degree)
        original_index[:n_rows] = connected
        order[:] = n_rows
        order[connected] = np.arange(n_rows)

    def places(self, order: np.ndarray, lengths: tuple[np.ndarray, np.ndarray]) -> Places | None:
        """By what neighbours are sorted; None: by their rows.

        ``lengths`` are the arcs out of each row, and into it; for undirected graphs one array.
        """
        if self.ascending:
            return None
        out, into = lengths
        place, row = np.empty((2, out.size + 1), np.uint32)
        place[-1] = row[-1] = out.size
        if self.by_degree:
            row[:-1] = order[order < out.size]
            place[row[:-1]] = np.arange(out.size)
        else:
            degree = out if into is out else out + into
            number_by_degree(degree, row[:-1], place[:-1], np.uint32(out.size))
        return Places(place, row)


@dataclass(frozen=True, slots=True)
class Places:
    """Another order of rows, there and back; behind the last row, that of isolated vertices."""

    place: np.ndarray
    """By row."""
    row: np.ndarray
    """By place."""

    def names(self, of_rows: np.ndarray | None) -> np.ndarray:
        """The name of each place, from those of rows; None: rows are called by their number."""
        return self.row if of_rows is None else of_rows[self.row]


def _spread(lengths: np.ndarray) -> str:
    """Mean and largest degree, for people."""
    mean = float(lengths.mean()) if lengths.size else 0.0
    return f"mean {mean:,.1f}, largest {int(lengths.max(initial=0)):,}"


def has_even_degrees(lengths: np.ndarray) -> bool:
    """Whether no row has many more arcs than the mean: a uniform graph, a grid, a road network."""
    mean = int(lengths.sum(dtype=np.int64)) / max(1, lengths.size)
    most = config.get("partition.even-degrees") * max(1.0, mean)
    return int(lengths.max(initial=0)) <= most


def _read_choice(key: str, values: tuple[str, ...]) -> str:
    """A value of the configuration that must be one of some words."""
    value = config.get(key)
    if value not in values:
        raise ValueError(f"daskbfs.{key} {value!r} is unknown: choose one of {', '.join(values)}")
    return str(value)
