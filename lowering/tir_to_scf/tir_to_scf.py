"""Lower what is left of TensorIR as it is written: loops become scf loops, blocks their bodies.

Thread-bound loops run one index after the other, so a program bound for a GPU still computes on a
CPU.  Buffers become heap allocations at the top of the function where their sizes allow it.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import arith, ir, memref, scf


@register_pass("tir-to-scf")
@dataclass(frozen=True)
class TirToScf(Pass):
    """Lower TensorIR loops, blocks and buffers to scf and memref."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes and len(function.regions[0].blocks):
                entry = function.regions[0].blocks[0]
                _lower_block(entry)
                _hoist_allocations(function, entry)


def _lower_block(block: ir.Block) -> None:
    """Lower every operation of an MLIR block, innermost first."""
    for view in list(block.operations):
        op = view.operation
        for region in op.regions:
            for inner in region.blocks:
                _lower_block(inner)
        lower = _LOWERINGS.get(op.name)
        if lower is not None:
            with ir.InsertionPoint(op), op.location:
                lower(op)


def _index(value: int | ir.Value) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value) if isinstance(value, int) else value


def _lower_for(op: ir.Operation) -> None:
    loop: ForOp = op.opview  # type: ignore[assignment]
    start, extent = loop.min, loop.extent
    lower = _index(start)
    if isinstance(start, int) and isinstance(extent, int):
        upper = _index(start + extent)
    else:
        upper = _index(extent) if start == 0 else arith.addi(lower, _index(extent))
    step = _index(1)
    if loop.kind.value == "parallel":
        body, end = _parallel(lower, upper, step)
    else:
        created = scf.ForOp(lower, upper, step)
        body = created.body
        with ir.InsertionPoint(body):
            end = scf.YieldOp([]).operation
    body.arguments[0].set_location(loop.induction_variable.location)
    loop.induction_variable.replace_all_uses_with(body.arguments[0])
    _move(loop.block, end)
    op.erase()


def _parallel(lower: ir.Value, upper: ir.Value, step: ir.Value) -> tuple[ir.Block, ir.Operation]:
    created = ir.Operation.create(
        "scf.parallel",
        operands=[lower, upper, step],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])},
        regions=1,
    )
    body = created.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        end = ir.Operation.create("scf.reduce")
    return body, end


def _lower_tir_block(op: ir.Operation) -> None:
    block: BlockOp = op.opview  # type: ignore[assignment]
    for variable, binding in zip(block.iter_vars, block.bindings, strict=True):
        variable.replace_all_uses_with(binding)
    anchor = op
    if len(block.predicate):
        anchor = _if(block.predicate[0])
    for view in list(block.block.operations):
        inner = view.operation
        if inner.name in ("tir.read", "tir.write"):
            inner.erase()
        elif inner.name == "tir.init":
            _lower_init(block, inner)
    _move(block.block, anchor)
    op.erase()


def _lower_init(block: BlockOp, init: ir.Operation) -> None:
    """Run the initialisation at the first step of every reduction."""
    with ir.InsertionPoint(init):
        condition: ir.Value | None = None
        for kind, binding, (start, _) in zip(
            block.kinds, block.bindings, block.domain_pairs, strict=True
        ):
            if kind != "S":
                first = arith.cmpi(arith.CmpIPredicate.eq, binding, _index(start))
                condition = first if condition is None else arith.andi(condition, first)
        anchor = init if condition is None else _if(condition)
    _move(init.regions[0].blocks[0], anchor)
    init.erase()


def _if(condition: ir.Value) -> ir.Operation:
    """An scf.if; returns the end of its branch, before which operations can be moved."""
    created = scf.IfOp(condition)
    with ir.InsertionPoint(created.then_block):
        return scf.YieldOp([]).operation


def _move(source: ir.Block, anchor: ir.Operation) -> None:
    for view in list(source.operations):
        view.operation.move_before(anchor)


def _lower_alloc(op: ir.Operation) -> None:
    kind = ir.MemRefType(op.results[0].type)
    created = memref.AllocOp(kind, list(op.operands), [])
    op.results[0].replace_all_uses_with(created.result)
    op.erase()


_LOWERINGS = {
    "tir.for": _lower_for,
    "tir.block": _lower_tir_block,
    "tir.alloc_buffer": _lower_alloc,
}


def _hoist_allocations(function: ir.Operation, entry: ir.Block) -> None:
    """Move allocations to the function's entry when their sizes are known there; one that must
    stay in a loop is freed at the end of its step."""
    first = entry.operations[0].operation
    nested: list[ir.Operation] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.alloc" and op.parent != function:
            nested.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(collect)
    for op in nested:
        sizes = list(op.operands)
        if not sizes:
            op.move_before(first)
        elif all(_block_of(size) == entry for size in sizes):
            defined = [s.owner.operation for s in sizes if not isinstance(s, ir.BlockArgument)]
            last = defined[0] if defined else None
            for candidate in defined[1:]:
                last = candidate if last.is_before_in_block(candidate) else last
            op.move_before(first) if last is None else op.move_after(last)
        else:
            block = op.block
            with ir.InsertionPoint(block.operations[len(block.operations) - 1]), op.location:
                memref.DeallocOp(op.results[0])


def _block_of(value: ir.Value) -> ir.Block:
    return value.owner if isinstance(value, ir.BlockArgument) else value.owner.operation.block
