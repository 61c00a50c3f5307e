"""Numpy's files: ``.npz`` as ``scipy.sparse.save_npz`` writes them, and ``.npy`` with pairs.

A ``.npz`` holds a square matrix in the format coo, csr or csc, whose entries are edges, or one
array ``edges`` of shape (m, 2). Pickled objects are never loaded. Values are left out.
"""

from __future__ import annotations

import contextlib
import errno
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from daskbfs.graph.edge_stream import (
    ArrayEdges,
    Block,
    BlockwiseStream,
    EdgeStream,
    PlainStream,
    block_ranges,
    edge_arrays,
)
from daskbfs.graph.graph import Graph
from daskbfs.io.export import csr_columns, require_numbered
from daskbfs.io.location import Location, read_array, require_rising
from daskbfs.machine import hardware
from daskbfs.progress import Progress

_ENDS = {
    "coo": ("row", "col"),
    "csr": ("indptr", "indices"),
    "csc": ("indptr", "indices"),
}
"""The arrays that tell the places of a matrix's entries, by its format."""


@contextlib.contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Whatever numpy and zipfile say of a damaged file, with its name."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, IndexError) as error:
        raise ValueError(f"{name} is damaged or cut short: {error}") from error
    except (ValueError, TypeError, NotImplementedError, RuntimeError, SyntaxError) as error:
        if name in str(error):
            raise
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{name} cannot be read: {told}") from error
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # a place before the file's beginning
            raise
        raise ValueError(f"{name} is damaged or cut short: {error}") from error


def open_npz(location: Location) -> tuple[EdgeStream, bool | None]:
    """The entries of a stored matrix, or the pairs of a stored array."""
    name = location.name
    with _plain_errors(name), location.open() as file, zipfile.ZipFile(file) as archive:
        members = {member.removesuffix(".npy") for member in archive.namelist()}
        if "edges" in members:
            shape, _ = _read_array_head(archive, "edges")
            if len(shape) != 2 or shape[1] != 2:
                raise ValueError(f"{name}: edges of shape {shape} are none: they must be (m, 2)")
            return NpzEdges(location, "edges", shape[0]), None
        if not {"format", "shape"} <= members:
            raise ValueError(
                f"{name} holds {', '.join(sorted(members)[:6]) or 'nothing'}: neither a matrix of "
                "scipy.sparse.save_npz nor an array 'edges'"
            )
        kind = _read_array(archive, "format").item()
        kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
        if kind not in _ENDS:
            raise ValueError(f"{name} is a matrix in the format {kind!r}: save it as csr first")
        told = _read_array(archive, "shape").ravel()
        shape = tuple(told.tolist())
        if told.dtype.kind not in "iu" or len(shape) != 2 or shape[0] != shape[1] or shape[0] < 0:
            raise ValueError(f"{name} is a matrix of shape {shape}: a graph's is square")
        ends, _ = _read_array_head(archive, _ENDS[kind][1])
        if len(ends) != 1:
            raise ValueError(f"{name}: {_ENDS[kind][1]} of shape {ends} has not one dimension")
        n_edges = ends[0]
    return NpzEdges(location, kind, n_edges, shape[0]), None


def _read_array_head(archive: zipfile.ZipFile, member: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of an array that the file has room for."""
    info = archive.getinfo(f"{member}.npy")
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError(f"{member} holds Python objects, which are never loaded")
    if (
        int(np.prod(shape, dtype=object)) * dtype.itemsize > info.file_size
        or min(shape, default=0) < 0
    ):
        raise ValueError(f"{member} of shape {shape} is larger than its {info.file_size} bytes")
    hardware.require_memory(info.file_size, f"{member} of a .npz file", "take a smaller file")
    return shape, dtype


def _read_array(archive: zipfile.ZipFile, member: str) -> np.ndarray:
    """An array of the archive."""
    _read_array_head(archive, member)
    with archive.open(f"{member}.npy") as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array


@dataclass(frozen=True, slots=True)
class NpzEdges(PlainStream):
    """A stream of the entries of a stored matrix, or of pairs; in memory as a whole."""

    location: Location
    kind: str
    n_edges: int
    n_vertices: int | None = None
    slow = True

    def blocks(self) -> Iterator[Block]:
        with _plain_errors(self.location.name):
            heads, tails = self._read_ends()
        yield from ArrayEdges(heads, tails).blocks()

    def _read_ends(self) -> Block:
        with self.location.open() as file, zipfile.ZipFile(file) as archive:
            if self.kind == "edges":
                return edge_arrays(_read_array(archive, "edges"))
            first, second = (_read_array(archive, member) for member in _ENDS[self.kind])
        if self.kind == "coo":
            return edge_arrays((first, second))
        n = self.n_vertices or 0
        if first.dtype.kind not in "iu" or first.shape != (n + 1,):
            raise ValueError(f"indptr of {first.dtype} and shape {first.shape} is none of {n} rows")
        require_rising(first, second.size, "indptr")
        lengths: np.ndarray = np.diff(first.astype(np.int64))
        outer = np.repeat(np.arange(n), lengths)
        return edge_arrays((outer, second) if self.kind == "csr" else (second, outer))


def open_npy(location: Location) -> tuple[EdgeStream, bool | None]:
    """The pairs of an array of shape (m, 2)."""
    name = location.name
    with _plain_errors(name), location.open() as file:
        version = np.lib.format.read_magic(file)
        if version[0] > 2:
            raise ValueError(f"version {version} of numpy's format is too new")
        read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        shape, by_column, dtype = read(file)
        begin = file.tell()
    if dtype.kind not in "iu" or len(shape) != 2 or shape[1] != 2:
        raise ValueError(
            f"{name} is an array of {dtype} and shape {shape}: edges are integers of shape (m, 2)"
        )
    expected = begin + 2 * shape[0] * dtype.itemsize
    if location.size != expected:
        raise ValueError(
            f"{name} has {location.size} bytes, but {shape[0]} edges take {expected}: it is "
            "damaged or cut short"
        )
    return NpyEdges(location, shape[0], begin, dtype.str, by_column), None


@dataclass(frozen=True, slots=True)
class NpyEdges(BlockwiseStream):
    """A stream of the pairs of an array; any block can be read without the others."""

    location: Location
    n_edges: int
    begin: int
    dtype: str
    by_column: bool
    n_vertices: int | None = None

    def every(self, first: int, step: int) -> Iterator[Block]:
        with self.location.open() as file:
            for start, n in block_ranges(self.n_edges, first, step):
                yield self._read_block(file, start, n)

    def _read_block(self, file: IO[bytes], start: int, n: int) -> Block:
        width, name = np.dtype(self.dtype).itemsize, self.location.name
        if self.by_column:
            heads, tails = (
                read_array(file, name, self.dtype, n, self.begin + width * (start + column))
                for column in (0, self.n_edges)
            )
        else:
            pairs = read_array(file, name, self.dtype, 2 * n, self.begin + 2 * width * start)
            heads, tails = pairs[0::2], pairs[1::2]
        native = np.dtype(self.dtype).newbyteorder("=")
        return heads.astype(native, copy=False), tails.astype(native, copy=False)


def write_npz(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write a matrix that ``scipy.sparse.load_npz`` reads, an entry for each arc."""
    require_numbered(graph, "scipy")
    indptr, indices = csr_columns(graph, progress)
    np.savez(
        file,
        format=np.array(b"csr"),
        shape=np.array([graph.n_vertices] * 2),
        indptr=indptr,
        indices=indices,
        data=np.ones(indices.size, np.int8),
    )
