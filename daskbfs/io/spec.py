"""Graphs by a word, as on the command line: a file, ``kron:22`` or ``uniform:20``."""

from __future__ import annotations

from pathlib import Path

from daskbfs import generate
from daskbfs.graph import Graph
from daskbfs.io import read_graph
from daskbfs.progress import Progress, silent

_GENERATORS = {"kron": generate.kronecker, "uniform": generate.uniform}


def open_graph(
    spec: str,
    *,
    directed: bool | None = None,
    format: str | None = None,
    edgefactor: int = 16,
    seed: int = 1,
    progress: Progress = silent,
) -> Graph:
    """The graph that a word stands for."""
    kind, colon, scale = spec.partition(":")
    if colon and kind in _GENERATORS and not Path(spec).exists():
        if not scale.isdigit():
            raise ValueError(f"{spec!r}: after '{kind}:' comes a scale, for example '{kind}:20'")
        if directed:
            raise ValueError(f"{spec!r} is undirected: only files can be read as directed")
        if format:
            raise ValueError(f"{spec!r} is generated: only files have a format")
        return _GENERATORS[kind](int(scale), edgefactor, seed, progress=progress)
    return read_graph(spec, directed=directed, format=format, progress=progress)
