"""Calls that leave the program.  No `from __future__ import annotations`: the bindings evaluate
the annotations."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.dialects.variadic import variadic
from relax_mlir.mlir import ext, ir

CALL_KINDS = ("extern", "pure_extern", "packed", "intrinsic", "function")


@variadic
class VariadicOperation(Tir.Operation):
    """Base of operations that take any number of values."""


class CallOp(VariadicOperation, name="call"):
    """`T.call_extern`, `T.call_packed`, an intrinsic that has no counterpart in MLIR, or a call of
    another function of the module (kind "function").

    `kind` is one of CALL_KINDS, `callee` the function's name.  `literals` has an entry for each
    argument: a string argument itself, or unit where the next operand is the argument.
    Discardable: `dtype`, the TVM dtype of an unsigned result; `buffer_dtypes`, those of the
    arguments that are buffers ("" for others).
    """

    kind: ir.StringAttr
    callee: ir.StringAttr
    literals: ir.ArrayAttr
    operands_: Sequence[ext.Operand[Any]]
    results_: Sequence[ext.Result[Any]]

    def verify_invariants(self) -> bool:
        if self.kind.value not in CALL_KINDS:
            return self._fail(f"kind '{self.kind.value}' is none of {', '.join(CALL_KINDS)}")
        units = sum(isinstance(entry, ir.UnitAttr) for entry in self.literals)
        if units != len(self.operands_):
            return self._fail(f"literals leave room for {units} operands, not for the given ones")
        if len(self.results_) > 1:
            return self._fail("at most one result")
        return True

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"tir.call @{self.callee.value}: {message}")
        return False
