"""What code in the llvm dialect needs from its module: C strings, declarations, calls."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.lowering.to_llvm.ffi_text import quote
from relax_mlir.mlir import ir

__all__ = ["call_c", "declare", "pointer_type", "string_address"]


def pointer_type() -> ir.Type:
    """The type of addresses."""
    return ir.Type.parse("!llvm.ptr")


def declare(body: ir.Block, name: str, text: str) -> None:
    """Add a declaration to a module's body unless it has one of that name."""
    for op in body.operations:
        if "sym_name" in op.operation.attributes and symbol_name(op.operation) == name:
            return
    made = ir.Module.parse(text)
    declaration = made.body.operations[0].operation
    declaration.detach_from_parent()
    body.append(declaration)


def string_address(body: ir.Block, text: str) -> ir.Value:
    """The address of a C string, at the insertion point."""
    name = f"__ffi_str_{hashlib.sha1(text.encode()).hexdigest()[:16]}"
    size = len(text.encode()) + 1
    declare(
        body,
        name,
        f'llvm.mlir.global internal constant @{name}("{quote(text)}\\00") '
        f"{{addr_space = 0 : i32}} : !llvm.array<{size} x i8>",
    )
    return ir.Operation.create(
        "llvm.mlir.addressof",
        results=[pointer_type()],
        attributes={"global_name": ir.FlatSymbolRefAttr.get(name)},
    ).result


def call_c(name: str, operands: Sequence[ir.Value], result: ir.Type | None) -> ir.Value | None:
    """Call a declared C function, at the insertion point."""
    made = ir.Operation.create(
        "llvm.call",
        results=[] if result is None else [result],
        operands=list(operands),
        attributes={
            "callee": ir.FlatSymbolRefAttr.get(name),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        },
    )
    return None if result is None else made.result
