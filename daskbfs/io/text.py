"""Text files of edges, read in blocks of whole lines, parsed by all cores.

A line ends with LF, CRLF or a lone CR.

The parser gets blocks of whole lines with one more LF behind them, so that its loop over digits
needs no bound. The code that reports an error counts its line by reading the file again.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from daskbfs.graph.edge_stream import Block, PlainStream
from daskbfs.io import compression
from daskbfs.io.location import Location
from daskbfs.kernels import parse as kernels
from daskbfs.kernels.threads import n_threads
from daskbfs.machine import hardware

_READ_BYTES = 2**24
_SHORTEST_LINE = 4  # "0 1\n"
_TYPICAL_LINE = 12
_COMPRESSION = 4
_LONGEST_LINE = 2**24
_LONGEST_HEAD = 2**16
_LONGEST_ID = 19
_LARGEST_ID = 2**63 - 1
_RETURN = ord("\r")
_WRONG = {
    kernels.NOT_A_NUMBER: "is not {what}",
    kernels.TOO_FEW_COLUMNS: "has too few columns for {what}",
    kernels.TOO_LARGE: "has a vertex id beyond 2**63 - 1",
    kernels.NEGATIVE: "has a vertex id below {base}, the smallest in this format",
    kernels.BEYOND: "has a vertex id beyond {top}, the largest by the file's header",
    kernels.TOO_LONG: "goes on for more than 16 MiB: it is no line of {what}",
    kernels.NAN_WEIGHT: "has the weight nan; drop such edges, or the weights",
}


@contextlib.contextmanager
def open_bytes(location: Location) -> Iterator[IO[bytes]]:
    """A file, decompressed where its name says so; damage that shows then is a ValueError."""
    with location.open() as file, compression.decompress(location.name, file) as inside:
        yield inside


class HeaderLines:
    """The lines of a header one by one, with their ends; iterating counts them."""

    def __init__(self, lines: Iterator[bytes], name: str) -> None:
        self._lines = lines
        self._name = name
        self.line = b""
        """The last line that was read."""
        self.number = 0
        self.n_bytes = 0
        """Up to its end, from the beginning of the file."""

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self.line = next(self._lines)
        self.number += 1
        self.n_bytes += len(self.line)
        return self.line

    def next_words(self, comment: bytes) -> list[bytes]:
        """The words of the next line that is neither empty nor a comment; none at the end."""
        for line in self:
            words = line.split()
            if words and not words[0].startswith(comment):
                return words
        return []

    def error(self, rule: str) -> ValueError:
        """The error for the last line, which breaks a rule."""
        shown = self.line.decode(errors="replace").strip()[:60]
        return ValueError(f"{self._name}, line {self.number}: {rule}, not {shown!r}")


@contextlib.contextmanager
def open_lines(location: Location) -> Iterator[HeaderLines]:
    """The lines of a file's header."""
    # Latin-1 maps bytes to characters one to one; newline="" leaves the ends as they are.
    with open_bytes(location) as file, io.TextIOWrapper(file, "latin-1", newline="") as lines:  # type: ignore[type-var]
        short = (line.encode("latin-1") for line in _short_lines(lines, location.name))
        yield HeaderLines(short, location.name)


def _short_lines(lines: io.TextIOWrapper, name: str) -> Iterator[str]:
    """Lines of a header; a longer one, as of a file that is something else, is refused."""
    number = 1
    while line := lines.readline(_LONGEST_HEAD):
        if len(line) == _LONGEST_HEAD:
            raise ValueError(
                f"{name}, line {number}: a line of a header has at most {_LONGEST_HEAD // 1024} KiB"
            )
        yield line
        number += 1


def are_counts(words: Iterable[bytes]) -> bool:
    """Whether all are numbers that a header may tell: not negative, and of 64 bits."""
    return all(word.isdigit() and len(word) < _LONGEST_ID for word in words)


def _count_lines(text: bytes) -> int:
    """How many line ends there are."""
    n = text.count(b"\n")
    if b"\r" in text:
        n += text.count(b"\r") - text.count(b"\r\n")
    return n


def _line_start(text: bytes | bytearray, at: int) -> int:
    """The last place up to ``at`` where a line begins; it may be between CR and LF."""
    start = text.rfind(b"\n", 0, at) + 1
    return max(start, text.rfind(b"\r", start, at) + 1)


