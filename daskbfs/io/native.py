"""Graphs as they are in memory (.dbfs): mapped, not read, so that they open in milliseconds.

Eight bytes of magic; uint32 version; uint32 length of a header in JSON, and its CRC-32; then the
arrays of the graph, little-endian, each from a multiple of 64 bytes on. The processes of a machine
share the pages of a file that they map. Pages are mapped privately: the file is never written, but
kernels, which are compiled for arrays that can be written, need not be compiled again.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from daskbfs import config
from daskbfs.graph.csr import Rows, pad_to_words
from daskbfs.graph.edge_stream import Block, EdgeStream, PlainStream
from daskbfs.graph.graph import Graph
from daskbfs.graph.ordering import Locality
from daskbfs.graph.vertex_ids import DenseIds, Ids, SparseIds
from daskbfs.io.export import exported_pairs
from daskbfs.io.location import Location, read_array, require_rising
from daskbfs.kernels.bitmap import WORD_BITS
from daskbfs.kernels.export import checksum, largest_but
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import MAX_VERTICES, NONE
from daskbfs.progress import Progress, silent

_MAGIC = b"\x93DASKBFS"
_VERSION = 1
_HEAD = struct.Struct("<8sIII")
_ALIGNED = 64
_LONGEST_HEADER = 2**16
_WRITE_BYTES = 2**26
_ROW_COLUMNS = ("indptr", "indices", "hub", "mean_degree")
_TYPES = {
    "ids": ("<i8",),
    **{f"{way}.indptr": ("<u4", "<i8") for way in ("out", "into")},
    **{f"{way}.mean_degree": ("<f4",) for way in ("out", "into")},
}
"""The types that an array may have, where they are not uint32."""
_KINDS = {"<u4": np.uint32, "<i8": np.int64, "<f4": np.float32}


def open_edges(location: Location) -> tuple[EdgeStream, bool | None]:
    """The graph's edges, and whether they are directed; only the header is read."""
    header = _read_header(location)
    return StoredEdges(location, header), header.directed


@dataclass(frozen=True, slots=True)
class Header:
    """What a file tells of its graph before any array."""

    directed: bool
    n_vertices: int
    first_id: int
    n_input_edges: int
    n_edges: int
    locality: dict[str, str]
    n_long_rows: list[int]
    arrays: dict[str, tuple[str, int, int]]
    """Type, number of entries and first byte of each."""
    n_bytes: int
    checksum: int


def _array_sizes(header: Header) -> dict[str, int]:
    """How many entries each array must have, by what the header says."""
    n_rows = header.arrays["input_degree"][1]
    arcs = header.n_edges if header.directed else 2 * header.n_edges
    sizes = {
        "order": header.n_vertices,
        "original_index": pad_to_words(n_rows),
        "input_degree": n_rows,
        "hub_vertex": pad_to_words(n_rows),
    }
    if "ids" in header.arrays:
        sizes["ids"] = header.n_vertices
    for way in ("out", "into") if header.directed else ("out",):
        sizes |= {
            f"{way}.indptr": n_rows + 1,
            f"{way}.indices": arcs,
            f"{way}.hub": pad_to_words(n_rows),
            f"{way}.mean_degree": pad_to_words(n_rows) // WORD_BITS,
        }
    return sizes


def _read_header(location: Location) -> Header:
    """The header, if the file is what it says."""
    name, size = location.name, location.size
    with location.open() as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or head[:8] != _MAGIC:
            raise ValueError(f"{name} is no .dbfs file: its first bytes are others")
        _, version, length, crc = _HEAD.unpack(head)
        if version != _VERSION:
            raise ValueError(
                f"{name} has version {version} of the .dbfs format, and this daskbfs reads "
                f"{_VERSION}: convert the graph again from where it came"
            )
        text = file.read(min(length, _LONGEST_HEADER))
    if len(text) != length or zlib.crc32(text) != crc:
        raise ValueError(f"{name} is damaged or cut short: its header is not whole")
    try:
        header = Header(**json.loads(text))
        fits = _fits(header)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise ValueError(f"{name} is damaged: its header cannot be understood") from error
    if not fits:
        raise ValueError(f"{name} is damaged: its header contradicts itself")
    if size != header.n_bytes:
        raise ValueError(
            f"{name} has {size} bytes and should have {header.n_bytes}: it is damaged or cut short"
        )
    return header


