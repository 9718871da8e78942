"""Large read-only arrays, visible to compiled code by name.

A global array used in compiled code is copied into every function that uses it, and into its cache file. Here compiled
code refers to a symbol instead, and the process says at import where that symbol lies: one copy in memory for all
functions, and small cache files that stay valid when the array moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

_kept_alive: dict[str, np.ndarray] = {}


def lookup(name: str, array: np.ndarray) -> Callable[[Any], Any]:
    """A function `f(index)` that reads `array[index]`, in compiled code without a bounds check.

    `array` is one-dimensional and contiguous; `index` is any integer; `name` is unique in the process.
    """
    assert array.ndim == 1 and array.flags.c_contiguous
    symbol = f"wzmj_{name}"
    _kept_alive[symbol] = array
    if config.DISABLE_JIT:
        return lambda index: array[int(index)]
    llvm.add_symbol(symbol, array.ctypes.data)
    element = from_dtype(array.dtype)
    width = array.dtype.itemsize * 8

    @intrinsic
    def read(typing_context, index):  # type: ignore[no-untyped-def]
        if not isinstance(index, types.Integer):
            return None

        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            module = builder.module
            variable = module.globals.get(symbol)
            if variable is None:
                variable = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(width), 0), symbol)
                variable.linkage = "external"
                variable.global_constant = True
            offset = context.cast(builder, arguments[0], signature.args[0], types.int64)
            return builder.load(builder.gep(variable, [ir.Constant(ir.IntType(64), 0), offset]))

        return element(index), codegen

    return read
