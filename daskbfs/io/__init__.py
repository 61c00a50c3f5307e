"""Graph files: one reader per format, chosen by the file's name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, TypedDict, Unpack

import numpy as np

from daskbfs.graph.build import build_graph
from daskbfs.graph.edge_stream import Block, BothWays, Origin
from daskbfs.graph.graph import Graph
from daskbfs.io import compression
from daskbfs.io.formats import FORMATS, Format, format_of
from daskbfs.io.location import Location
from daskbfs.progress import Progress, silent


def read_graph(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Graph:
    r"""Read a graph from a file, here or wherever fsspec reaches.

    Text formats may be compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``). Weights are left out.

    Parameters
    ----------
    path
        The file. Its name tells the format: whitespace edge lists (``.txt``, ``.el``, ``.wel``,
        ...), KONECT (``out.*``), Matrix Market (``.mtx``), DIMACS (``.gr``), METIS (``.graph``),
        tables (``.csv``, ``.parquet``), numpy (``.npz`` of scipy, ``.npy``), GAP (``.sg``,
        ``.wsg``), Graph500 (``.g500`` packed, ``.g500u`` unpacked), or daskbfs's own (``.dbfs``),
        which is mapped into memory. May be an address: ``s3://...``, ``https://...``.
    directed
        Keep the edges' directions. None follows files that say what they are (``.dbfs``, ``.sg``,
        KONECT), and takes all others as undirected. Files that hold undirected edges once
        (``.graph``, symmetric ``.mtx``) become arcs both ways.
    format
        Where the name does not tell: ``"edge-list"``, ``"konect"``, ``"matrix-market"``,
        ``"dimacs"``, ``"metis"``, ``"csv"``, ``"parquet"``, ``"npz"``, ``"npy"``, ``"gap"``,
        ``"gap-weighted"``, ``"graph500"``, ``"graph500-unpacked"`` or ``"dbfs"``.
    columns
        Of a table, the two that are the ends of an edge; None knows them by names such as
        ``source`` and ``target``.
    storage_options
        For fsspec, where the path is an address.
    progress
        Told how far the work has come.

    Examples
    --------
    >>> import daskbfs, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "triangle.txt").write_text("# three edges\n0 1\n1 2\n2 0\n")
    >>> graph = daskbfs.read_graph(folder / "triangle.txt")
    >>> graph.n_edges
    3
    >>> daskbfs.write_graph(graph, folder / "triangle.dbfs")
    >>> daskbfs.read_graph(folder / "triangle.dbfs")  # mapped, however large it is
    Graph 'triangle.dbfs': 3 vertices, 3 edges, undirected, 836 B
    """
    origin = open_file(
        path, directed=directed, format=format, columns=columns, storage_options=storage_options
    )
    return build_graph(origin, progress)


class ReadOptions(TypedDict, total=False):
    """How to read a file, as for :func:`read_graph`."""

    directed: bool | None
    format: str | None
    columns: Sequence[str] | None
    storage_options: Mapping[str, Any] | None


def open_file(path: str | os.PathLike[str], **options: Unpack[ReadOptions]) -> Origin:
    """What it takes to build a graph from a file; nothing is read yet but its head."""
    directed, columns = options.get("directed"), options.get("columns")
    location = Location.of(path, options.get("storage_options"))
    location.require_file()
    chosen = format_of(location.name, options.get("format"))
    if location.is_folder() and not chosen.folders:
        raise IsADirectoryError(f"{path} is a folder: give a graph file")
    if columns is not None and not chosen.has_columns:
        raise ValueError(
            f"columns {tuple(columns)!r} are for tables: {location.name} is {chosen.name}"
        )
    compression.require(location.name)
    stream, says_directed = chosen.open(location, columns)
    if directed is None:
        directed = bool(says_directed)
    if directed and says_directed is False:
        stream = BothWays(stream)
    return Origin(stream, directed, location.name)


def write_graph(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> None:
    """Write a graph to a file, here or wherever fsspec reaches; it appears whole or not at all.

    Duplicates and self-loops are gone, since the graph does not hold them; lists of edges have no
    place for isolated vertices. Formats that count vertices from 0 or 1 on number them so.

    Parameters
    ----------
    graph
        What to write.
    path
        Where to: ``.dbfs``, ``.el``, ``.txt``, ``.mtx``, ``.gr``, ``.graph``, ``.csv``,
        ``.parquet``, ``.npz``, ``.sg``, ``.g500`` or ``.g500u``; text is compressed where the name
        goes on with ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    format
        As for :func:`read_graph`, where the name does not tell.
    storage_options, progress
        As for :func:`read_graph`.

    Examples
    --------
    >>> import daskbfs, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "path.el"
    >>> daskbfs.write_graph(daskbfs.from_edges([(2, 1), (1, 0)]), path)
    >>> path.read_text().splitlines()
    ['0 1', '1 2']
    """
    graph_writer(path, format=format, storage_options=storage_options)(graph, progress)


def graph_writer(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Callable[[Graph, Progress], None]:
    """What writes a graph to a file; mistakes in name and place show now, before there is one."""
    location = Location.of(path, storage_options)
    writer = _writer(location, format)

    def write(graph: Graph, progress: Progress) -> None:
        with _open_target(location) as file:
            writer.write_graph(graph, file, progress)

    return write


def converter(
    path: str | os.PathLike[str], *, format: str | None = None
) -> Callable[[Origin, Progress], str]:
    """What writes a graph, or its input edges, from where it comes; returns what was written."""
    location = Location.of(path)
    writer = _writer(location, format)

    def convert(origin: Origin, progress: Progress) -> str:
        if writer.write_input_edges is not None:
            edges = _NamedEdges(origin)
            with _open_target(location) as file:
                writer.write_input_edges(edges.blocks(progress), file)
            return f"{origin.name}: {edges.n_read} edges"
        graph = build_graph(origin, progress)
        with _open_target(location) as file:
            writer.write_graph(graph, file, progress)
        return repr(graph)

    return convert


def _writer(location: Location, format: str | None) -> Format:
    """What writes to a place, if it can be written to."""
    chosen = format_of(location.name, format, writing=True)
    compression.require(location.name)
    location.require_target()
    return chosen


class _NamedEdges:
    """The edges of an origin in the user's ids, counted."""

    def __init__(self, origin: Origin) -> None:
        self._stream = origin.stream
        self.n_read = 0

    def blocks(self, progress: Progress) -> Iterator[Block]:
        """All of them."""
        stream = self._stream
        for heads, tails in stream.blocks():
            self.n_read += heads.size
            progress("writing", self.n_read, stream.n_edges)
            if stream.first_id:
                heads, tails = (ends.astype(np.int64) + stream.first_id for ends in (heads, tails))
            yield heads, tails


@contextlib.contextmanager
def _open_target(location: Location) -> Iterator[IO[bytes]]:
    """A file that appears whole, compressed where its name says so."""
    with location.open_target() as file, compression.compress(location.name, file) as packed:
        yield packed


__all__ = [
    "FORMATS",
    "ReadOptions",
    "converter",
    "graph_writer",
    "open_file",
    "read_graph",
    "write_graph",
]