def _fits(header: Header) -> bool:
    """Whether arrays have the sizes and types that belong together, and lie within the file."""
    lengths = [n for _, n, _ in header.arrays.values()]
    numbers = [header.n_vertices, header.n_edges, header.n_input_edges, header.n_bytes]
    if any(type(n) is not int or n < 0 for n in (*numbers, *lengths, *header.n_long_rows)):
        return False
    if len(header.n_long_rows) != 2 or not Locality(**header.locality).known:
        return False
    sizes = _array_sizes(header)
    if sizes.keys() != header.arrays.keys() or not 0 <= header.n_vertices <= MAX_VERTICES:
        return False
    for array, (kind, n, begin) in header.arrays.items():
        if n != sizes[array] or kind not in _TYPES.get(array, ("<u4",)) or begin % _ALIGNED:
            return False
        if begin < _HEAD.size or begin + n * np.dtype(kind).itemsize > header.n_bytes:
            return False
    n_rows = header.arrays["input_degree"][1]
    return max(*header.n_long_rows, n_rows) <= header.n_vertices and header.first_id in (0, 1)


@dataclass(frozen=True, slots=True)
class StoredEdges(PlainStream):
    """A stream of the edges of a stored graph, undirected ones once; and the graph itself."""

    location: Location
    header: Header

    @property
    def n_edges(self) -> int:
        return self.header.n_edges

    @property
    def n_vertices(self) -> int | None:
        return None if "ids" in self.header.arrays else self.header.n_vertices

    @property
    def first_id(self) -> int:
        return self.header.first_id

    def blocks(self) -> Iterator[Block]:
        graph = self.graph()
        ids = graph.ids.values if not graph.ids.sequential else None
        for heads, tails in exported_pairs(graph, silent):
            yield (heads, tails) if ids is None else (ids[heads], ids[tails])

    def graph(self, name: str | None = None) -> Graph:
        """The graph, mapped; of a file elsewhere, brought here."""
        header = self.header
        columns = self._map_columns()
        self._require_sound(columns)
        ids: Ids = DenseIds(header.n_vertices, header.first_id)
        if "ids" in columns:
            ids = SparseIds(columns["ids"])
        out = self._rows("out", columns, header.n_long_rows[0])
        into = self._rows("into", columns, header.n_long_rows[-1]) if header.directed else out
        return Graph(
            name=name or self.location.name,
            directed=header.directed,
            ids=ids,
            order=columns["order"],
            original_index=columns["original_index"],
            input_degree=columns["input_degree"],
            n_input_edges=header.n_input_edges,
            locality=Locality(**header.locality),
            out=out,
            into=into,
            hub_vertex=columns["hub_vertex"],
        )

    def _map_columns(self) -> dict[str, np.ndarray]:
        """All arrays."""
        path = self.location.local
        if path is not None:
            mapped = np.asarray(np.memmap(path, np.uint8, mode="c"))
        else:
            with self.location.open() as file:
                n_bytes = self.header.n_bytes
                mapped = read_array(file, self.location.name, np.uint8, n_bytes, 0).copy()
        if mapped.size != self.header.n_bytes:
            raise ValueError(f"{self.location.name} became shorter while it was opened")
        columns = {}
        for array, (kind, n, begin) in self.header.arrays.items():
            end = begin + n * np.dtype(kind).itemsize
            columns[array] = mapped[begin:end].view(_KINDS[kind])
        columns["all"] = mapped
        return columns

    def _rows(self, way: str, columns: dict[str, np.ndarray], n_long_rows: int) -> Rows:
        arrays = {name: columns[f"{way}.{name}"] for name in _ROW_COLUMNS}
        return Rows(**arrays, n_long_rows=n_long_rows)  # type: ignore[arg-type]

    def _require_sound(self, columns: dict[str, np.ndarray]) -> None:
        """Refuse a file whose arrays are not those that were written, as far as is quickly told."""
        name, begin = self.location.name, _first_byte(self.header)
        if self.header.n_bytes <= config.get("native.verify-bytes"):
            words = columns["all"][begin:].view(np.uint64)
            if int(checksum(words, 0, n_threads())) != self.header.checksum:
                raise ValueError(f"{name} is damaged: its arrays are not those that were written")
            self._require_in_range(columns)
        for way in ("out", "into") if self.header.directed else ("out",):
            indptr = columns[f"{way}.indptr"]
            if indptr[0] != 0 or indptr[-1] != columns[f"{way}.indices"].size:
                raise ValueError(f"{name} is damaged: its rows do not end where its arcs do")

    def _require_in_range(self, columns: dict[str, np.ndarray]) -> None:
        """Refuse arrays by which a kernel would access memory out of bounds; no file is trusted."""
        n_rows, n_vertices = columns["input_degree"].size, self.header.n_vertices
        ends = {"order": n_rows + 1, "original_index": n_vertices, "hub_vertex": n_vertices}
        for way in ("out", "into") if self.header.directed else ("out",):
            ends |= {f"{way}.indices": n_rows, f"{way}.hub": n_rows + 1}
            indptr = columns[f"{way}.indptr"]
            name = f"{self.location.name} is damaged: its rows"
            require_rising(indptr, columns[f"{way}.indices"].size, name)
        for array, end in ends.items():
            exempt = -1 if array.endswith("indices") else int(NONE)
            if largest_but(columns[array], exempt, n_threads()) >= end:
                raise ValueError(f"{self.location.name} is damaged: {array} leads beyond {end - 1}")
        ids = columns.get("ids", np.empty(0, np.int64))
        if ids.size and (ids[0] < 0 or np.any(ids[1:] <= ids[:-1])):
            raise ValueError(f"{self.location.name} is damaged: its vertex ids do not rise from 0")


