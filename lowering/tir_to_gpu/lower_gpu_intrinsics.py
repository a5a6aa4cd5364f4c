"""`tir-lower-gpu-intrinsics`: what programs say of threads and warps themselves.

T.tvm_storage_sync("shared")        gpu.barrier
T.tvm_warp_shuffle_down(...) ...    gpu.shuffle
T.atomic_add, atomicAdd, ...        memref.atomic_rmw
__dp4a                              a dot product of four bytes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir.symbolic import argument_attributes
from relax_mlir.lowering.tir_to_gpu.fragments import (
    erase_unused,
    integer_index,
    pointer_place,
    view_place,
)
from relax_mlir.lowering.tir_to_gpu.kernel_roots import callee_of, function_name, inside
from relax_mlir.lowering.tir_to_gpu.shuffles import shuffle
from relax_mlir.mlir import arith, ir, vector
from relax_mlir.tir.schedule.index_write import write

__all__ = ["LowerGpuIntrinsics"]

_Handler = Callable[[ir.Operation], "ir.Value | None"]


@register_pass("tir-lower-gpu-intrinsics")
@dataclass(frozen=True)
class LowerGpuIntrinsics(Pass):
    """Lower calls of synchronisation, shuffles and atomic operations."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" not in function.attributes:
                continue
            found = [op for op in inside(function) if callee_of(op) in _HANDLERS]
            for op in found:
                with ir.InsertionPoint(op), op.location:
                    result = _HANDLERS[callee_of(op)](op)
                if len(op.results) and result is not None:
                    op.results[0].replace_all_uses_with(result)
                op.erase()
            if found:
                erase_unused(function)


def _sync(op: ir.Operation) -> ir.Value | None:
    scope = ir.StringAttr(ir.ArrayAttr(op.attributes["literals"])[0]).value
    if scope == "warp":
        mask = arith.constant(ir.IntegerType.get_signless(32), -1)
        ir.Operation.create("nvvm.bar.warp.sync", operands=[mask])
    elif scope.startswith("shared"):
        ir.Operation.create(
            "gpu.barrier",
            attributes={"scope": ir.Attribute.parse("#gpu.barrier_scope<workgroup>")},
        )
    else:
        raise CompileError(
            f"{function_name(op)}: tvm_storage_sync of {scope!r}: the threads of different blocks "
            "cannot wait for each other in a kernel",
            hint="split the program into two kernels: bind blockIdx in two nests",
        )
    return _unused_result(op)


def _unused_result(op: ir.Operation) -> ir.Value | None:
    if not len(op.results) or not any(True for _ in op.results[0].uses):
        return None
    return arith.constant(op.results[0].type, 0)


def _active_mask(op: ir.Operation) -> ir.Value:
    return arith.constant(op.results[0].type, -1)


def _shuffle(mode: str) -> _Handler:
    def lower(op: ir.Operation) -> ir.Value:
        _, value, offset, width, _ = op.operands
        known = integer_index(width).as_constant()
        if known is None or known not in (1, 2, 4, 8, 16, 32):
            raise CompileError(
                f"{function_name(op)}: the width of a warp shuffle is a constant power of two",
                hint="up to 32, the threads of a warp",
            )
        return shuffle(value, mode, offset, known)

    return lower


# -- atomic operations ----------------------------------------------------------------------------


def _atomic(kind: str) -> _Handler:
    def lower(op: ir.Operation) -> ir.Value:
        pointer, value = list(op.operands)[:2]
        place = pointer_place(pointer)
        at = ir.InsertionPoint.current
        indices = [write(i, at, op.location) for i in place.indices]
        element = ir.MemRefType(place.buffer.type).element_type
        is_float = not isinstance(element, ir.IntegerType)
        chosen = _ATOMIC_KINDS[kind][is_float]
        if chosen is None:
            raise CompileError(f"{function_name(op)}: no atomic {kind} of {element}")
        i64 = ir.IntegerType.get_signless(64)
        return ir.Operation.create(
            "memref.atomic_rmw",
            results=[element],
            operands=[value, place.buffer, *indices],
            attributes={"kind": ir.IntegerAttr.get(i64, chosen)},
        ).results[0]

    return lower


# Numbers of arith.AtomicRMWKind for (integers, floats).
_KIND = arith.AtomicRMWKind
_ATOMIC_KINDS: dict[str, tuple[int | None, int | None]] = {
    "add": (int(_KIND.addi), int(_KIND.addf)),
    "max": (int(_KIND.maxs), int(_KIND.maximumf)),
    "min": (int(_KIND.mins), int(_KIND.minimumf)),
    "and": (int(_KIND.andi), None),
    "or": (int(_KIND.ori), None),
    "exchange": (int(_KIND.assign), int(_KIND.assign)),
}


def _dot_of_bytes(op: ir.Operation) -> ir.Value:
    a, b, total = op.operands
    i32 = ir.IntegerType.get_signless(32)
    for n in range(4):
        a_part, b_part = (_byte(op, value, n, i32) for value in (a, b))
        total = arith.addi(total, arith.muli(a_part, b_part))
    return total


def _byte(op: ir.Operation, value: ir.Value, number: int, kind: ir.Type) -> ir.Value:
    """A byte of a factor, signed or not as the buffer that it was loaded from."""
    if not isinstance(value.type, ir.VectorType) or value.type.shape != [4]:
        raise CompileError(
            f"{function_name(op)}: __dp4a of {value.type}",
            hint='load the factors as four bytes: A.vload([0], "int8x4")',
        )
    widen = arith.extui if _is_unsigned(value) else arith.extsi
    return widen(kind, vector.extract(value, [], [number]))


def _is_unsigned(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "vector.load":
        return False
    buffer = view_place(owner.operation.operands[0]).buffer
    made = buffer.owner
    if isinstance(made, ir.Block):
        attributes: Any = argument_attributes(ir.BlockArgument(buffer))
        key = "tir.dtype"
    else:
        attributes, key = made.operation.attributes, "dtype"
    return key in attributes and ir.StringAttr(attributes[key]).value.startswith("uint")


_HANDLERS: dict[str, _Handler] = {
    "tvm_storage_sync": _sync,
    "tvm_warp_activemask": _active_mask,
    "tvm_warp_shuffle": _shuffle("idx"),
    "tvm_warp_shuffle_up": _shuffle("up"),
    "tvm_warp_shuffle_down": _shuffle("down"),
    "tvm_warp_shuffle_xor": _shuffle("xor"),
    "atomic_add": _atomic("add"),
    "atomicAdd": _atomic("add"),
    "atomicMax": _atomic("max"),
    "atomicMin": _atomic("min"),
    "atomicAnd": _atomic("and"),
    "atomicOr": _atomic("or"),
    "atomicExch": _atomic("exchange"),
    "__dp4a": _dot_of_bytes,
}
