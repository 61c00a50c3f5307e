"""How much memory a partition and its search take, before anything is allocated.

The search is breadth-first. PageRank takes no more (tested), unless its tolerance is so
small that it needs float64, or vertices differ in their share: 8 bytes of each vertex more for
either. That, its results of 8 bytes a vertex instead of 4, and up to 8 MiB of sums that lanes leave
on an accelerator are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from daskbfs.graph.csr import pad_to_words
from daskbfs.kernels.bitmap import WORD_BITS

_ID = 4  # bytes of a vertex number
_WORD = 8

RESULTS = 3
"""Results in memory at once: of the search that runs, of one that its user holds, and of one on its
way out."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of one partition on its device."""

    rows: int
    """Offsets, neighbours, hubs and their vertices."""
    numbering: int
    """What all partitions of a worker share."""
    state: int
    """A search, and results: one breadth-first search at a time."""

    device_state: int
    """The same on an accelerator: results leave it, but what comes and goes counts too."""

    shared: int
    """Of a host whose workers share memory, once for all: numbering, a search, and results."""

    beside_shared: int
    """What a search takes of a partition's own memory then."""

    @property
    def total(self) -> int:
        """On a CPU worker."""
        return self.rows + self.numbering + self.state

    @property
    def on_device(self) -> int:
        """On an accelerator."""
        return self.rows + self.numbering + self.device_state


def footprint(n_rows: int, out_arcs: int, in_arcs: int | None, n_global: int) -> Footprint:
    """What a partition takes; ``in_arcs`` is None for undirected graphs."""
    rows = _rows(n_rows, out_arcs) + (0 if in_arcs is None else _rows(n_rows, in_arcs))
    bitmap = _WORD * (n_global // WORD_BITS)
    result = _ID * pad_to_words(n_rows)
    search = 3 * bitmap  # visited, and two frontiers
    search += 2 * _ID * n_global  # two queues
    search += _ID * n_global  # parents found for others
    passing = 4 * bitmap  # a frontier, what was found, the place of each half word
    passing += 2 * _ID * n_global  # parents that others found
    numbering = _ID * n_global + 4 * (n_global // WORD_BITS)  # vertices, mean degrees
    return Footprint(
        rows=rows + _ID * pad_to_words(n_rows),  # the vertices of hubs
        numbering=numbering,
        state=search + RESULTS * result,
        device_state=search + passing + result,
        shared=numbering + 3 * bitmap + _ID * n_global + RESULTS * _ID * n_global,  # and a queue
        beside_shared=result + _ID * n_global,  # own rows of the frontier, and what they find
    )


def _rows(n_rows: int, n_arcs: int) -> int:
    """One direction: offsets of 32 bits where they suffice."""
    n_padded = pad_to_words(n_rows)
    offset = 4 if n_arcs < 2**32 else 8
    mean_degrees = 4 * (n_padded // WORD_BITS)
    return offset * (n_rows + 1) + _ID * n_arcs + _ID * n_padded + mean_degrees
