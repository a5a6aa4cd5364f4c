"""Registered functions as values.  No `from __future__ import annotations`: the bindings evaluate
the annotations."""

from typing import Any

from relax_mlir.dialects.relax.dialect import CallableType, Relax
from relax_mlir.mlir import ext, ir


class ExternFuncOp(Relax.Operation, name="extern_func", traits=[ext.Pure]):
    """`R.ExternFunc("name")` as a value, such as an argument of a call."""

    callee: ir.StringAttr
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind = self.operation.results[0].type
        if isinstance(kind, (CallableType, ir.FunctionType)):
            return True
        self.location.emit_error(f"relax.extern_func: a function is no {kind}")
        return False
