"""Named linalg operations (`linalg.matmul`, `linalg.copy`, ...) as `linalg.generic`."""

from __future__ import annotations

from relax_mlir.lowering.tir_to_linalg.access import fill
from relax_mlir.mlir import PassManager, ir, operations_named

__all__ = ["generalize_named_operations", "linalg_names"]

_STAY = ("linalg.generic", "linalg.fill", "linalg.yield", "linalg.index")


def generalize_named_operations(module: ir.Module) -> None:
    """Write the named operations of a module as generic ones, all but fills: what a buffer is
    filled with is what sums begin from, and what surrounds a padded image."""
    if not linalg_names(module).difference(_STAY):
        return
    PassManager.parse("builtin.module(func.func(linalg-generalize-named-ops))").run(
        module.operation
    )
    for op in operations_named(module.operation, ("linalg.generic",)):
        if _is_fill(op):
            with ir.InsertionPoint(op), op.location:
                fill(op.operands[1], op.operands[0])
            op.erase()


def linalg_names(module: ir.Module) -> set[str]:
    """The names of the linalg operations in a module."""
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("linalg."):
            names.add(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names


def _is_fill(op: ir.Operation) -> bool:
    """Whether an operation only hands a number on to every element of a buffer."""
    if list(op.attributes["operandSegmentSizes"]) != [1, 1]:
        return False
    value, buffer = op.operands
    if isinstance(value.type, ir.ShapedType) or not isinstance(buffer.type, ir.MemRefType):
        return False
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    block = op.regions[0].blocks[0]
    body = [view.operation for view in block.operations]
    everywhere = maps[1] == ir.AffineMap.get_identity(ir.MemRefType(buffer.type).rank)
    return everywhere and len(body) == 1 and body[0].operands[0] == block.arguments[0]
