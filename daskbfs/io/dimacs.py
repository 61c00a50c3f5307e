"""DIMACS shortest-path files (.gr): ``c`` comments, ``p sp n m``, arcs ``a u v w`` from 1 on."""

from __future__ import annotations

from pathlib import Path

from daskbfs.edges import EdgeStream
from daskbfs.io.text import TextEdges, opened_lines


def open_edges(path: Path) -> tuple[EdgeStream, bool | None]:
    """The file's arcs; most files hold each edge both ways, but none says so."""
    n_vertices, n_arcs = _problem(path)
    stream = TextEdges(
        path,
        comments=b"cp",
        tag="a",
        base=1,
        n_vertices=n_vertices,
        declared=n_arcs,
        what="an arc: 'a', two vertex ids from 1 on, a weight",
    )
    return stream, None


def _problem(path: Path) -> tuple[int, int]:
    """Vertices and arcs, by the problem line."""
    with opened_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0] == b"c":
                continue
            if words[0] == b"p" and len(words) == 4 and words[2].isdigit() and words[3].isdigit():
                return int(words[2]), int(words[3])
            raise ValueError(
                f"{path.name}, line {number}: the first line that is no comment must be "
                f"'p sp VERTICES ARCS', not {line.decode(errors='replace').strip()[:60]!r}"
            )
    raise ValueError(f"{path.name} has no line 'p sp VERTICES ARCS': it is no DIMACS file")
