"""Graphs by a word, as on the command line: a file, ``kron:22`` or ``uniform:20``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Unpack

from daskbfs.graph.edge_stream import Origin
from daskbfs.graph.generators import KINDS, random_origin
from daskbfs.io import ReadOptions, open_file

READ_OPTIONS = tuple(ReadOptions.__annotations__)


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
    edgefactor: int = 16,
    seed: int | None = None,
    **options: Unpack[ReadOptions],
) -> Origin:
    """What it takes to build the graph that a word stands for."""
    unknown = sorted(options.keys() - READ_OPTIONS)
    if unknown:
        raise TypeError(
            f"{', '.join(unknown)} cannot be given: how to read a file is said by "
            f"{', '.join(READ_OPTIONS)}"
        )
    kind, colon, scale = str(spec).partition(":")
    _check_spelling(spec)
    if colon and kind in KINDS and not Path(spec).exists():
        if not scale.isdigit():
            raise ValueError(f"{spec!r}: after '{kind}:' comes a scale, for example '{kind}:20'")
        if options.pop("directed", None):
            raise ValueError(f"{spec!r} is undirected: only files can be read as directed")
        if any(options.values()):
            raise ValueError(f"{spec!r} is generated: only files have a format and columns")
        return random_origin(kind, int(scale), edgefactor, seed)
    return open_file(spec, **options)
