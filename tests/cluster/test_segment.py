"""Memory that processes of one host share, as two members of it in this process see it."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from daskbfs.cluster.segment import Column, ReadSlots, Segment, place_columns
from tests.support.exchange import n_mapped

COLUMNS = (Column("few", 10, np.int64), Column("many", 2**19, np.uint32), Column("end", 1, np.int8))


@pytest.fixture
def members():
    first = Segment.create()
    return [first, Segment.open(first.ticket, 1)]


def give(segment, run, kind="kind", n_cleared=0):
    return segment.give(run, kind, place_columns(COLUMNS)[-1], n_cleared)


def test_what_one_member_writes_another_reads(members):
    first, second = members
    assert second.find("run", "kind") is None
    written = give(first, "run").columns(COLUMNS)
    written["many"][:] = np.arange(2**19)
    read = second.find("run", "kind").columns(COLUMNS)
    assert [array.size for array in read.values()] == [10, 2**19, 1]
    assert np.array_equal(read["many"], np.arange(2**19))
    read["few"][3] = 7
    assert written["few"][3] == 7
    assert second.find("run", "another kind") is None
    assert second.find("another run", "kind") is None


def test_columns_begin_at_pages_that_suit_them():
    few, many, end, after = place_columns(COLUMNS)
    assert (few, many, end) == (0, 2**21, 2**22)
    assert after == 2**22 + 2**21


def test_a_slot_is_used_again_once_nobody_refers_to_it(members):
    first, second = members
    slot = give(first, "one")
    kept = second.find("one", "kind").columns(COLUMNS)["many"]
    row = slot.address.row
    del slot
    gc.collect()
    assert give(first, "two").address.row != row, "the second member keeps an array"
    assert second.find("one", "kind") is not None
    del kept
    gc.collect()
    slot = give(first, "three", n_cleared=16)
    assert slot.address.row == row
    assert not slot.bytes[:16].any()
    assert second.find("one", "kind") is None, "its slot is another run's"


def test_a_run_has_one_slot_of_a_kind(members):
    first, second = members
    slot = give(first, "one")
    with pytest.raises(ValueError, match="run 'one' was given a slot for 'kind' before"):
        give(first, "one")
    twice = second.find("one", "kind"), second.find("one", "kind")
    assert np.shares_memory(twice[0].bytes, twice[1].bytes)
    row = slot.address.row
    del slot, twice
    gc.collect()
    assert give(first, "two").address.row == row, "nobody refers to it, however often it was found"


def test_memory_that_nobody_can_ask_for_is_given_back(members):
    first, second = members
    file = os.open(first.ticket.path, os.O_RDONLY)
    kept = give(first, "kept").columns(COLUMNS)["many"]
    give(first, "gone").bytes[:] = 1
    kept[:] = 1
    before = os.fstat(file).st_blocks
    del first, second
    members.clear()
    gc.collect()
    assert kept.all()
    assert 512 * (before - os.fstat(file).st_blocks) >= 2**22
    os.close(file)


def test_a_reader_notices_that_a_slot_went_to_another_run(members):
    first, _ = members
    slot = give(first, "one")
    slot.bytes[:4] = 1, 2, 3, 4
    address, slots = slot.address, ReadSlots()
    assert slots.read(address)[:4].tolist() == [1, 2, 3, 4]
    assert slots.is_current(address)
    del slot
    gc.collect()
    again = give(first, "two")
    assert again.address.row == address.row
    assert not slots.is_current(address)
    assert slots.read(address) is None


def test_only_the_right_memory_of_this_machine_is_opened(members):
    ticket = members[0].ticket
    for wrong in (
        replace(ticket, machine="another start"),
        replace(ticket, nonce=ticket.nonce + 1),
        replace(ticket, descriptor=10_000),
        replace(ticket, process=2**22),
    ):
        assert Segment.open(wrong, 1) is None
        assert ReadSlots().read(replace(give(members[0], "run").address, ticket=wrong)) is None


def test_another_process_reads_it_and_nothing_is_left(members):
    first, _ = members
    slot = give(first, "run")
    slot.bytes[:3] = 5, 6, 7
    program = (
        "import pickle, sys; from daskbfs.cluster.segment import Segment\n"
        "slot = Segment.open(pickle.loads(sys.stdin.buffer.read()), 1).find('run', 'kind')\n"
        "print(slot.bytes[:3].tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(first.ticket), capture_output=True
    )
    assert done.stdout.strip() == b"[5, 6, 7]", done.stderr


def test_memory_is_gone_with_the_last_who_refers_to_it():
    gc.collect()
    before = n_mapped()
    first = Segment.create()
    second = Segment.open(first.ticket, 1)
    array = give(first, "run").columns(COLUMNS)["many"]
    assert n_mapped() > before
    del first, second
    array[:] = 1  # still there
    del array
    gc.collect()
    assert n_mapped() == before
