"""`memref-check-allocations`: large temporaries of kernels are asked for before they are used.

A kernel cannot leave in the middle, and what `malloc` gives when it fails must not be written to.
So what follows an allocation runs only when the memory is there; otherwise the error stays raised
in the thread, and the function is marked (`ffi.may_raise`) for its callers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.ffi_signature import MAY_RAISE, is_prim_func
from relax_mlir.lowering.to_llvm.ffi_support import SUPPORT_SYMBOLS
from relax_mlir.mlir import arith, dynamic, ir, scf

__all__ = ["CheckAllocations"]

_RESERVE = "relax_ffi_reserve"


@register_pass("memref-check-allocations")
@dataclass(frozen=True)
class CheckAllocations(Pass):
    """Run what follows a large allocation of a kernel only when there is memory for it.

    small_bytes: allocations of fixed size up to this one are not checked.
    """

    small_bytes: int = 1 << 26

    def run(self, state: ModuleState) -> None:
        checked = False
        for function in state.functions():
            if not is_prim_func(function):
                continue
            for op in reversed(list(function.regions[0].blocks[0].operations)):
                if op.operation.name == "memref.alloc" and self._is_large(op.operation):
                    _guard(op.operation)
                    function.attributes[MAY_RAISE] = ir.UnitAttr.get()
                    checked = True
        if checked:
            _declare(state)

    def _is_large(self, op: ir.Operation) -> bool:
        kind = ir.MemRefType(op.results[0].type)
        width = _element_bytes(kind)
        return not kind.has_static_shape or math.prod(kind.shape) * width > self.small_bytes


def _element_bytes(kind: ir.MemRefType) -> int:
    return (getattr(kind.element_type, "width", 64) + 7) // 8


def _guard(op: ir.Operation) -> None:
    """Move the allocation and all that follows under the condition that there is memory."""
    operations = list(op.block.operations)
    following = [o.operation for o in operations if o.operation == op or op.is_before_in_block(o)]
    with ir.InsertionPoint(op), op.location:
        flag = ir.IntegerType.get_signless(1)
        callee = {"callee": ir.FlatSymbolRefAttr.get(_RESERVE)}
        segments = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        }
        call = ir.Operation.create(
            "llvm.call", results=[flag], operands=[_bytes(op)], attributes={**callee, **segments}
        )
        branch = scf.IfOp(call.result)
        with ir.InsertionPoint(branch.then_block):
            end = scf.YieldOp([])
    for moved in following[:-1]:
        moved.move_before(end.operation)


def _bytes(op: ir.Operation) -> ir.Value:
    """The size of an allocation as an i64."""
    kind = ir.MemRefType(op.results[0].type)
    index = ir.IndexType.get()
    fixed = math.prod(size for size in kind.shape if size != dynamic()) * _element_bytes(kind)
    total = arith.constant(index, fixed)
    for size in op.operands:
        total = arith.muli(total, size)
    return arith.index_cast(ir.IntegerType.get_signless(64), total)


def _declare(state: ModuleState) -> None:
    for op in state.module.body.operations:
        name = op.operation.attributes.get("sym_name")
        if name is not None and ir.StringAttr(name).value == _RESERVE:
            return
    made = ir.Module.parse(f"llvm.func @{_RESERVE}{SUPPORT_SYMBOLS[_RESERVE]}")
    declaration = made.body.operations[0].operation
    declaration.detach_from_parent()
    state.module.body.append(declaration)
