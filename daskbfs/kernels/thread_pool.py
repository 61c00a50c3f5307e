"""A pool of threads for kernels: ``in_parallel`` runs one function on many parts of some work.

The thread that calls a kernel always takes part in its work. Helper threads claim parts that are
not begun yet, and the caller waits only for parts that were begun. So a helper that gets no core,
because another process has it, delays nothing, where an OpenMP barrier waits for all its threads.
Helpers without work spin for a bounded time, then sleep; so does a caller that waits.

A part runs once, on any thread, in any order, alone or beside others: parts must not wait for each
other. A kernel with one part runs it in the calling thread and touches nothing here.

All state lies in one block of memory that is never freed. Compiled code knows it by the symbol
``daskbfs_thread_pool``, which each process defines anew (:mod:`daskbfs.kernels.threads`), so that
compiled kernels can be cached on disk. The block holds:

- a slot for each kernel that is running: the function, its data, how many parts are finished, and a
  ticket: generation, number of parts and next part in one word, claimed by compare-and-swap;
- a cell for each helper: what it is doing, and the semaphore that wakes it.
"""

from __future__ import annotations

import platform

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

SYMBOL = "daskbfs_thread_pool"
N_SLOTS = 16  # kernels that can share the pool at once; one more runs all its parts itself
MOST_HELPERS = 1024
_LINE = 16  # words of 64 bits: two cache lines, which are fetched together

# places of words: in the head, in a slot, in a helper's cell
_POSTED, SPINS, N_HELPERS, RUN, _SLOTS = 0, _LINE, _LINE + 1, _LINE + 2, 2 * _LINE
_TICKET, _OWNER, _FUNCTION, _DATA, _FINISHED, _DONE = 0, 1, 2, 3, _LINE, _LINE + 1
_SLOT_WORDS = 2 * _LINE
_STATE, _WAKE = 0, 1
_CELL_WORDS = _LINE
_CELLS = _SLOTS + N_SLOTS * _SLOT_WORDS
N_WORDS = _CELLS + MOST_HELPERS * _CELL_WORDS
DONE_SEMAPHORES = [_SLOTS + s * _SLOT_WORDS + _DONE for s in range(N_SLOTS)]
WAKE_SEMAPHORES = [_CELLS + h * _CELL_WORDS + _WAKE for h in range(MOST_HELPERS)]

_WORKING, _SPINNING, _ASLEEP = 0, 1, 2
_ASLEEP_BIT = 1 << 32  # of a slot's _FINISHED: the caller sleeps
_PART_BITS = 16
_PART_MASK = (1 << _PART_BITS) - 1

_word = ir.IntType(64)


@intrinsic
def _address_of(typingctx, index):
    """The address of a word of the pool."""

    def codegen(context, builder, signature, args):
        there = builder.module.globals.get(SYMBOL)
        if there is None:
            there = ir.GlobalVariable(builder.module, _word, SYMBOL)
        return builder.add(builder.ptrtoint(there, _word), builder.mul(args[0], _word(8)))

    return types.int64(types.int64), codegen


def _pointer(builder, index_address):
    return builder.inttoptr(index_address, _word.as_pointer())


@intrinsic
def _load(typingctx, address):
    def codegen(context, builder, signature, args):
        return builder.load_atomic(_pointer(builder, args[0]), "seq_cst", 8)

    return types.int64(types.int64), codegen


