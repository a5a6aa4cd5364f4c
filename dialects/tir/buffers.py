"""Buffers.  No `from __future__ import annotations`: the bindings evaluate the annotations."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.dialects.tir.plain import plain
from relax_mlir.mlir import dynamic, ext, ir


@plain
class AllocBufferOp(Tir.Operation, name="alloc_buffer"):
    """`T.alloc_buffer`: a buffer that lives for its block (or function).

    `scope` is TVM's storage scope ("global", "shared", "local", ...).  Discardable: `dtype`, the
    TVM dtype when it is not the one of the signless element type (unsigned integers).
    """

    scope: ir.StringAttr
    sizes: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind = self.result.type
        if not isinstance(kind, ir.MemRefType):
            self.location.emit_error(f"tir.alloc_buffer: makes a memref, not {kind}")
            return False
        wanted = sum(size == dynamic() for size in kind.shape)
        given = len(self.operation.operands)
        if wanted != given:
            self.location.emit_error(
                f"tir.alloc_buffer: {kind} has {wanted} dynamic sizes, {given} given"
            )
            return False
        return True
