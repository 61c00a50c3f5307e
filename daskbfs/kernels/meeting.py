"""Where processes of one machine meet between levels: lines of numbers in memory that they share.

Each participant has a line for every other turn: the number of the turn, and what it has to say,
as float64. It writes what it says, then the turn; whoever waits for all lines to have the turn can
read them all. The lines of a turn are written again two turns later, when every participant has
come to the turn between, and so has read them. Nothing is locked, so a participant that dies leaves
nothing to repair: others wait in vain until their patience ends, or until somebody aborts.

A participant spins for a bounded time and then sleeps on the line that it waits for (a *futex*), so
that one without a core of its own is not waited for by burning one. The head counts the sleepers:
who writes a turn wakes them, where there are any.

Sharing takes 1 to 2 µs a turn, where mail between processes takes some milliseconds.
"""

from __future__ import annotations

import platform
import sys

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from daskbfs.kernels.bitmap import item_address
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.cpu.clock import seconds_now
from daskbfs.kernels.thread_pool import pause

LINE_WORDS = 8
HEAD_WORDS = 32  # two pairs of cache lines: flags that hardly change, and a counter that does
N_SAID = LINE_WORDS - 1
"""Numbers that fit a line."""
ABORTED, SLEEPERS, COUNTER = 0, 1, 16  # places in the head
MET, PATIENCE_OVER, ABORT = 0, 1, 2
"""How waiting ends."""

_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), -1)  # the system call's number
_WAIT, _WAKE = 0, 1
_ALL = 2**31 - 1
_ROUND = 64  # pauses between two looks at the clock
_NAP_SECONDS = 0.02  # the longest sleep without a look at the head: nobody may be there to wake us


def can_meet() -> bool:
    """Whether this system has what it takes."""
    return sys.platform == "linux" and _FUTEX > 0


def n_words(n_participants: int) -> int:
    """Words of a meeting place: the head, and two lines for each participant."""
    return HEAD_WORDS + 2 * n_participants * LINE_WORDS


