"""DIMACS shortest-path files (.gr): ``c`` comments, ``p sp n m``, arcs ``a u v w`` from 1 on."""

from __future__ import annotations

from typing import IO

from daskbfs.graph.edge_stream import EdgeStream
from daskbfs.graph.graph import Graph
from daskbfs.io.export import exported_arcs, require_numbered
from daskbfs.io.location import Location
from daskbfs.io.text import TextEdges, are_counts, edge_lines, open_lines
from daskbfs.progress import Progress


def open_edges(location: Location) -> tuple[EdgeStream, bool | None]:
    """The file's arcs; most files hold each edge both ways, but none says so."""
    n_vertices, n_arcs = _read_problem(location)
    stream = TextEdges(
        location,
        comments=b"cp",
        tag="a",
        base=1,
        n_vertices=n_vertices,
        declared=n_arcs,
        what="an arc: 'a', two vertex ids from 1 on, a weight",
    )
    return stream, None


def _read_problem(location: Location) -> tuple[int, int]:
    """Vertices and arcs, by the problem line."""
    with open_lines(location) as lines:
        for line in lines:
            words = line.split()
            if not words or words[0] == b"c":
                continue
            if words[0] == b"p" and len(words) == 4 and are_counts(words[2:]):
                return int(words[2]), int(words[3])
            raise lines.error("the first line that is no comment must be 'p sp VERTICES ARCS'")
    raise ValueError(f"{location.name} has no line 'p sp VERTICES ARCS': it is no DIMACS file")


def write(graph: Graph, file: IO[bytes], progress: Progress) -> None:
    """Write all arcs, undirected edges both ways, with the weight 1; ids become 1 to n."""
    require_numbered(graph, "DIMACS")
    file.write(f"p sp {graph.n_vertices} {graph.n_arcs}\n".encode())
    arcs = exported_arcs(graph, graph.out, progress)
    file.writelines(edge_lines(arcs, base=1, before=b"a ", after=b" 1\n"))
