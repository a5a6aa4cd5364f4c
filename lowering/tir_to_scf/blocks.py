"""Blocks become their bodies: iteration variables their bindings, predicates branches."""

from __future__ import annotations

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.lowering.tir_to_scf.structure import branch, index_value, move_before
from relax_mlir.mlir import arith, ir

__all__ = ["contract_products", "first_step", "lower_block"]


def lower_block(op: ir.Operation) -> None:
    """Replace a `tir.block`, whose body is lowered, by that body."""
    block = op.opview
    assert isinstance(block, BlockOp), op.name
    for variable, binding in zip(block.iter_vars, block.bindings, strict=True):
        variable.replace_all_uses_with(binding)
    anchor = op
    if len(block.predicate):
        anchor = branch(block.predicate[0])
    for view in list(block.block.operations):
        inner = view.operation
        if inner.name in ("tir.read", "tir.write"):
            inner.erase()
        elif inner.name == "tir.init":
            _lower_init(block, inner)
    move_before(block.block, anchor)
    op.erase()


def _lower_init(block: BlockOp, init: ir.Operation) -> None:
    """Run the initialisation at the first step of every reduction."""
    with ir.InsertionPoint(init):
        condition: ir.Value | None = None
        for binding, start in first_step(block):
            first = arith.cmpi(arith.CmpIPredicate.eq, binding, index_value(start))
            condition = first if condition is None else arith.andi(condition, first)
        anchor = init if condition is None else branch(condition)
    move_before(init.regions[0].blocks[0], anchor)
    init.erase()


def first_step(block: BlockOp) -> list[tuple[ir.Value, int | ir.Value]]:
    """(binding, start) of every reduction variable: all equal at the step that initialises."""
    return [
        (binding, start)
        for kind, binding, (start, _) in zip(
            block.kinds, block.bindings, block.domain_pairs, strict=True
        )
        if kind == "R"
    ]


def contract_products(block: BlockOp) -> None:
    """Let the sum of products that a reduction accumulates be fused multiply-adds.

    Only the product that is added to the accumulator is marked, as in the kernels that are made
    from linalg; other arithmetic rounds after every operation.
    """
    if all(kind == "S" for kind in block.kinds):
        return
    for view in block.block.operations:
        add = view.operation
        if add.name != "arith.addf":
            continue
        for product in add.operands:
            maker = product.owner
            if isinstance(maker, ir.Block) or maker.operation.name != "arith.mulf":
                continue
            if sum(1 for _ in product.uses) == 1:
                flags = ir.Attribute.parse("#arith.fastmath<contract>")
                maker.operation.attributes["fastmath"] = flags
                add.attributes["fastmath"] = flags