@intrinsic
def load_acquire(typingctx, words, index):
    """A word; what was written before it was is seen from now on."""

    def codegen(context, builder, signature, args):
        address = item_address(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(words, types.intp), codegen


@intrinsic
def store_release(typingctx, words, index, value):
    """Write a word after all that was written before."""

    def codegen(context, builder, signature, args):
        address = item_address(context, builder, signature.args[0], args[0], args[1])
        builder.atomic_rmw("xchg", address, args[2], "seq_cst")
        return context.get_dummy_value()

    return types.none(words, types.intp, types.int64), codegen


@intrinsic
def add_in_order(typingctx, words, index, value):
    """Add to a word, in one order for all threads; returns what it was."""

    def codegen(context, builder, signature, args):
        address = item_address(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", address, args[2], "seq_cst")

    return types.int64(words, types.intp, types.int64), codegen


@intrinsic
def swap_in_order(typingctx, words, index, expected, new):
    """Whether a word was as expected, and now is the new one."""

    def codegen(context, builder, signature, args):
        address = item_address(context, builder, signature.args[0], args[0], args[1])
        pair = builder.cmpxchg(address, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(words, types.intp, types.int64, types.int64), codegen


@intrinsic
def _futex(typingctx, words, index, operation, value, nanoseconds):
    """The system call on the low half of a word; it ends after so many nanoseconds at most."""
    low_half = 0 if sys.byteorder == "little" else 1

    def codegen(context, builder, signature, args):
        long, half = ir.IntType(64), ir.IntType(32)
        address = item_address(context, builder, signature.args[0], args[0], args[1])
        there = builder.gep(builder.bitcast(address, half.as_pointer()), [half(low_half)])
        moment = cgutils.alloca_once(builder, ir.LiteralStructType([long, long]))
        builder.store(long(0), cgutils.gep_inbounds(builder, moment, 0, 0))
        builder.store(args[4], cgutils.gep_inbounds(builder, moment, 0, 1))
        kind = ir.FunctionType(long, [long], var_arg=True)
        call = cgutils.get_or_insert_function(builder.module, kind, "syscall")
        nothing = long(0)
        words = [
            long(_FUTEX),
            builder.ptrtoint(there, long),
            args[2],
            args[3],
            builder.ptrtoint(moment, long),
            nothing,
            nothing,
        ]
        return builder.call(call, words)

    signature = types.int64(words, types.intp, types.int64, types.int64, types.int64)
    return signature, codegen


@inlined
def line_of(turn, participant, n_participants):
    """Where a participant's line of a turn begins."""
    return HEAD_WORDS + ((turn & 1) * n_participants + participant) * LINE_WORDS


@inlined
def wake_all(place, index):
    """Wake who sleeps on a word, where anybody sleeps at all."""
    if load_acquire(place, SLEEPERS) > 0:
        _futex(place, index, _WAKE, _ALL, 0)


@inlined
def say(place, turn, participant, n_participants, said):
    """Write a line, and that the participant has come to this turn."""
    line = line_of(turn, participant, n_participants)
    values = place.view(np.float64)
    for k in range(said.size):
        values[line + 1 + k] = said[k]
    store_release(place, line, turn)
    wake_all(place, line)


@inlined
def _wait_for_word(place, index, wanted, n_spins, deadline):
    """Wait until a word has a value, or patience ends, or somebody aborts."""
    for i in range(n_spins):
        if load_acquire(place, index) == wanted:
            return MET
        pause()
        if (i + 1) % _ROUND == 0 and load_acquire(place, ABORTED) != 0:
            return ABORT
    while True:
        if load_acquire(place, ABORTED) != 0:
            return ABORT
        left = deadline - seconds_now()
        if left <= 0:
            return PATIENCE_OVER
        add_in_order(place, SLEEPERS, 1)
        before = load_acquire(place, index)
        if before != wanted:
            nanoseconds = np.int64(1e9 * min(left, _NAP_SECONDS))
            _futex(place, index, _WAIT, before & 0xFFFFFFFF, nanoseconds)
        add_in_order(place, SLEEPERS, -1)
        if load_acquire(place, index) == wanted:
            return MET


@inlined
def wait_for_all(place, turn, n_participants, n_spins, patience_seconds):
    """Wait until all participants have come to a turn; returns how that ended."""
    deadline = seconds_now() + patience_seconds
    for participant in range(n_participants):
        line = line_of(turn, participant, n_participants)
        if load_acquire(place, line) != turn:
            ended = _wait_for_word(place, line, turn, n_spins, deadline)
            if ended != MET:
                return ended
    return MET


@kernel
def say_line(place, turn, participant, n_participants, said):
    """Come to a turn, with a line to be read by all."""
    say(place, turn, participant, n_participants, said)


@kernel
def meet(place, turn, n_participants, n_spins, patience_seconds, heard):
    """Wait for all participants, and read their lines; returns how waiting ended."""
    ended = wait_for_all(place, turn, n_participants, n_spins, patience_seconds)
    if ended == MET:
        values = place.view(np.float64)
        for participant in range(n_participants):
            line = line_of(turn, participant, n_participants) + 1
            for k in range(heard.shape[1]):
                heard[participant, k] = values[line + k]
    return ended


@kernel
def raise_word(place, index, value):
    """Write a word of the head, and wake who sleeps on it."""
    store_release(place, index, value)
    wake_all(place, index)


@kernel
def await_word(place, index, least, n_spins, patience_seconds):
    """Wait until a word of the head is ``least`` or more; returns how waiting ended."""
    deadline = seconds_now() + patience_seconds
    while True:
        now = load_acquire(place, index)
        if now >= least:
            return MET
        left = deadline - seconds_now()
        if load_acquire(place, ABORTED) != 0:
            return ABORT
        if left <= 0:
            return PATIENCE_OVER
        for _ in range(n_spins):
            if load_acquire(place, index) != now:
                break
            pause()
        add_in_order(place, SLEEPERS, 1)
        if load_acquire(place, index) == now:
            _futex(place, index, _WAIT, now & 0xFFFFFFFF, np.int64(1e9 * min(left, _NAP_SECONDS)))
        add_in_order(place, SLEEPERS, -1)


@kernel
def store_word(words, index, value):
    """Write a word after all that was written before."""
    store_release(words, index, value)


@kernel
def add_to_word(words, index, value):
    """Add to a word that others add to; returns what it was."""
    return add_in_order(words, index, value)


@kernel
def swap_word(words, index, expected, new):
    """Write a word that is as expected; returns whether it was."""
    return swap_in_order(words, index, expected, new)
