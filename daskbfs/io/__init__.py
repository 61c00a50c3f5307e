"""Graph files: one reader per format, chosen by the file's name."""

from __future__ import annotations

import contextlib
import functools
import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from daskbfs.construction import build_graph
from daskbfs.edges import Block, BothWays, Origin
from daskbfs.graph import Graph
from daskbfs.io import dimacs, edge_list, gap, graph500, matrix_market, metis
from daskbfs.io.text import gzipped
from daskbfs.progress import Progress, silent
from daskbfs.target import require_target, whole_file


def _write_edges_of(
    write: Callable[[Iterable[Block], IO[bytes]], None],
    graph: Graph,
    file: IO[bytes],
    progress: Progress,
) -> None:
    """Write the edges of a graph, undirected ones once."""
    write(gap.exported_edges(graph, progress), file)


READERS = {
    "edge-list": edge_list.open_edges,
    "dimacs": dimacs.open_edges,
    "gap": gap.open_edges,
    "graph500": graph500.open_packed,
    "graph500-unpacked": graph500.open_unpacked,
    "matrix-market": matrix_market.open_edges,
    "metis": metis.open_edges,
}
EDGE_WRITERS: dict[str, Callable[[Iterable[Block], IO[bytes]], None]] = {
    "edge-list": edge_list.write,
    "graph500": graph500.write_packed,
    "graph500-unpacked": graph500.write_unpacked,
}
"""What writes edges as they come."""

WRITERS: dict[str, Callable[[Graph, IO[bytes], Progress], None]] = {
    "gap": gap.write,
    **{name: functools.partial(_write_edges_of, write) for name, write in EDGE_WRITERS.items()},
}
"""What writes graphs."""

KEEPING = ("graph500", "graph500-unpacked")
"""Formats that are input edges, duplicates and self-loops included."""

_NOT_GZIPPED = {"gap": "GAP", **dict.fromkeys(KEEPING, "Graph500")}
_GZIP_LEVEL = 6
_SUFFIXES = {
    ".txt": "edge-list",
    ".tsv": "edge-list",
    ".edges": "edge-list",
    ".edgelist": "edge-list",
    ".el": "edge-list",
    ".wel": "edge-list",
    ".gr": "dimacs",
    ".sg": "gap",
    ".g500": "graph500",
    ".g500u": "graph500-unpacked",
    ".mtx": "matrix-market",
    ".graph": "metis",
    ".metis": "metis",
}


def read_graph(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    format: str | None = None,
    progress: Progress = silent,
) -> Graph:
    r"""Read a graph from a file; text formats may be gzipped (``.gz``).

    Parameters
    ----------
    path
        The file. Its suffix tells the format: whitespace edge lists (``.txt``, ``.el``, ``.wel``,
        ...), Matrix Market (``.mtx``), DIMACS (``.gr``), METIS (``.graph``), GAP (``.sg``),
        binary edge lists of Graph500 (``.g500`` packed, ``.g500u`` unpacked).
    directed
        Keep the edges' directions. None follows ``.sg`` files, which say what they are, and takes
        all others as undirected. Files that hold undirected edges once (``.graph``, symmetric
        ``.mtx``) become arcs both ways.
    format
        ``"edge-list"``, ``"matrix-market"``, ``"dimacs"``, ``"metis"``, ``"gap"``, ``"graph500"``
        or ``"graph500-unpacked"``, where the suffix does not tell.
    progress
        Told how far the work has come.

    Examples
    --------
    >>> import daskbfs, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triangle.txt"
    >>> _ = path.write_text("# three edges\n0 1\n1 2\n2 0\n")
    >>> daskbfs.read_graph(path).n_edges
    3
    """
    return build_graph(open_file(path, directed=directed, format=format), progress)


def open_file(
    path: str | os.PathLike[str], *, directed: bool | None = None, format: str | None = None
) -> Origin:
    """What it takes to build a graph from a file; nothing is read yet but its head."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give a graph file")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: give the path of a graph file")
    reader = READERS[_format(path, format, READERS)]
    if not path.is_file():
        raise ValueError(
            f"{path} is not a regular file: a graph is read twice, which a pipe or a device does "
            "not allow; save it to a file first"
        )
    stream, says_directed = reader(path.resolve())  # workers may stand in another folder
    if directed is None:
        directed = bool(says_directed)
    if directed and says_directed is False:
        stream = BothWays(stream)
    return Origin(stream, directed, path.name)


def write_graph(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    progress: Progress = silent,
) -> None:
    """Write a graph to a file: GAP (``.sg``), an edge list (``.el``, ``.txt``), or Graph500's.

    Edge lists are gzipped when the name ends in ``.gz``.
    The file appears whole or not at all. Duplicates and self-loops are gone, since the graph does
    not hold them; edge lists have no place for isolated vertices.

    Parameters
    ----------
    graph
        What to write.
    path
        Where to.
    format
        ``"gap"``, ``"edge-list"``, ``"graph500"`` or ``"graph500-unpacked"``, where the suffix does
        not tell.
    progress
        Told how far the work has come.
    """
    graph_writer(path, format=format)(graph, progress)


def graph_writer(
    path: str | os.PathLike[str], *, format: str | None = None
) -> Callable[[Graph, Progress], None]:
    """What writes a graph to a file; mistakes in name and place show now, before there is one."""
    path = Path(path)
    writer = WRITERS[_format(path, format, WRITERS)]
    require_target(path)

    def write(graph: Graph, progress: Progress) -> None:
        with _packed_file(path) as file:
            writer(graph, file, progress)

    return write


def converter(
    path: str | os.PathLike[str], *, format: str | None = None
) -> Callable[[Origin, Progress], str]:
    """What writes a graph, or its input edges, from where it comes; returns what was written."""
    path = Path(path)
    name = _format(path, format, WRITERS)
    write = graph_writer(path, format=name)

    def convert(origin: Origin, progress: Progress) -> str:
        if name in KEEPING:
            edges = _NamedEdges(origin)
            with _packed_file(path) as file:
                EDGE_WRITERS[name](edges.blocks(progress), file)
            return f"{origin.name}: {edges.n_read} edges"
        graph = build_graph(origin, progress)
        write(graph, progress)
        return repr(graph)

    return convert


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
def _packed_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears whole, gzipped where its name says so."""
    with whole_file(path) as file:
        if not gzipped(path):
            yield file
            return
        # Without name and time, equal graphs make equal files.
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
            yield cast(IO[bytes], packed)


def _format(path: Path, format: str | None, known: Mapping[str, Any]) -> str:
    """The format's name; ValueError when nothing tells it, or when it cannot be gzipped."""
    name = _named_format(path, format, known)
    if name in _NOT_GZIPPED and gzipped(path):
        raise ValueError(
            f"{path.name}: {_NOT_GZIPPED[name]} files are read where they lie, so they cannot be "
            "gzipped; to read one, decompress it first; to write one, leave '.gz' off"
        )
    return name


def _named_format(path: Path, format: str | None, known: Mapping[str, Any]) -> str:
    """The format that was given, or else that the suffix tells."""
    if format is not None:
        if format not in known:
            raise ValueError(f"format {format!r} is unknown: choose one of {', '.join(known)}")
        return format
    unpacked = path.with_suffix("") if gzipped(path) else path
    name = _SUFFIXES.get(unpacked.suffix.lower())
    if name not in known:
        fitting = ", ".join(suffix for suffix, name in _SUFFIXES.items() if name in known)
        raise ValueError(
            f"{path.name}: the suffix tells no format that can be used here; known are {fitting}, "
            f"or give the format: {', '.join(known)}"
        )
    assert name is not None
    return name
