"""KONECT's edge lists (out.*): ``%`` lines tell what the network is; ids count from 1 on.

The first line is ``% sym``, ``% asym`` or ``% bip`` and the kind of weights; a second one, where
there is one, ``% edges left right``. The two sides of a bipartite network number their vertices
each from 1 on: here those on the right come behind those on the left. Weights and times are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from daskbfs.graph.edge_stream import Block, EdgeStream, StreamWrapper
from daskbfs.io.location import Location
from daskbfs.io.text import TextEdges, are_counts, open_lines

_KINDS = {"sym": False, "asym": True, "bip": False}
"""Whether networks of each kind are directed."""


def open_edges(location: Location) -> tuple[EdgeStream, bool | None]:
    """The network's edges, and whether they are directed."""
    kind, sizes = _read_head(location)
    if sizes is None:
        sizes = _find_sizes(location)
    left, right = sizes
    if kind != "bip":
        return _text_edges(location, max(left, right)), _KINDS[kind]
    return Bipartite(_text_edges(location, max(left, right)), left, right), False


def _text_edges(location: Location, n_vertices: int | None) -> TextEdges:
    return TextEdges(
        location,
        comments=b"%#",
        base=1,
        n_vertices=n_vertices,
        what="an edge: two vertex ids, 1 or more",
    )


def _read_head(location: Location) -> tuple[str, tuple[int, int] | None]:
    """What the network is, and how many vertices it has on each side, where the file tells."""
    with open_lines(location) as lines:
        words = next(lines, b"").decode("latin-1").lstrip("%").split()
        if not words or words[0] not in _KINDS:
            raise ValueError(
                f"{location.name}, line 1: a KONECT file begins with '% sym', '% asym' or '% bip'; "
                "for another edge list, give the format edge-list"
            )
        second = next(lines, b"").strip()
    numbers = second[1:].split() if second.startswith(b"%") else []
    if len(numbers) < 3 or not are_counts(numbers[:3]):
        return words[0], None
    return words[0], (int(numbers[1]), int(numbers[2]))


def _find_sizes(location: Location) -> tuple[int, int]:
    """The largest id on each side, by reading all edges."""
    left = right = 0
    for heads, tails in _text_edges(location, None).blocks():
        if heads.size:
            left, right = max(left, 1 + int(heads.max())), max(right, 1 + int(tails.max()))
    return left, right


@dataclass(frozen=True, slots=True)
class Bipartite(StreamWrapper):
    """Edges between two sides that number their vertices each for itself, as those of one graph."""

    stream: TextEdges
    n_left: int
    n_right: int

    @property
    def n_vertices(self) -> int:
        return self.n_left + self.n_right

    def blocks(self) -> Iterator[Block]:
        for heads, tails in self.stream.blocks():
            for ends, n, side in ((heads, self.n_left, "left"), (tails, self.n_right, "right")):
                if ends.size and int(ends.max()) >= n:
                    raise ValueError(
                        f"{self.stream.location.name} has the vertex {1 + int(ends.max())} on the "
                        f"{side} side, but its second line tells of {n}"
                    )
            yield heads, tails + self.n_left
