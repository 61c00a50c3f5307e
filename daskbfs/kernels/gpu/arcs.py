"""The arcs of a partition for a GPU: in its memory, or streamed to it block by block.

Rows come by decreasing degree, so rows of one degree class are neighbours, and so are the rows of a
block; in any other order, rows before a long one count as long. Where a partition is larger than
its device's memory, its arcs stay in the host's, and only blocks with work to do are copied, into
two buffers by turns: one is filled while the other is used.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daskbfs.kernels.gpu import bfs as gpu
from daskbfs.kernels.gpu.launch import array_module, launch

WIDTHS = ((256, 32), (32, 8), (0, 1))
"""Rows of more than so many arcs get so many lanes. A guess: no GPU has been asked yet."""

_ROWS_OF_A_WORD = 32

Span = tuple[int, int, int]
"""From, to, lanes."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows in a sequence, by degree class; or the queue's entries among them."""

    first_arc: int
    last_arc: int
    spans: tuple[Span, ...]


LoadedBlocks = Generator[tuple[Block, Any, int], None, None]
"""Blocks one after the other, each with its arcs on the device and the number of the first of them;
a caller that does not take them all must close the generator."""


class Arcs:
    """The neighbours of all rows of a partition; what kernels call ``indices``.

    ``like`` is any array of the device, ``buffer_arcs`` the size of each of two buffers; None keeps
    all arcs on the device.
    """

    def __init__(
        self, indptr: np.ndarray, indices: np.ndarray, like: Any, buffer_arcs: int | None = None
    ) -> None:
        self._xp = array_module(like)
        self.size = indices.size
        self.nbytes = indices.nbytes
        classes = _classes(np.diff(indptr))
        cuts = [0, indptr.size - 1] if buffer_arcs is None else _cuts(indptr, buffer_arcs)
        self.blocks = [
            Block(int(indptr[a]), int(indptr[b]), _within(classes, a, b))
            for a, b in itertools.pairwise(cuts)
        ]
        self._first_words = self._xp.asarray(-(-np.array(cuts) // _ROWS_OF_A_WORD))
        self._slots: list[_Slot] = []
        self._streaming = threading.Lock()  # two searches at once would share the buffers
        if buffer_arcs is None:
            self._held = self._xp.asarray(indices)
            return
        self._held = None
        self._host = _pin(indices, self._xp)
        most = max((block.last_arc - block.first_arc for block in self.blocks), default=0)
        self._slots = [_Slot(self._xp, most) for _ in range(2)]

    @property
    def streamed(self) -> bool:
        """Whether the arcs are in the host's memory."""
        return self._held is None

    @property
    def device_bytes(self) -> int:
        """Memory of the device that they take."""
        return self.nbytes if self._held is not None else sum(s.nbytes for s in self._slots)

    @property
    def host_bytes(self) -> int:
        """Memory of the host that they take, beside a device."""
        return self.nbytes if self.streamed else 0

    def all_blocks(self) -> LoadedBlocks:
        """Every block; their spans are rows."""
        return self._load_blocks(self.blocks)

    def with_rows_of(self, queue: Any) -> LoadedBlocks:
        """Blocks with rows of an ascending queue; their spans are places in it."""
        edges = sorted({e for b in self.blocks for span in b.spans for e in span[:2]})
        asked = self._xp.asarray(np.array(edges, np.uint32))
        found = self._xp.searchsorted(queue, asked)
        place = dict(zip(edges, found.tolist(), strict=True))
        wanted = []
        for block in self.blocks:
            spans = tuple(
                (place[a], place[b], width) for a, b, width in block.spans if place[a] < place[b]
            )
            if spans:
                wanted.append(replace(block, spans=spans))
        return self._load_blocks(wanted)

    def with_work(self, visited: Any, next_frontier: Any) -> LoadedBlocks:
        """Blocks with rows that are neither visited nor found; their spans are rows."""
        if not self.streamed:
            return self._load_blocks(self.blocks)
        busy = self._xp.zeros(len(self.blocks), np.int8)
        bitmaps = visited.view(np.uint32), next_frontier.view(np.uint32)
        launch(gpu.find_work, 32 * len(self.blocks), *bitmaps, self._first_words, busy)
        return self._load_blocks(
            [b for b, is_busy in zip(self.blocks, busy.tolist(), strict=True) if is_busy]
        )

    def _load_blocks(self, blocks: list[Block]) -> LoadedBlocks:
        """Each block with its arcs on the device, and the number of the first of these."""
        if self._held is not None:
            for block in blocks:
                yield block, self._held, 0
            return
        with self._streaming:
            for slot in self._slots:
                slot.wait_for_others()
            try:
                for turn, block in enumerate(blocks):
                    slot = self._slots[turn % 2]
                    with slot.active():
                        arcs = slot.fill(self._host[block.first_arc : block.last_arc])
                        yield block, arcs, block.first_arc
            finally:
                for slot in self._slots:
                    slot.let_others_wait()


class _Slot:
    """A buffer on the device, with a stream of its own where there are streams."""

    def __init__(self, xp: Any, n_arcs: int) -> None:
        self._buffer = xp.empty(n_arcs, np.uint32)
        self._stream = None if xp is np else xp.cuda.Stream(non_blocking=True)
        self._xp = xp

    @property
    def nbytes(self) -> int:
        return int(self._buffer.nbytes)

    def active(self) -> Any:
        """Kernels started now run on the slot's stream."""
        return contextlib.nullcontext() if self._stream is None else self._stream

    def fill(self, arcs: np.ndarray) -> Any:
        """The buffer with some arcs in it: copied before the kernels that follow on the stream."""
        part = self._buffer[: arcs.size]
        if self._stream is None:
            part[:] = arcs
        else:
            part.set(arcs, stream=self._stream)
        return part

    def wait_for_others(self) -> None:
        """Start after what the current stream has been given so far."""
        if self._stream is not None:
            self._stream.wait_event(self._xp.cuda.get_current_stream().record())

    def let_others_wait(self) -> None:
        """The current stream goes on after this one."""
        if self._stream is not None:
            self._xp.cuda.get_current_stream().wait_event(self._stream.record())


def _pin(array: np.ndarray, xp: Any) -> np.ndarray:
    """A copy in memory that a GPU can fetch from; the array itself where there is no GPU."""
    if xp is np:
        return array
    import cupyx

    pinned: np.ndarray = cupyx.empty_pinned(array.shape, array.dtype)
    pinned[...] = array
    return pinned


def _classes(degrees: np.ndarray) -> list[Span]:
    """Rows by degree class: spans in sequence, wide ones first."""
    spans, begin = [], 0
    for more_than, width in WIDTHS:
        longer = np.flatnonzero(degrees > more_than)
        end = degrees.size if width == 1 else (int(longer[-1]) + 1 if longer.size else 0)
        if end > begin:
            spans.append((begin, end, width))
            begin = end
    return spans


def _within(classes: list[Span], first: int, last: int) -> tuple[Span, ...]:
    """The parts of spans between two rows."""
    parts = [(max(a, first), min(b, last), width) for a, b, width in classes]
    return tuple(part for part in parts if part[0] < part[1])


def largest_word(indptr: np.ndarray) -> int:
    """The most arcs that rows of one word have: a block cannot be smaller."""
    at = np.append(indptr[:-1:_ROWS_OF_A_WORD], indptr[-1:])
    return int(np.diff(at.astype(np.int64)).max(initial=0))


def _cuts(indptr: np.ndarray, most_arcs: int) -> list[int]:
    """Rows at which blocks begin, whole words each, and the end.

    A block has at most so many arcs, unless its first word alone has more.
    """
    n_rows = indptr.size - 1
    cuts = [0]
    while cuts[-1] < n_rows:
        last = int(np.searchsorted(indptr, int(indptr[cuts[-1]]) + most_arcs, side="right")) - 1
        whole = last if last >= n_rows else last // _ROWS_OF_A_WORD * _ROWS_OF_A_WORD
        cuts.append(min(n_rows, max(whole, cuts[-1] + _ROWS_OF_A_WORD)))
    return cuts
