"""Lower what is left of TensorIR as it is written: loops become scf loops, blocks their bodies.

Each kind of loop has a file: `vectorized`, `unrolled`, `parallel`.  Thread-bound loops run one
index after the other, so a program bound for a GPU still computes on a CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir_to_scf.allocations import hoist_allocations, lower_alloc
from relax_mlir.lowering.tir_to_scf.blocks import contract_products, lower_block
from relax_mlir.lowering.tir_to_scf.parallel import lower_parallel
from relax_mlir.lowering.tir_to_scf.structure import enclosing, move_before, serial_loop
from relax_mlir.lowering.tir_to_scf.unrolled import (
    Pragmas,
    lower_unrolled,
    read_pragmas,
    steps_of,
)
from relax_mlir.mlir import ir

__all__ = ["TirToScf"]


@register_pass("tir-to-scf")
@dataclass(frozen=True)
class TirToScf(Pass):
    """Lower TensorIR loops, blocks and buffers to scf and memref."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes and len(function.regions[0].blocks):
                entry = function.regions[0].blocks[0]
                _lower_operations(entry, Pragmas())
                hoist_allocations(function, entry)


def _lower_operations(block: ir.Block, pragmas: Pragmas) -> None:
    for view in list(block.operations):
        _lower(view.operation, pragmas)


def _lower(op: ir.Operation, pragmas: Pragmas) -> None:
    """Lower an operation and what is inside of it, innermost first."""
    view = op.opview
    if isinstance(view, BlockOp):
        contract_products(view)
    if isinstance(view, ForOp) and view.kind.value == "vectorized":
        _lower_vectorized(view, pragmas)
        return
    inside = read_pragmas(op, pragmas)
    unrolls = isinstance(view, ForOp) and _unrolls(view, inside)
    for region in op.regions:
        for inner in region.blocks:
            _lower_operations(inner, inside)
    with ir.InsertionPoint(op), op.location:
        if isinstance(view, ForOp):
            _lower_loop(view, inside, unrolls)
        elif isinstance(view, BlockOp):
            lower_block(op)
        elif op.name == "tir.alloc_buffer":
            lower_alloc(op)
        elif op.name == "tir.attr":
            move_before(op.regions[0].blocks[0], op)
            op.erase()


def _lower_loop(loop: ForOp, pragmas: Pragmas, unrolls: bool) -> None:
    if unrolls:
        lower_unrolled(loop, explicit=pragmas.explicit)
    elif loop.kind.value == "parallel":
        lower_parallel(loop)
    else:
        serial_loop(loop)


def _unrolls(loop: ForOp, pragmas: Pragmas) -> bool:
    kind = loop.kind.value
    if kind == "serial" and pragmas.auto_max_step:
        steps = steps_of(loop)
        return steps is not None and steps <= pragmas.auto_max_step
    return kind == "unrolled"


def _lower_vectorized(loop: ForOp, pragmas: Pragmas) -> None:
    from relax_mlir.lowering.tir_to_scf.vectorized import SCALAR_HINT, vectorize_loop

    for view in loop.block.operations:
        _mark_products(view.operation)
    made = vectorize_loop(loop)
    if made is not None:
        for op in made:
            _lower(op, pragmas)
        return
    op = loop.operation
    for region in op.regions:
        for inner in region.blocks:
            _lower_operations(inner, pragmas)
    with ir.InsertionPoint(op), op.location:
        if enclosing(op, "gpu.launch") is not None:
            lower_unrolled(loop)
            return
        created = serial_loop(loop)
        created.operation.attributes["llvm.loop_annotation"] = ir.Attribute.parse(SCALAR_HINT)


def _mark_products(op: ir.Operation) -> None:
    """`contract_products` for every block at or below `op`."""
    if isinstance(op.opview, BlockOp):
        contract_products(op.opview)
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                _mark_products(child.operation)