@dataclass(frozen=True, slots=True)
class Lines:
    """Some whole lines of a file; valid until the next ones are asked for."""

    location: Location
    begin: int
    """Their first byte in the file, once that is decompressed."""
    text: bytearray
    """The lines, and more; behind the last one stands one more line end."""
    size: int
    """Bytes of the lines."""

    def cuts(self, n_parts: int) -> np.ndarray:
        """Where parts of about the same size begin and end, each of whole lines."""
        cuts = [_line_start(self.text, self.size * i // n_parts) for i in range(n_parts)]
        return np.array([*cuts, self.size], np.int64)

    @property
    def array(self) -> np.ndarray:
        """For kernels."""
        return np.frombuffer(self.text, np.uint8)

    def error_at(self, place: int, error: int, what: str, base: int, top: int = 0) -> ValueError:
        """The error for the line at a place."""
        line = 1
        with open_bytes(self.location) as file:  # lines are counted only for an error
            to_read = self.begin + place
            while to_read and (piece := file.read(min(to_read, _READ_BYTES))):
                to_read -= len(piece)
                after = b"" if to_read or not piece.endswith(b"\r") else file.read(1)
                line += _count_lines(piece) - (after == b"\n")
        shown = bytes(self.text[place : min(self.size, place + 400)]).splitlines()[0]
        words = shown.decode(errors="replace")
        words = words if len(words) <= 60 else words[:57] + "..."
        told = _WRONG[error].format(what=what, base=base, top=top)
        return ValueError(f"{self.location.name}, line {line}: {words!r} {told}")


def whole_lines(
    location: Location, skip_bytes: int, what: str, *, longest: int | None = _LONGEST_LINE
) -> Iterator[Lines]:
    """The lines of a file behind its first ``skip_bytes`` bytes, many at a time.

    None of them may be longer than ``longest``; None: than memory allows.
    """
    with open_bytes(location) as file:
        file.read(skip_bytes)
        begin, n_rest, n_more = skip_bytes, 0, 1
        buffer = bytearray(_READ_BYTES + 1)
        while n_more:
            if n_rest + 1 >= len(buffer):  # a line that is longer than all
                if longest is not None and n_rest > longest:
                    raise Lines(location, begin, buffer, n_rest).error_at(
                        0, kernels.TOO_LONG, what, 0
                    )
                hardware.require_memory(
                    2 * len(buffer), f"a line of {location.name}", "is it text at all?"
                )
                buffer.extend(bytes(len(buffer)))
            n_more = _fill(file, memoryview(buffer)[n_rest:-1])
            size = n_rest + n_more
            # A CR at the very end may be half of a CRLF: it waits for what follows.
            last = size - (size > 0 and buffer[size - 1] == _RETURN)
            cut = _line_start(buffer, last) if n_more else size
            if cut:
                kept, buffer[cut : cut + 1] = buffer[cut], b"\n"
                yield Lines(location, begin, buffer, cut)
                buffer[cut] = kept
            buffer[: size - cut] = buffer[cut:size]
            begin, n_rest = begin + cut, size - cut


def _fill(file: IO[bytes], room: memoryview) -> int:
    """Fill a buffer from a file as far as it goes; returns how far."""
    n = 0
    while n < len(room) and (more := file.readinto(room[n:])):  # type: ignore[attr-defined]
        n += more
    return n


class TextEdges(PlainStream):
    """A stream of the edges of a text file.

    ``tag`` is the character that edge lines begin with, if any; ``base`` the smallest id;
    ``declared`` how many edges the file's header promises. Where a header tells the number of
    vertices, their ids start at ``base``; otherwise they are whatever the lines say.
    """

    slow = True

    def __init__(
        self,
        location: Location,
        *,
        comments: bytes,
        tag: str | None = None,
        base: int = 0,
        n_vertices: int | None = None,
        declared: int | None = None,
        skip_bytes: int = 0,
        what: str = "an edge: two vertex ids, 0 or more",
    ) -> None:
        self.location = location
        self.n_vertices = n_vertices
        self._comments = np.frombuffer(comments, np.uint8).copy()
        self._tag = ord(tag) if tag else 0
        self._base = base
        self._declared = declared
        self._skip_bytes = skip_bytes
        self._what = what

    @property
    def first_id(self) -> int:
        return self._base

    @property
    def n_edges(self) -> int:
        if self._declared is not None:
            return self._declared
        packed = compression.suffix(self.location.name) is not None
        return self.location.size * (_COMPRESSION if packed else 1) // _TYPICAL_LINE

    def blocks(self) -> Iterator[Block]:
        n_read = 0
        scratch = np.empty((2, 0), np.int64)
        for lines in whole_lines(self.location, self._skip_bytes, self._what):
            if scratch.shape[1] < lines.size // _SHORTEST_LINE + n_threads():
                scratch = np.empty((2, lines.size // _SHORTEST_LINE + n_threads()), np.int64)
            for heads, tails in self._parse(lines, *scratch):
                n_read += heads.size
                yield heads, tails
        if self._declared is not None and n_read != self._declared:
            raise ValueError(
                f"{self.location.name} holds {n_read} edges but its header says {self._declared}: "
                "it is damaged or cut short"
            )

    def _parse(self, lines: Lines, heads: np.ndarray, tails: np.ndarray) -> Iterator[Block]:
        """Parse some lines, with all threads, into arrays that are used again: pages are dear."""
        n_parts = n_threads()
        declared = self.n_vertices
        top = _LARGEST_ID if declared is None else min(_LARGEST_ID, self._base + declared - 1)
        cuts = lines.cuts(n_parts)
        room = np.diff(cuts) // _SHORTEST_LINE + 1
        places = np.cumsum(room) - room
        counts, errors, where = (np.empty(n_parts, np.int64) for _ in range(3))
        kernels.parse_edges(
            lines.array,
            cuts,
            self._comments,
            self._tag,
            self._base,
            top,
            heads,
            tails,
            places,
            counts,
            errors,
            where,
        )
        for i in range(n_parts):
            if errors[i] != kernels.FINE:
                raise lines.error_at(int(where[i]), int(errors[i]), self._what, self._base, top)
            part = slice(places[i], places[i] + counts[i])
            yield heads[part], tails[part]


def edge_lines(
    blocks: Iterable[Block],
    *,
    base: int = 0,
    before: bytes = b"",
    between: bytes = b" ",
    after: bytes = b"\n",
) -> Iterator[bytes]:
    """Edges as text, a line each; ids count from ``base`` on."""
    marks = [np.frombuffer(mark, np.uint8).copy() for mark in (before, between, after)]
    longest = 2 * _LONGEST_ID + len(before + between + after)
    for heads, tails in blocks:
        text = np.empty(longest * heads.size, np.uint8)
        ends = heads.astype(np.int64), tails.astype(np.int64)
        size = kernels.format_edges(*ends, base, *marks, text)
        yield text[:size].tobytes()
