"""`memref-free-temporaries`: gives the temporaries of kernels an end, or a place on the stack."""

from __future__ import annotations

import math
from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import arith, ir, memref, operations_named, scf

__all__ = ["FreeTemporaries", "parallel_body", "static_bytes", "stays_in_block"]

_VIEWS = (
    "memref.subview",
    "memref.cast",
    "memref.reinterpret_cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.view",
    "memref.reshape",
    "arith.select",
)
_CACHE_LINE = 64


@register_pass("memref-free-temporaries")
@dataclass(frozen=True)
class FreeTemporaries(Pass):
    """Put small allocations of fixed size on the stack, free the others where their block ends.

    What is allocated in a parallel loop stays in it, on the stack or not: every iteration has its
    own.  Allocations that are freed already, or that leave their block, stay as they are.  Where a
    condition that is checked (`cf.assert`) does not hold, the function is left: what is to be freed
    behind the check is freed in front of it.

    stack_bytes: an allocation up to this size goes on the stack; stack_limit: all of a function's
    together stay below this.
    """

    stack_bytes: int = 16384
    stack_limit: int = 65536

    def run(self, state: ModuleState) -> None:
        with state.module.context:
            for function in state.functions():
                if list(function.regions[0].blocks):
                    self._place(function)

    def _place(self, function: ir.Operation) -> None:
        allocations = [
            op
            for op in operations_named(function, ("memref.alloc",))
            if stays_in_block(op.result, op.block)
        ]
        checks = operations_named(function, ("cf.assert",))
        entry = function.regions[0].blocks[0]
        budget = self.stack_limit
        for op in allocations:
            size = static_bytes(op.result.type)
            if size is not None and size <= min(self.stack_bytes, budget):
                budget -= size
                _move_to_stack(op, parallel_body(op) or entry)
            else:
                _free_at_end(op)
        for check in checks:
            _free_in_front(check)


def stays_in_block(value: ir.Value, block: ir.Block) -> bool:
    """Whether a buffer is neither freed nor handed out of the block it was allocated in."""
    for use in value.uses:
        user = use.owner.operation
        if user.name == "memref.dealloc" or user.name in ("func.return", "scf.yield"):
            return False
        if user.name.startswith("cf.") or user.name == "builtin.unrealized_conversion_cast":
            return False
        if user.name in _VIEWS and not stays_in_block(user.results[0], block):
            return False
    return True


def static_bytes(kind: ir.Type) -> int | None:
    """Size of a buffer of a memref type, None if it is only known at run time."""
    type_ = ir.MemRefType(kind)
    element = type_.element_type
    if not type_.has_static_shape or not isinstance(element, (ir.FloatType, ir.IntegerType)):
        return None
    return math.prod(type_.shape) * ((element.width + 7) // 8)


def parallel_body(op: ir.Operation) -> ir.Block | None:
    """The body of the innermost parallel loop around an operation."""
    outer = op.parent
    while outer is not None:
        if outer.operation.name == "scf.parallel":
            return outer.operation.regions[0].blocks[0]
        outer = outer.operation.parent
    return None


def _alignment() -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _CACHE_LINE)


def _move_to_stack(op: ir.Operation, entry: ir.Block) -> None:
    with ir.InsertionPoint.at_block_begin(entry), op.location:
        slot = ir.Operation.create(
            "memref.alloca",
            results=[op.result.type],
            operands=[],
            attributes={
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
                "alignment": _alignment(),
            },
        )
    op.result.replace_all_uses_with(slot.result)
    op.erase()


def _free_at_end(op: ir.Operation) -> None:
    if "alignment" not in op.attributes:
        op.attributes["alignment"] = _alignment()
    last = list(op.block.operations)[-1]
    with ir.InsertionPoint(last), op.location:
        memref.dealloc(op.result)


def _free_in_front(check: ir.Operation) -> None:
    """Free what is alive at a check, in the case that its condition does not hold."""
    alive = _alive_at(check)
    if not alive:
        return
    with ir.InsertionPoint(check), check.location:
        always = arith.constant(ir.IntegerType.get_signless(1), 1)
        leaves = scf.IfOp(arith.xori(check.operands[0], always))
        with ir.InsertionPoint(leaves.then_block):
            for buffer in alive:
                memref.dealloc(buffer)
            scf.yield_([])


def _alive_at(op: ir.Operation) -> list[ir.Value]:
    """The allocations in front of an operation that are freed behind it, inner ones first."""
    alive: list[ir.Value] = []
    while op.name != "func.func":
        operations = [view.operation for view in op.block.operations]
        place = operations.index(op)
        freed = {o.operands[0] for o in operations[place:] if o.name == "memref.dealloc"}
        made = [o.results[0] for o in operations[:place] if o.name == "memref.alloc"]
        alive += [value for value in reversed(made) if value in freed]
        op = op.parent.operation
    return alive
