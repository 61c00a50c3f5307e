"""Binary edge lists of Graph500: what its reference code writes to TMPFILE, without a header.

Packed, an edge has 12 bytes: the low 32 bits of both vertices, then 16 high bits of each, signed.
Unpacked, it has 16: two int64. All little-endian.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from daskbfs.graph.edge_stream import Block, BlockwiseStream, EdgeStream, block_ranges
from daskbfs.io.location import Location, read_array

_PACKED = np.dtype([("low", "<u4", 2), ("high", "<i2", 2)])
_UNPACKED = np.dtype(("<i8", 2))
_MOST_PACKED = 2**47


def open_packed(location: Location) -> tuple[EdgeStream, bool | None]:
    """The edges of a packed file, which may be taken as directed or not."""
    return _open(location, packed=True), None


def open_unpacked(location: Location) -> tuple[EdgeStream, bool | None]:
    """The edges of an unpacked file, which may be taken as directed or not."""
    return _open(location, packed=False), None


def _open(location: Location, *, packed: bool) -> BinaryEdges:
    size, width = location.size, (_PACKED if packed else _UNPACKED).itemsize
    if size % width:
        other = "unpacked" if packed else "packed"
        raise ValueError(
            f"{location.name} has {size} bytes, which is no multiple of an edge's {width}: it is "
            f"cut short, or {other}"
        )
    return BinaryEdges(location, packed, size // width)


@dataclass(frozen=True, slots=True)
class BinaryEdges(BlockwiseStream):
    """A stream of the edges of a file; any block can be read without the others."""

    location: Location
    packed: bool
    n_edges: int
    n_vertices: int | None = None

    def every(self, first: int, step: int) -> Iterator[Block]:
        dtype = _PACKED if self.packed else _UNPACKED
        with self.location.open() as file:
            for begin, n in block_ranges(self.n_edges, first, step):
                raw = read_array(file, self.location.name, dtype, n, begin * dtype.itemsize)
                yield _split_ends(raw) if self.packed else (raw[:, 0], raw[:, 1])


def _split_ends(raw: np.ndarray) -> Block:
    """Heads and tails; in 32 bits where these suffice, as in every graph that can be numbered."""
    low, high = raw["low"], raw["high"]
    if not high.any():
        return np.ascontiguousarray(low[:, 0]), np.ascontiguousarray(low[:, 1])
    ends = low | high.astype(np.int64) << 32
    return ends[:, 0], ends[:, 1]


def write_packed(blocks: Iterable[Block], file: IO[bytes]) -> None:
    """Write edges in 12 bytes each."""
    for block in blocks:
        raw = np.zeros(block[0].size, _PACKED)
        for i, ends in enumerate(ends.astype(np.int64, copy=False) for ends in block):
            if ends.size and int(ends.max()) >= _MOST_PACKED:
                raise ValueError(
                    f"vertex {ends.max()} does not fit the 48 bits of a packed edge: write the "
                    "unpacked format (.g500u)"
                )
            raw["low"][:, i] = ends & 0xFFFFFFFF
            raw["high"][:, i] = ends >> 32
        file.write(raw.tobytes())


def write_unpacked(blocks: Iterable[Block], file: IO[bytes]) -> None:
    """Write edges in 16 bytes each."""
    for heads, tails in blocks:
        file.write(np.stack([heads, tails], axis=1).astype("<i8").tobytes())
