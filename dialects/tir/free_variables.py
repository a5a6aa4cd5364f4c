"""Variables that nothing defines.  No `from __future__ import annotations`: the bindings evaluate
the annotations."""

from typing import Any

from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.dialects.tir.pointers import is_pointer
from relax_mlir.mlir import ext, ir


class FreeVariableOp(Tir.Operation, name="free_variable"):
    """`n = T.int32()` where no parameter and no statement gives `n` a value.

    Such a function is a part of a program: it can be analysed, transformed and printed, but not
    compiled.  Discardable: `dtype`, the TVM dtype of an unsigned variable.
    """

    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind = self.operation.results[0].type
        numbers = (ir.IntegerType, ir.FloatType, ir.IndexType)
        if isinstance(kind, numbers) or is_pointer(kind):
            return True
        self.location.emit_error(f"tir.free_variable: a variable is a scalar, not {kind}")
        return False