def _first_byte(header: Header) -> int:
    """Where the first array begins."""
    return min(begin for _, _, begin in header.arrays.values())


def write(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write a graph as it is in memory."""
    arrays = _arrays_of(graph)
    total, end, begins = 0, 0, {}
    for name, array in arrays.items():
        begins[name] = end
        total = (total + _checksum(array, end // 8)) % 2**64
        end += _padded_size(array.nbytes)
    header = _format_header(graph, arrays, begins, end, total)
    file.write(_HEAD.pack(_MAGIC, _VERSION, len(header), zlib.crc32(header)))
    file.write(header)
    done = 0
    for array in arrays.values():
        raw = array.reshape(-1).view(np.uint8)
        for first in range(0, raw.size, _WRITE_BYTES):
            file.write(raw[first : first + _WRITE_BYTES].data)
            progress("writing", done + first, end)
        file.write(bytes(_padded_size(raw.size) - raw.size))
        done += _padded_size(raw.size)


def _arrays_of(graph: Graph) -> dict[str, np.ndarray]:
    """All arrays of a graph, by the names that the file gives them."""
    arrays = {
        "order": graph.order,
        "original_index": graph.original_index,
        "input_degree": graph.input_degree,
        "hub_vertex": graph.hub_vertex,
    }
    if not graph.ids.sequential:
        assert graph.ids.values is not None
        arrays["ids"] = graph.ids.values
    for way, rows in (("out", graph.out), ("into", graph.into)):
        if way == "out" or graph.directed:
            for column in _ROW_COLUMNS:
                arrays[f"{way}.{column}"] = getattr(rows, column)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _format_header(
    graph: Graph, arrays: dict[str, np.ndarray], begins: dict[str, int], end: int, total: int
) -> bytes:
    """The header, padded so that what follows it is aligned."""

    def text(first: int) -> str:
        return json.dumps(
            {
                "directed": graph.directed,
                "n_vertices": graph.n_vertices,
                "first_id": graph.ids.first_id,
                "n_input_edges": int(graph.n_input_edges),
                "n_edges": graph.n_edges,
                "locality": {
                    "vertices": graph.locality.vertices,
                    "neighbours": graph.locality.neighbours,
                },
                "n_long_rows": [graph.out.n_long_rows, graph.into.n_long_rows],
                "arrays": {
                    name: [array.dtype.newbyteorder("<").str, array.size, first + begins[name]]
                    for name, array in arrays.items()
                },
                "n_bytes": first + end,
                "checksum": total,
            }
        )

    room = _padded_size(_HEAD.size + len(text(2**40)) + _ALIGNED)
    return text(room).ljust(room - _HEAD.size).encode()


def _padded_size(n_bytes: int) -> int:
    """The bytes from one array to the next."""
    return -(-n_bytes // _ALIGNED) * _ALIGNED


def _checksum(array: np.ndarray, first: int) -> int:
    """The checksum of an array from word ``first`` on; its last word is filled up with zeros."""
    raw = array.reshape(-1).view(np.uint8)
    whole = raw.size // 8 * 8
    rest = np.zeros(1, np.uint64)
    rest.view(np.uint8)[: raw.size - whole] = raw[whole:]
    total = checksum(raw[:whole].view(np.uint64), first, n_threads())
    return int(total) + int(checksum(rest, first + whole // 8, 1))
