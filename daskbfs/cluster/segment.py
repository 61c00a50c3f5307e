"""Memory that the workers of one host share: one file without a name for each graph there.

The host's first worker makes it (``memfd_create``), and others open it as ``/proc/<pid>/fd/<n>``,
which the system allows to processes of the same user. They prove that they have the right one by a
nonce in its head. Nothing has to be removed after a crash: the memory is gone with the last process
that has it mapped.

The file grows by *slots*, which runs use one after the other. The head has a row for each slot:
where it lies, the run that it was given to, and a word with a bit for each worker that refers to it
and the number of times that it was given. Only the first worker gives slots to runs, and only those
without references; others look for the name of their run. What refers to a slot is any numpy array
of it, results above all.

A worker may look for a run that is long over, while its slot is given to another. So a slot that is
given first loses its old name, and a reference is added only if the slot was not given meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import mmap
import os
import secrets
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from daskbfs.kernels import meeting
from daskbfs.partition.pinned import Pinned

MOST_WORKERS = 32  # a bit for each, in half a word
_GIVEN = 1 << MOST_WORKERS  # the other half counts how often a slot was given
_GIVEN_MASK = (1 << 30) - 1
_MOST_SLOTS = 2**14 - 1
_NONCE, _N_SLOTS, _ROWS = 0, 1, 8  # words of the head
_RUN, _HELD_BY, _FIRST, _N_BYTES, _KIND = range(5)  # words of a slot's row
_ROW_WORDS = 8
_HEAD_BYTES = 8 * (_ROWS + _MOST_SLOTS * _ROW_WORDS)
_PAGE = 2**16  # as large as any system's
_HUGE_PAGE = (
    2**21
)  # what large arrays begin and end at, so that a system may use pages of that size
_LOOK_SECONDS = 50e-6  # between two looks for a slot that is about to be given


class Column(NamedTuple):
    """An array that workers of a host share."""

    name: str
    size: int
    dtype: Any

    @property
    def nbytes(self) -> int:
        """Its memory."""
        return self.size * np.dtype(self.dtype).itemsize


def place_columns(columns: Sequence[Column]) -> list[int]:
    """Return where each column begins if one follows the other, and where the last one ends."""
    places, end = [], 0
    for column in columns:
        places.append(_whole_pages(end, column.nbytes))
        end = places[-1] + column.nbytes
    return [*places, _whole_pages(end, end)]


@dataclass(frozen=True, slots=True)
class Ticket:
    """How another process finds a segment."""

    machine: str
    """Which start of which machine: process ids mean nothing elsewhere."""
    process: int
    descriptor: int
    nonce: int

    @property
    def path(self) -> str:
        """The file that it is for other processes."""
        return f"/proc/{self.process}/fd/{self.descriptor}"


@dataclass(frozen=True, slots=True)
class SlotAddress:
    """Where the slot of a run lies."""

    ticket: Ticket
    run: int
    row: int
    first: int
    n_bytes: int


class Segment(Pinned):
    """A host's shared memory, as one worker has it."""

    def __init__(self, descriptor: int, ticket: Ticket, member: int) -> None:
        self.ticket = ticket
        self.member = member
        """The worker's number among those of its host; the first gives slots to runs."""
        self._descriptor = descriptor
        head = mmap.mmap(descriptor, _HEAD_BYTES)
        self._head: np.ndarray = np.frombuffer(head, np.int64)
        self._lock = threading.Lock()
        self._mapped: dict[int, mmap.mmap] = {}
        self._held: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        """The memory of runs that this worker refers to, by the number of the run."""
        weakref.finalize(self, _leave, descriptor, self._head).atexit = False
        _OPEN[ticket, member] = self

    @classmethod
    def here(cls, ticket: Ticket, member: int) -> Segment:
        """The one that this process has open, as long as anything refers to it."""
        return _OPEN[ticket, member]

    @classmethod
    def create(cls) -> Segment:
        """A new one, of which this worker is the first."""
        descriptor = os.memfd_create("daskbfs")
        os.ftruncate(descriptor, _whole_pages(_HEAD_BYTES, _HEAD_BYTES))
        nonce = secrets.randbits(62) + 1
        segment = cls(descriptor, Ticket(machine_start(), os.getpid(), descriptor, nonce), 0)
        segment._head[_NONCE] = nonce
        return segment

    @classmethod
    def open(cls, ticket: Ticket, member: int) -> Segment | None:
        """Another worker's; None where this process cannot have it."""
        descriptor = open_shared(ticket)
        return None if descriptor is None else cls(descriptor, ticket, member)

    def give(self, run: str, kind: str, n_bytes: int, n_cleared: int = 0) -> Slot:
        """A slot for a run, as large as it wants, which peers find by the run's name.

        Its first bytes are cleared before; the others have arbitrary contents.
        """
        name = _number_of(f"{run} {kind}")
        with self._lock:
            if name in self._held:
                raise ValueError(f"run {run!r} was given a slot for {kind!r} before")
            row = self._free_row(_number_of(kind), n_bytes)
            slot = self._slot(row, name)
        there = self._row(row)
        slot.bytes[:n_cleared] = 0
        meeting.store_word(there, _RUN, name)
        return slot

    def _free_row(self, kind: int, n_bytes: int) -> int:
        """A slot without references, from now on with ours; the file grows where there is none."""
        n_slots, mine = int(self._head[_N_SLOTS]), 1 << self.member
        rows = self._rows()
        alike = (rows[:, _KIND] == kind) & (rows[:, _N_BYTES] == n_bytes)
        for row in np.flatnonzero(alike & (rows[:, _HELD_BY] % _GIVEN == 0)).tolist():
            there = self._row(row)
            held_by = int(there[_HELD_BY])
            if held_by % _GIVEN == 0:
                meeting.store_word(there, _RUN, 0)
                given = (held_by // _GIVEN + 1) & _GIVEN_MASK
                if meeting.swap_word(there, _HELD_BY, held_by, given * _GIVEN + mine):
                    return row
        if n_slots == _MOST_SLOTS:
            raise MemoryError(
                f"{_MOST_SLOTS} results of this graph are kept on its workers: let go of some"
            )
        there = self._row(n_slots)
        end = os.fstat(self._descriptor).st_size
        there[_FIRST] = _whole_pages(end, n_bytes)
        there[_N_BYTES], there[_KIND], there[_HELD_BY] = n_bytes, kind, mine
        os.ftruncate(self._descriptor, int(there[_FIRST]) + _whole_pages(n_bytes, n_bytes))
        self._head[_N_SLOTS] = n_slots + 1
        return n_slots

    def find(self, run: str, kind: str) -> Slot | None:
        """The slot that a run was given; None as long as it has none."""
        name = _number_of(f"{run} {kind}")
        with self._lock:
            held = self._held.get(name)  # not to be let go from here on
            for row in np.flatnonzero(self._rows()[:, _RUN] == name).tolist():
                there = self._row(row)
                held_by = int(there[_HELD_BY])
                while there[_RUN] == name:
                    mine = held_by | 1 << self.member
                    if held is not None or meeting.swap_word(there, _HELD_BY, held_by, mine):
                        return self._slot(row, name)
                    held_by = int(there[_HELD_BY])
        return None

    def await_slot(self, run: str, kind: str, seconds: float) -> Slot | None:
        """The slot that a run is given, as soon as it is; None where that takes too long."""
        deadline = time.monotonic() + seconds
        while (slot := self.find(run, kind)) is None and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        return slot

    def _rows(self) -> np.ndarray:
        """The rows of all slots."""
        words = self._head[_ROWS : _ROWS + int(self._head[_N_SLOTS]) * _ROW_WORDS]
        rows: np.ndarray = words.reshape(-1, _ROW_WORDS)
        return rows

    def _row(self, row: int) -> np.ndarray:
        first = _ROWS + row * _ROW_WORDS
        there: np.ndarray = self._head[first : first + _ROW_WORDS]
        return there

    def _slot(self, row: int, name: int) -> Slot:
        """A slot of this worker's, for as long as any array of it lives."""
        there = self._row(row)
        first, n_bytes = int(there[_FIRST]), int(there[_N_BYTES])
        memory = self._mapped.get(row)
        if memory is None:
            memory = self._mapped[row] = _map(self._descriptor, n_bytes, first)
        held = self._held.get(name)
        if held is None:
            held = self._held[name] = (ctypes.c_uint8 * n_bytes).from_buffer(memory)
            weakref.finalize(held, _let_go, self._head, there, 1 << self.member).atexit = False
        address = SlotAddress(self.ticket, name, row, first, n_bytes)
        return Slot(np.frombuffer(memoryview(held), np.uint8), address)


_OPEN: weakref.WeakValueDictionary[tuple[Ticket, int], Segment] = weakref.WeakValueDictionary()


def _leave(descriptor: int, head: np.ndarray) -> None:
    """Give memory back that nobody can ask for any more, and close the file.

    Some of the rest may be in use for long: the numbering of partitions that stay.
    """
    for row in head[_ROWS : _ROWS + int(head[_N_SLOTS]) * _ROW_WORDS].reshape(-1, _ROW_WORDS):
        held_by = int(row[_HELD_BY])
        if held_by % _GIVEN == 0 and meeting.swap_word(row, _HELD_BY, held_by, held_by | 1):
            meeting.store_word(row, _RUN, 0)
            with (
                contextlib.suppress(OSError, ValueError, AttributeError),
                mmap.mmap(descriptor, int(row[_N_BYTES]), offset=int(row[_FIRST])) as memory,
            ):
                memory.madvise(mmap.MADV_REMOVE)
    os.close(descriptor)


def _let_go(head: np.ndarray, row: np.ndarray, mine: int) -> None:
    """Refer to a slot no longer; the head stays mapped until then."""
    meeting.add_to_word(row, _HELD_BY, -mine)


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """Some shared memory that a run has for itself."""

    bytes: np.ndarray
    address: SlotAddress

    def columns(self, columns: Sequence[Column]) -> dict[str, np.ndarray]:
        """Its arrays, by name."""
        return {
            column.name: self.bytes[first : first + column.nbytes].view(column.dtype)
            for column, first in zip(columns, place_columns(columns), strict=False)
        }


def open_shared(ticket: Ticket) -> int | None:
    """A descriptor of a segment; None where this process cannot have it, or it is another."""
    if ticket.machine != machine_start():
        return None
    try:
        descriptor = os.open(ticket.path, os.O_RDWR)
    except OSError:
        return None
    try:
        if int.from_bytes(os.pread(descriptor, 8, 8 * _NONCE), "little") == ticket.nonce:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


class ReadSlots:
    """The slots of a segment, for a process that only reads results."""

    def __init__(self) -> None:
        self._descriptors: dict[Ticket, int] = {}
        self._heads: dict[Ticket, np.ndarray] = {}
        self._mapped: dict[tuple[Ticket, int], mmap.mmap] = {}

    def read(self, address: SlotAddress) -> np.ndarray | None:
        """The bytes of a slot; None where they cannot be had from here."""
        ticket = address.ticket
        if ticket not in self._descriptors:
            descriptor = open_shared(ticket)
            if descriptor is None:
                return None
            weakref.finalize(self, os.close, descriptor)
            self._descriptors[ticket] = descriptor
            head = mmap.mmap(descriptor, _HEAD_BYTES, access=mmap.ACCESS_READ)
            self._heads[ticket] = np.frombuffer(head, np.int64)
        memory = self._mapped.get((ticket, address.row))
        if memory is None:  # a private copy of what is written to it: kernels want to be allowed
            memory = self._mapped[ticket, address.row] = mmap.mmap(
                self._descriptors[ticket],
                address.n_bytes,
                access=mmap.ACCESS_COPY,
                offset=address.first,
            )
        if not self.is_current(address):
            return None
        there: np.ndarray = np.frombuffer(memory, np.uint8)
        return there

    def is_current(self, address: SlotAddress) -> bool:
        """Whether a slot still is the run's: ask again after having read it."""
        there = self._heads[address.ticket][_ROWS + address.row * _ROW_WORDS :]
        return bool(there[_RUN] == address.run)


def machine_start() -> str:
    """Which start of which machine this is, and which view of its processes."""
    parts = []
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return " ".join(parts)


def _number_of(text: str) -> int:
    """A number that stands for a text; never 0."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 | 1


def _whole_pages(n_bytes: int, of: int) -> int:
    """Bytes in whole pages, as large as something of a size wants them."""
    page = _PAGE if of < _HUGE_PAGE else _HUGE_PAGE
    return -(-n_bytes // page) * page


def _map(descriptor: int, n_bytes: int, first: int) -> mmap.mmap:
    """Map memory, and ask for large pages, which few systems have for shared memory."""
    memory = mmap.mmap(descriptor, n_bytes, offset=first)
    with contextlib.suppress(OSError, AttributeError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
