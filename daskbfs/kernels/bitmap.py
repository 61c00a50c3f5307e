"""Bits and bitmaps: sets of vertices as uint64 words, vertex v at bit v % 64 of word v // 64.

The intrinsics below give kernels the machine instructions that numba has no names for. Atomic
updates are relaxed: a step needs each bit to be won by one thread, not an order among bits;
the end of a parallel kernel is the barrier.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from daskbfs.kernels.compile import inlined

WORD_BITS = 64
ONE = np.uint64(1)
EMPTY = np.uint64(0)


@intrinsic
def trailing_zeros(typingctx, word):
    """Index of the lowest set bit of a word that is not zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def leading_zeros(typingctx, word):
    """Number of zero bits above the highest set bit of a word that is not zero."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def popcount(typingctx, word):
    """Number of set bits."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


def item_address(context, builder, array_type, array, index):
    """Address of one item of a one-dimensional array."""
    view = make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(
        context, builder, array_type, view, [index], wraparound=False, boundscheck=False
    )


def _atomic(operation):
    def typed(typingctx, array, index, value):
        def codegen(context, builder, signature, args):
            address = item_address(context, builder, signature.args[0], args[0], args[1])
            return builder.atomic_rmw(operation, address, args[2], "monotonic")

        return array.dtype(array, types.intp, array.dtype), codegen

    return typed


@intrinsic
def compare_and_swap(typingctx, array, index, expected, new):
    """Whether an item was as expected, and now is the new one."""

    def codegen(context, builder, signature, args):
        address = item_address(context, builder, signature.args[0], args[0], args[1])
        pair = builder.cmpxchg(address, args[2], args[3], "monotonic", "monotonic")
        return builder.extract_value(pair, 1)

    signature = types.boolean(array, types.intp, array.dtype, array.dtype)
    return signature, codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Have the cache line of an item brought in, without waiting for it."""

    def codegen(context, builder, signature, args):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = item_address(context, builder, signature.args[0], args[0], args[1])
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        to_be_read, keep, data = number(0), number(3), number(1)
        builder.call(fetch, [builder.bitcast(address, pointer), to_be_read, keep, data])
        return context.get_dummy_value()

    return types.none(array, types.intp), codegen


atomic_or = intrinsic(_atomic("or"))
atomic_add = intrinsic(_atomic("add"))


@inlined
def shared_counter():
    """A zero that threads add to; made here, because numba folds reads of a local np.zeros."""
    return np.zeros(1, np.int64)
