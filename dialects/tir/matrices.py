"""Matrices in shared memory that `wgmma` reads.  No `from __future__ import annotations`: the
bindings evaluate the annotations."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.mlir import ext, ir

SWIZZLED_BYTES = 128
"""The rows whose chunks of 16 bytes are swizzled: chunk c of row r lies at c xor r mod 8."""

_ELEMENT_BITS = 16


class MatrixDescriptorOp(Tir.Operation, name="matrix_descriptor"):
    """The descriptor (i64) by which `wgmma` reads a matrix that begins at an element of a buffer in
    shared memory, whose rows of 128 bytes are swizzled.

    `leading` and `stride` are the bytes between groups of 64 elements along the rows or columns,
    where those lie beside each other, and between groups of eight rows of memory.
    """

    leading: ir.IntegerAttr
    stride: ir.IntegerAttr
    buffer: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        operands = list(self.operation.operands)
        kind = operands[0].type
        if not isinstance(kind, ir.MemRefType) or kind.rank != len(operands) - 1:
            return self._fail(f"one index a dimension of {kind}, {len(operands) - 1} given")
        if getattr(kind.element_type, "width", 0) != _ELEMENT_BITS:
            return self._fail(f"reads elements of 16 bits, not {kind.element_type}")
        if self.operation.results[0].type != ir.IntegerType.get_signless(64):
            return self._fail(f"gives an i64, not {self.operation.results[0].type}")
        return True

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"{self.operation.name}: {message}")
        return False
