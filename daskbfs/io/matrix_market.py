"""Matrix Market coordinate files (.mtx): entry (u, v) is an edge; ids count from 1 on."""

from __future__ import annotations

from typing import IO

from daskbfs.graph.edge_stream import EdgeStream
from daskbfs.graph.graph import Graph
from daskbfs.io.export import exported_pairs, require_numbered
from daskbfs.io.location import Location
from daskbfs.io.text import TextEdges, are_counts, edge_lines, open_lines
from daskbfs.progress import Progress

_FIELDS = ("real", "double", "integer", "complex", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def open_edges(location: Location) -> tuple[EdgeStream, bool | None]:
    """The file's entries; undirected edges where the matrix is symmetric."""
    with open_lines(location) as lines:
        words = next(lines, b"").decode(errors="replace").lower().split()
        if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
            raise ValueError(
                f"{location.name}, line 1: a Matrix Market file begins with "
                "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
            )
        _, _, layout, field, symmetry = words
        if layout != "coordinate":
            raise ValueError(f"{location.name} is {layout!r}: only coordinate files are graphs")
        if field not in _FIELDS or symmetry not in _SYMMETRIES:
            raise ValueError(
                f"{location.name}, line 1: {field!r} {symmetry!r} is not a field of "
                f"{', '.join(_FIELDS)} and a symmetry of {', '.join(_SYMMETRIES)}"
            )
        sizes = lines.next_words(b"%")
    if not sizes:
        raise ValueError(f"{location.name} ends before its sizes: it is damaged or cut short")
    if len(sizes) != 3 or not are_counts(sizes):
        raise lines.error("sizes must be 'ROWS COLUMNS ENTRIES'")
    n_rows, n_columns, n_entries = map(int, sizes)
    if n_rows != n_columns:
        raise ValueError(f"{location.name} is {n_rows} x {n_columns}: a graph's matrix is square")
    stream = TextEdges(
        location,
        comments=b"%",
        base=1,
        n_vertices=n_rows,
        declared=n_entries,
        skip_bytes=lines.n_bytes,
        what="an entry: row and column, from 1 on",
    )
    return stream, None if symmetry == "general" else False


def write(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write a pattern, symmetric where the graph is undirected; ids become 1 to n."""
    require_numbered(graph, "Matrix Market")
    symmetry = "general" if graph.directed else "symmetric"
    n = graph.n_vertices
    file.write(f"%%MatrixMarket matrix coordinate pattern {symmetry}\n".encode())
    file.write(f"{n} {n} {graph.n_edges}\n".encode())
    pairs = exported_pairs(graph, progress)
    if not graph.directed:  # a symmetric file holds what is below the diagonal
        pairs = ((tails, heads) for heads, tails in pairs)
    file.writelines(edge_lines(pairs, base=1))
