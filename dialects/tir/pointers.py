"""Memory by address: buffers on storage that exists, addresses of buffers, constant storage.

Programs that TVM has lowered, or that call hardware intrinsics, name memory by pointers.  An
address is an `!llvm.ptr`.  No `from __future__ import annotations`: the bindings evaluate the
annotations.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.mlir import dynamic, ext, ir


class PointerOperation(Tir.Operation):
    """Base of the operations on addresses."""

    @property
    def _first(self) -> ir.Type:
        # Read without segment sizes, which text may leave out for a single group.
        return self.operation.operands[0].type

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"{self.operation.name}: {message}")
        return False


class BufferDataOp(PointerOperation, name="buffer_data"):
    """`A.data`: the address of a buffer's storage."""

    buffer: ext.Operand[Any]
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        if not isinstance(self.buffer.type, ir.MemRefType):
            return self._fail(f"takes a memref, not {self.buffer.type}")
        if not is_pointer(self.operation.results[0].type):
            return self._fail(f"gives an !llvm.ptr, not {self.operation.results[0].type}")
        return True


class AddressOfOp(PointerOperation, name="address_of"):
    """`T.address_of(A[i, j])`: the address of an element.

    Discardable: `lanes`, where the element is the first of a vector.
    """

    buffer: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind = self._first
        rank = kind.rank if isinstance(kind, ir.MemRefType) else -1
        given = len(self.operation.operands) - 1
        if rank != given:
            return self._fail(f"one index a dimension of {kind}, {given} given")
        if not is_pointer(self.operation.results[0].type):
            return self._fail(f"gives an !llvm.ptr, not {self.operation.results[0].type}")
        return True


class DeclBufferOp(PointerOperation, name="decl_buffer"):
    """`T.decl_buffer(shape, dtype, data=pointer)`: storage that exists, seen as a buffer.

    `scope` and the discardable attributes are those of `tir.alloc_buffer`.
    """

    scope: ir.StringAttr
    data: ext.Operand[Any]
    sizes: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind = self.operation.results[0].type
        if not is_pointer(self._first):
            return self._fail(f"takes an !llvm.ptr, not {self._first}")
        if not isinstance(kind, ir.MemRefType):
            return self._fail(f"makes a memref, not {kind}")
        wanted = sum(size == dynamic() for size in kind.shape)
        given = len(self.operation.operands) - 1
        if wanted != given:
            return self._fail(f"{kind} has {wanted} dynamic sizes, {given} given")
        return True


class AllocConstOp(PointerOperation, name="alloc_const"):
    """`T.allocate_const(values, dtype, shape)`: storage that holds constants.

    Discardable: `dtype`, the TVM dtype when it is not the one of the signless element type.
    """

    value: Any
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind, held = self.operation.results[0].type, ir.DenseElementsAttr(self.value).type
        if not isinstance(kind, ir.MemRefType):
            return self._fail(f"makes a memref, not {kind}")
        shaped = ir.ShapedType(held)
        if list(shaped.shape) != list(kind.shape) or shaped.element_type != kind.element_type:
            return self._fail(f"{held} does not fill {kind}")
        return True


def is_pointer(kind: ir.Type) -> bool:
    """Whether a type is that of addresses."""
    return str(kind) == "!llvm.ptr"
