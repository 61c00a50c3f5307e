"""The system's clock, for kernels that run many levels in one call: a look takes 25 ns."""

from __future__ import annotations

import sys

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_MONOTONIC = 6 if sys.platform == "darwin" else 1  # the system's number of that clock


@intrinsic
def seconds_now(typingctx):
    """Seconds of a clock that never goes back; its zero means nothing."""

    def codegen(context, builder, signature, args):
        word, double = ir.IntType(64), ir.DoubleType()
        moment = cgutils.alloca_once(builder, ir.LiteralStructType([word, word]))
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), moment.type])
        look = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(look, [ir.IntType(32)(_MONOTONIC), moment])
        seconds, nanoseconds = (
            builder.sitofp(builder.load(cgutils.gep_inbounds(builder, moment, 0, k)), double)
            for k in range(2)
        )
        return builder.fadd(seconds, builder.fmul(nanoseconds, double(1e-9)))

    return types.float64(), codegen
