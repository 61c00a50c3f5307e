"""Text files of edges, read in blocks of whole lines, parsed by all cores.

A line ends with LF, CRLF or a lone CR.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from daskbfs.edges import Block
from daskbfs.kernels import text as kernels
from daskbfs.kernels.compiling import n_threads

_READ_BYTES = 2**24
_SHORTEST_LINE = 4  # "0 1\n"
_TYPICAL_LINE = 12
_COMPRESSION = 4
_WRONG = {
    kernels.NOT_A_NUMBER: "is not {what}",
    kernels.TOO_FEW_COLUMNS: "has too few columns for {what}",
    kernels.TOO_LARGE: "has a vertex id beyond 2**63 - 1",
    kernels.NEGATIVE: "has a vertex id below {base}, the smallest in this format",
    kernels.NAN_WEIGHT: "has the weight nan; drop such edges, or the weights",
}


def gzipped(path: Path) -> bool:
    """Whether a file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """A file, decompressed when it is gzipped; damage that shows then is a ValueError."""
    try:
        with gzip.GzipFile(path, "rb") if gzipped(path) else path.open("rb") as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} is damaged or cut short: {error}") from error


@contextlib.contextmanager
def opened_lines(path: Path) -> Iterator[Iterator[bytes]]:
    """The lines of a file one by one, with their ends: for headers."""
    # Latin-1 maps bytes to characters one to one; newline="" leaves the ends as they are.
    with opened(path) as file, io.TextIOWrapper(file, "latin-1", newline="") as lines:  # type: ignore[type-var]
        yield (line.encode("latin-1") for line in lines)


def _count_lines(text: bytes) -> int:
    """How many line ends there are."""
    n = text.count(b"\n")
    if b"\r" in text:
        n += text.count(b"\r") - text.count(b"\r\n")
    return n


def _line_start(text: bytes, at: int) -> int:
    """The last place up to ``at`` where a line begins; it may be between CR and LF."""
    start = text.rfind(b"\n", 0, at) + 1
    return max(start, text.rfind(b"\r", start, at) + 1)


def whole_lines(path: Path, skip_bytes: int = 0) -> Iterator[tuple[int, bytes]]:
    """Pieces of a file that end with a line, each with the number of its first line (from 1).

    The lines in the first ``skip_bytes`` bytes are left out, but counted.
    """
    with opened(path) as file:
        number = 1 + _count_lines(file.read(skip_bytes))
        rest = b""
        while piece := file.read(_READ_BYTES):
            # A CR at the very end may be half of a CRLF: it waits for the next piece.
            cut = _line_start(piece, len(piece) - piece.endswith(b"\r"))
            if cut:
                lines = rest + piece[:cut]
                yield number, lines
                number += _count_lines(lines)
                rest = piece[cut:]
            else:
                rest += piece
        if rest:
            yield number, rest


def bad_line(
    path: Path, number: int, text: bytes, place: int, error: int, what: str, base: int
) -> ValueError:
    """The error for the line at ``place`` of a text whose first line has ``number``."""
    line = number + _count_lines(text[:place])
    shown = text[place : place + 400].splitlines()[0].decode(errors="replace")
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    wrong = _WRONG[error].format(what=what, base=base)
    return ValueError(f"{path.name}, line {line}: {shown!r} {wrong}")


class TextEdges:
    """A stream of the edges of a text file.

    ``tag`` is the character that edge lines begin with, if any; ``base`` the smallest id;
    ``declared`` how many edges the file's header promises. Where a header tells the number of
    vertices, their ids start at ``base``; otherwise they are whatever the lines say.
    """

    def __init__(
        self,
        path: Path,
        *,
        comments: bytes,
        tag: str | None = None,
        base: int = 0,
        n_vertices: int | None = None,
        declared: int | None = None,
        skip_bytes: int = 0,
        what: str = "an edge: two vertex ids, 0 or more",
    ) -> None:
        self.path = path
        self.n_vertices = n_vertices
        self.first_id = base
        self._comments = np.frombuffer(comments, np.uint8).copy()
        self._tag = ord(tag) if tag else 0
        self._base = base
        self._declared = declared
        self._skip_bytes = skip_bytes
        self._what = what

    @property
    def n_edges(self) -> int:
        if self._declared is not None:
            return self._declared
        size = self.path.stat().st_size
        return size * (_COMPRESSION if gzipped(self.path) else 1) // _TYPICAL_LINE

    def blocks(self) -> Iterator[Block]:
        n_read = 0
        for number, text in whole_lines(self.path, self._skip_bytes):
            for heads, tails in self._parse(number, text):
                n_read += heads.size
                yield heads, tails
        if self._declared is not None and n_read != self._declared:
            raise ValueError(
                f"{self.path.name} holds {n_read} edges but its header says {self._declared}: "
                "it is damaged or cut short"
            )

    def _parse(self, number: int, text: bytes) -> Iterator[Block]:
        """Parse some lines, with all threads."""
        n_parts = n_threads()
        cuts = np.empty(n_parts + 1, np.int64)
        for i in range(n_parts):
            cuts[i] = _line_start(text, len(text) * i // n_parts)
        cuts[n_parts] = len(text)
        room = np.diff(cuts) // _SHORTEST_LINE + 1
        places = np.cumsum(room) - room
        heads, tails = (np.empty(int(room.sum()), np.int64) for _ in range(2))
        counts, errors, lines = (np.empty(n_parts, np.int64) for _ in range(3))
        kernels.parse_edges(
            np.frombuffer(text, np.uint8),
            cuts,
            self._comments,
            self._tag,
            self._base,
            heads,
            tails,
            places,
            counts,
            errors,
            lines,
        )
        for i in range(n_parts):
            if errors[i] != kernels.FINE:
                raise bad_line(
                    self.path, number, text, int(lines[i]), int(errors[i]), self._what, self._base
                )
            part = slice(places[i], places[i] + counts[i])
            yield heads[part], tails[part]
