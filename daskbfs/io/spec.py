"""Graphs by a word, as on the command line: a file, ``kron:22`` or ``uniform:20``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daskbfs.graph.edge_stream import Origin
from daskbfs.graph.generators import KINDS, random_origin
from daskbfs.io import open_file


def _check_spelling(spec: str | os.PathLike[str]) -> None:
    """Refuse the name of a generator without a colon and a scale, unless there is such a file."""
    meant = re.fullmatch(rf"({'|'.join(sorted(KINDS, reverse=True))})[-_ ]?(\d*)", str(spec))
    if meant and not Path(spec).exists():
        raise ValueError(
            f"{str(spec)!r} is no file: for a generated graph, give its scale after a colon, for "
            f"example '{meant[1]}:{meant[2] or 20}'"
        )


def open_origin(
    spec: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    edgefactor: int = 16,
    seed: int | None = None,
) -> Origin:
    """What it takes to build the graph that a word stands for."""
    kind, colon, scale = str(spec).partition(":")
    _check_spelling(spec)
    if colon and kind in KINDS and not Path(spec).exists():
        if not scale.isdigit():
            raise ValueError(f"{spec!r}: after '{kind}:' comes a scale, for example '{kind}:20'")
        if directed:
            raise ValueError(f"{spec!r} is undirected: only files can be read as directed")
        if format or columns or storage_options:
            raise ValueError(f"{spec!r} is generated: only files have a format and columns")
        return random_origin(kind, int(scale), edgefactor, seed)
    return open_file(
        spec, directed=directed, format=format, columns=columns, storage_options=storage_options
    )