@intrinsic
def _store(typingctx, address, value):
    def codegen(context, builder, signature, args):
        builder.store_atomic(args[1], _pointer(builder, args[0]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), codegen


def _updated(operation):
    def typed(typingctx, address, value):
        def codegen(context, builder, signature, args):
            return builder.atomic_rmw(operation, _pointer(builder, args[0]), args[1], "seq_cst")

        return types.int64(types.int64, types.int64), codegen

    return typed


_fetch_add = intrinsic(_updated("add"))
_exchange = intrinsic(_updated("xchg"))


@intrinsic
def _compare_and_swap(typingctx, address, expected, new):
    """Whether the word was as expected, and now is the new one."""

    def codegen(context, builder, signature, args):
        pointer = _pointer(builder, args[0])
        pair = builder.cmpxchg(pointer, args[1], args[2], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(types.int64, types.int64, types.int64), codegen


@intrinsic
def pause(typingctx):
    """Tell the core that this thread is spinning."""
    machine = platform.machine()

    def codegen(context, builder, signature, args):
        void = ir.VoidType()
        if machine == "x86_64":
            kind = ir.FunctionType(void, [])
            builder.call(
                cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), []
            )
        elif machine == "aarch64":
            kind, hint = ir.FunctionType(void, [ir.IntType(32)]), ir.IntType(32)(1)
            builder.call(
                cgutils.get_or_insert_function(builder.module, kind, "llvm.aarch64.hint"), [hint]
            )
        return context.get_dummy_value()

    return types.none(), codegen


def _semaphore_call(name):
    def typed(typingctx, address):
        def codegen(context, builder, signature, args):
            kind = ir.FunctionType(ir.IntType(32), [_word])
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            return builder.call(function, args)

        return types.int32(types.int64), codegen

    return typed


_sem_wait = intrinsic(_semaphore_call("sem_wait"))
_sem_post = intrinsic(_semaphore_call("sem_post"))


@intrinsic
def _bind(typingctx, function, arguments):
    """A function with its arguments, as two addresses: what to call, and the data to give it.

    The data lives as long as the frame of the caller. Its first word counts parts that failed.
    """
    part_types = (types.int64, types.int64, *arguments.types)
    signature = function.get_call_type(typingctx, part_types, {})

    def codegen(context, builder, outer, args):
        arguments_type = outer.args[1]
        layout = ir.LiteralStructType([_word, context.get_value_type(arguments_type)])
        data = cgutils.alloca_once(builder, layout)
        builder.store(_word(0), cgutils.gep_inbounds(builder, data, 0, 0))
        builder.store(args[1], cgutils.gep_inbounds(builder, data, 0, 1))
        task = _task(context, builder, function, signature, layout, arguments_type)
        addresses = [builder.ptrtoint(task, _word), builder.ptrtoint(data, _word)]
        return context.make_tuple(builder, outer.return_type, addresses)

    return types.UniTuple(types.int64, 2)(function, arguments), codegen


def _task(context, builder, function, signature, layout, arguments_type):
    """A plain function of (data, part, n_parts), for any thread to call."""
    name = context.mangler(f"part_of_{builder.function.name}", [])
    plain = ir.FunctionType(ir.VoidType(), [_word, _word, _word])
    task = ir.Function(builder.module, plain, name=builder.module.get_unique_name(name))
    task.linkage = "internal"
    inner = ir.IRBuilder(task.append_basic_block("entry"))
    address, part, n_parts = task.args
    data = inner.inttoptr(address, layout.as_pointer())
    packed = inner.load(cgutils.gep_inbounds(inner, data, 0, 1))
    values = [inner.extract_value(packed, i) for i in range(len(arguments_type.types))]
    # the callee's own calling convention tells whether it failed; a thread has no caller to tell
    overload = function.dispatcher.overloads[signature.args]
    context.active_code_library.add_linking_library(overload.library)
    declared = context.declare_function(builder.module, overload.fndesc)
    status, _ = context.call_conv.call_function(
        inner, declared, signature.return_type, signature.args, [part, n_parts, *values]
    )
    with cgutils.if_unlikely(inner, status.is_error):
        failed = cgutils.gep_inbounds(inner, data, 0, 0)
        inner.atomic_rmw("add", failed, _word(1), "seq_cst")
    inner.ret_void()
    return task


@intrinsic
def _call(typingctx, address, first, second, third):
    """Call a plain function of three words."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(ir.VoidType(), [_word, _word, _word])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def _word_at(typingctx, address):
    def codegen(context, builder, signature, args):
        return builder.load(_pointer(builder, args[0]))

    return types.int64(types.int64), codegen


@intrinsic
def _keep_until_here(typingctx, arguments):
    """Nothing, but a last use: what is not used any more is freed, arrays in a tuple with it."""

    def codegen(context, builder, signature, args):
        return context.get_dummy_value()

    return types.none(arguments), codegen


_njit = njit(nogil=True, error_model="numpy")


@_njit
def _slot(s):
    return _address_of(_SLOTS + s * _SLOT_WORDS)


@_njit
def _claim(slot):
    """The ticket of a part that no thread has begun, or 0."""
    ticket = _load(slot + 8 * _TICKET)
    while (ticket & _PART_MASK) < ((ticket >> _PART_BITS) & _PART_MASK):
        if _compare_and_swap(slot + 8 * _TICKET, ticket, ticket + 1):
            return ticket
        ticket = _load(slot + 8 * _TICKET)
    return np.int64(0)


@_njit
def _wake(n):
    """See that helpers look for work: those that spin do, others are woken, at most ``n``."""
    n_helpers = _load(_address_of(N_HELPERS))
    for h in range(n_helpers):
        if _load(_address_of(_CELLS + h * _CELL_WORDS + _STATE)) == _SPINNING:
            n -= 1
    for h in range(n_helpers):
        if n <= 0:
            break
        state = _address_of(_CELLS + h * _CELL_WORDS + _STATE)
        if _load(state) == _ASLEEP and _compare_and_swap(state, _ASLEEP, _WORKING):
            _sem_post(_address_of(_CELLS + h * _CELL_WORDS + _WAKE))
            n -= 1


@_njit
def _finish(slot, n_parts, n):
    """Count finished parts; wakes the caller when all are, and it sleeps."""
    finished = _fetch_add(slot + 8 * _FINISHED, n) + n
    if finished == (_ASLEEP_BIT | n_parts):
        _sem_post(slot + 8 * _DONE)


@_njit
def run(task, data, n_parts):
    """Run all parts; this thread has the first, and whatever no helper has begun."""
    s = 0
    while s < N_SLOTS and not _compare_and_swap(_slot(s) + 8 * _OWNER, 0, 1):
        s += 1
    if s == N_SLOTS:
        for part in range(n_parts):
            _call(task, data, part, n_parts)
        return
    slot = _slot(s)
    _store(slot + 8 * _FUNCTION, task)
    _store(slot + 8 * _DATA, data)
    _store(slot + 8 * _FINISHED, 0)
    generation = (_load(slot + 8 * _TICKET) >> (2 * _PART_BITS)) + 1
    _store(slot + 8 * _TICKET, (generation << (2 * _PART_BITS)) | (n_parts << _PART_BITS) | 1)
    _fetch_add(_address_of(_POSTED), 1)
    _wake(min(n_parts - 1, 2))  # who is woken wakes others
    _call(task, data, 0, n_parts)
    n = 1
    ticket = _claim(slot)
    while ticket:
        _call(task, data, ticket & _PART_MASK, n_parts)
        n += 1
        ticket = _claim(slot)
    if _fetch_add(slot + 8 * _FINISHED, n) + n < n_parts:
        _await(slot, n_parts)
    _store(slot + 8 * _OWNER, 0)


@_njit
def _await(slot, n_parts):
    """Wait for the parts that helpers have begun."""
    for _ in range(_load(_address_of(SPINS))):
        if _load(slot + 8 * _FINISHED) == n_parts:
            return
        pause()
    if _fetch_add(slot + 8 * _FINISHED, _ASLEEP_BIT) < n_parts:
        while _sem_wait(slot + 8 * _DONE) != 0:
            pass  # a signal came


@_njit
def _help():
    """Take part in the work of others; returns whether there was any."""
    helped = False
    for s in range(N_SLOTS):
        slot = _slot(s)
        ticket = _claim(slot)
        while ticket:
            helped = True
            n_parts = (ticket >> _PART_BITS) & _PART_MASK
            left = n_parts - (ticket & _PART_MASK) - 1
            if left > 0:
                _wake(min(left, 2))
            task, data = _load(slot + 8 * _FUNCTION), _load(slot + 8 * _DATA)
            _call(task, data, ticket & _PART_MASK, n_parts)
            _finish(slot, n_parts, 1)
            ticket = _claim(slot)
    return helped


@_njit
def serve(number):
    """What a helper does for as long as its process lives."""
    cell = _address_of(_CELLS + number * _CELL_WORDS)
    state, wake = cell + 8 * _STATE, cell + 8 * _WAKE
    while True:
        posted = _load(_address_of(_POSTED))
        if _help():
            continue
        _store(state, _SPINNING)
        for _ in range(_load(_address_of(SPINS))):
            if _load(_address_of(_POSTED)) != posted:
                break
            pause()
        _store(state, _ASLEEP)
        if _load(_address_of(_POSTED)) != posted and _compare_and_swap(state, _ASLEEP, _WORKING):
            continue
        while _sem_wait(wake) != 0:
            pass  # a signal came


@_njit
def spin(n):
    """Pause so often."""
    for _ in range(n):
        pause()


@_njit
def part_of(size, part, n_parts):
    """Where a part of equal shares begins and ends."""
    return size * part // n_parts, size * (part + 1) // n_parts


@njit(inline="always")  # a function that is passed on as a value could not be cached on disk
def in_parallel(function, n_parts, arguments):
    """Run ``function(part, n_parts, *arguments)`` for each part, on as many threads as are free."""
    task, data = _bind(function, arguments)
    shared = _load(_address_of(RUN)) if n_parts > 1 else np.int64(0)
    if shared != 0:
        _call(shared, task, data, np.int64(n_parts))
    else:
        for part in range(n_parts):
            _call(task, data, np.int64(part), np.int64(n_parts))
    failed = _word_at(data) != 0
    _keep_until_here(arguments)
    if failed:
        raise MemoryError("a thread of a kernel failed: there was no memory for its work")
