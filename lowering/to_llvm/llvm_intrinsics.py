"""LLVM's intrinsics called by name: `T.call_llvm_pure_intrin("int32x16", "llvm.x86...", ...)`."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.mlir import ir, vector

_NAMED = ("call_llvm_pure_intrin", "call_llvm_intrin")
_LOOKUP = "llvm_lookup_intrinsic_id"


def intrinsic_name(op: ir.Operation) -> str | None:
    """The LLVM intrinsic that a `tir.call` calls, by its name or by looking it up."""
    callee = ir.StringAttr(op.attributes["callee"]).value
    if callee.startswith("llvm.") and "extern" in ir.StringAttr(op.attributes["kind"]).value:
        return callee
    if callee not in _NAMED or not len(op.operands):
        return None
    owner = op.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tir.call":
        return None
    lookup = owner.operation
    literals = ir.ArrayAttr(lookup.attributes["literals"])
    known = ir.StringAttr(lookup.attributes["callee"]).value == _LOOKUP and len(literals) == 1
    return ir.StringAttr(literals[0]).value if known else None


def lower_intrinsics(calls: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Replace the calls of LLVM intrinsics by `llvm.call_intrinsic`; the other calls."""
    others: list[ir.Operation] = []
    lookups: list[ir.Operation] = []
    for op in calls:
        name = intrinsic_name(op)
        if name is not None:
            first = int(ir.StringAttr(op.attributes["callee"]).value in _NAMED)
            _call_intrinsic(op, name, list(op.operands)[first:])
        elif ir.StringAttr(op.attributes["callee"]).value == _LOOKUP:
            lookups.append(op)
        else:
            others.append(op)
    for op in lookups:
        if any(True for _ in op.results[0].uses):
            others.append(op)
        else:
            op.erase()
    return others


_DOT_BITS = {"vpdpbus": 8, "vpdpwss": 16}
"""Dot products take vectors of their small factors; TVM's programs pass the 32 bits of a lane."""


def _as_factors(name: str, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    bits = next((b for part, b in _DOT_BITS.items() if f".{part}" in name), None)
    if bits is None:
        return list(operands)
    found = list(operands[:1])
    for operand in operands[1:]:
        kind = ir.VectorType(operand.type)
        width = ir.IntegerType(kind.element_type).width
        element = ir.IntegerType.get_signless(bits)
        wanted = ir.VectorType.get([kind.shape[0] * width // bits], element)
        at = ir.InsertionPoint(op)
        found.append(
            operand
            if wanted == kind
            else vector.BitCastOp(wanted, operand, loc=op.location, ip=at).result
        )
    return found


def _call_intrinsic(op: ir.Operation, name: str, operands: Sequence[ir.Value]) -> None:
    operands = _as_factors(name, op, operands)
    made = ir.Operation.create(
        "llvm.call_intrinsic",
        results=[r.type for r in op.results],
        operands=list(operands),
        attributes={
            "intrin": ir.StringAttr.get(name),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        },
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    for old, new in zip(op.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
