"""The formats of graph files: their names, what tells them, who reads and writes them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import PurePath
from typing import IO

from daskbfs.graph.edge_stream import Block, EdgeStream
from daskbfs.graph.graph import Graph
from daskbfs.io import (
    compression,
    dimacs,
    edge_list,
    gap,
    graph500,
    konect,
    matrix_market,
    metis,
    native,
    npz,
    tables,
)  # fmt: skip
from daskbfs.io.export import exported_edges
from daskbfs.io.location import Location
from daskbfs.progress import Progress

Opened = tuple[EdgeStream, bool | None]
"""A file's edges, and whether they are directed: False where undirected ones are there once, None
where the file does not say."""


@dataclass(frozen=True, slots=True)
class Format:
    """What is known of a format."""

    name: str
    suffixes: tuple[str, ...]
    _: KW_ONLY
    open_edges: Callable[[Location], Opened] | None = None
    """Of a file without names for columns."""
    open_table: Callable[[Location, Sequence[str] | None], Opened] | None = None
    """Of a file with columns by name, two of which are the ends of an edge."""
    write: Callable[[Graph, IO[bytes], Progress], None] | None = None
    """Of a graph."""
    write_edges: Callable[[Iterable[Block], IO[bytes]], None] | None = None
    """Of a graph's edges, undirected ones once."""
    write_input_edges: Callable[[Iterable[Block], IO[bytes]], None] | None = None
    """Of edges as they come, for files that hold duplicates and self-loops too."""
    text: bool = True
    """Whether files may be compressed."""
    folders: bool = False
    """Whether a folder may be a graph."""

    @property
    def has_columns(self) -> bool:
        return self.open_table is not None

    @property
    def can_write(self) -> bool:
        return any((self.write, self.write_edges, self.write_input_edges))

    def open(self, location: Location, columns: Sequence[str] | None) -> Opened:
        """Open a file; ``columns`` are for those that have them."""
        if self.open_table is not None:
            return self.open_table(location, columns)
        assert self.open_edges is not None
        return self.open_edges(location)

    def write_graph(self, graph: Graph, file: IO[bytes], progress: Progress) -> None:
        """Write a graph; of lists of edges, undirected ones once."""
        if self.write is not None:
            self.write(graph, file, progress)
        else:
            write_edges = self.write_edges or self.write_input_edges
            assert write_edges is not None
            write_edges(exported_edges(graph, progress), file)


_binary = functools.partial(Format, text=False)
_ALL = (
    Format(
        "edge-list",
        (".txt", ".tsv", ".edges", ".edgelist", ".el", ".wel"),
        open_edges=edge_list.open_edges,
        write_edges=edge_list.write,
    ),
    Format("konect", (".konect",), open_edges=konect.open_edges),
    Format(
        "matrix-market", (".mtx",), open_edges=matrix_market.open_edges, write=matrix_market.write
    ),
    Format("dimacs", (".gr",), open_edges=dimacs.open_edges, write=dimacs.write),
    Format("metis", (".graph", ".metis"), open_edges=metis.open_edges, write=metis.write),
    Format("csv", (".csv",), open_table=tables.open_csv, write_edges=tables.write_csv),
    _binary(
        "parquet",
        (".parquet", ".pq"),
        open_table=tables.open_parquet,
        write_edges=tables.write_parquet,
        folders=True,
    ),
    _binary("npz", (".npz",), open_edges=npz.open_npz, write=npz.write_npz),
    _binary("npy", (".npy",), open_edges=npz.open_npy),
    _binary("gap", (".sg",), open_edges=gap.open_edges, write=gap.write),
    _binary("gap-weighted", (".wsg",), open_edges=gap.open_weighted),
    _binary(
        "graph500",
        (".g500",),
        open_edges=graph500.open_packed,
        write_input_edges=graph500.write_packed,
    ),
    _binary(
        "graph500-unpacked",
        (".g500u",),
        open_edges=graph500.open_unpacked,
        write_input_edges=graph500.write_unpacked,
    ),
    _binary("dbfs", (".dbfs",), open_edges=native.open_edges, write=native.write),
)
FORMATS = {one.name: one for one in _ALL}
_BY_SUFFIX = {suffix: one for one in _ALL for suffix in one.suffixes}
_KONECT = "out."


def format_of(name: str, format: str | None, *, writing: bool = False) -> Format:
    """The format that was given, or else that a file's name tells; an error where none fits."""
    known = {one.name: one for one in _ALL if one.can_write or not writing}
    chosen = _choose(name, format, known)
    packing = compression.suffix(name)
    if packing and not chosen.text:
        raise ValueError(
            f"{name}: {chosen.name} files are read where they lie, so they cannot be compressed; "
            f"to read one, decompress it first; to write one, leave {packing!r} off"
        )
    return chosen


def _choose(name: str, format: str | None, known: Mapping[str, Format]) -> Format:
    if format is not None:
        if format not in known:
            raise ValueError(f"format {format!r} is unknown: choose one of {', '.join(known)}")
        return known[format]
    inside = compression.without_suffix(name)
    found = _BY_SUFFIX.get(PurePath(inside).suffix.lower())
    if found is None and inside.startswith(_KONECT):
        found = FORMATS["konect"]
    if found is None or found.name not in known:
        fitting = ", ".join(suffix for one in known.values() for suffix in one.suffixes)
        raise ValueError(
            f"{name}: the suffix tells no format that can be used here; known are {fitting}, "
            f"or give the format: {', '.join(known)}"
        )
    return found
