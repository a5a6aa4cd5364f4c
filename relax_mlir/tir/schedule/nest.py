"""Reading the nest: loops around an operation, blocks below it, the scope a block belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.facts import remembered

# Operations that compute index values or scalars from others and may move with their users.
_MOVABLE_DIALECTS = ("arith.", "affine.apply", "math.", "memref.dim", "index.")


def parent(op: ir.OpView) -> ir.OpView | None:
    """The operation around `op`, None for the module."""
    outer = op.operation.parent
    return None if outer is None else outer.opview


_SCOPES = ("tir.block", "func.func")


def is_scope(op: ir.OpView) -> bool:
    """A block or the function, which is the root block."""
    return op.operation.name in _SCOPES


@remembered
def scope_of(op: ir.OpView) -> ir.OpView:
    """The block (or function) whose body `op` belongs to."""
    outer = op.operation.parent
    while outer is not None and outer.name not in _SCOPES:
        outer = outer.parent
    assert outer is not None, "a loop or block is inside a function"
    return outer.opview


def function_of(op: ir.OpView) -> ir.OpView:
    while op.operation.name != "func.func":
        outer = parent(op)
        assert outer is not None, "a loop or block is inside a function"
        op = outer
    return op


@remembered
def loops_around(op: ir.OpView) -> Sequence[ForOp]:
    """The loops around `op` up to its scope, outermost first."""
    loops: list[ForOp] = []
    outer = op.operation.parent
    while outer is not None and outer.name not in _SCOPES:
        if outer.name == "tir.for":
            loops.append(cast(ForOp, outer.opview))
        outer = outer.parent
    return loops[::-1]


def body_of(op: ir.OpView) -> ir.Block:
    """The body of a loop, block or function."""
    return op.operation.regions[0].blocks[0]


def operations(block: ir.Block) -> list[ir.OpView]:
    return list(block.operations)


def is_movable(op: ir.OpView) -> bool:
    """True for scalar arithmetic, which has no effect and may move with its users."""
    return op.operation.name.startswith(_MOVABLE_DIALECTS)


def statements(block: ir.Block) -> list[ir.OpView]:
    """What a body does, without the arithmetic it is preceded by and the terminator."""
    return [
        op
        for op in block.operations
        if not is_movable(op) and op.operation.name not in ("func.return", "scf.yield")
    ]


def descend(op: ir.OpView) -> Iterator[ir.OpView]:
    """Every operation inside `op`, in order, parents first."""
    for region in op.operation.regions:
        for block in region.blocks:
            for child in block.operations:
                yield child
                if child.operation.regions:
                    yield from descend(child)


def descend_in_scope(op: ir.OpView) -> Iterator[ir.OpView]:
    """Every operation inside `op`, in order, without those inside of the blocks there."""
    for region in op.operation.regions:
        for block in region.blocks:
            for child in block.operations:
                yield child
                if not isinstance(child, BlockOp) and not is_movable(child):
                    yield from descend_in_scope(child)


@remembered
def child_blocks(op: ir.OpView) -> Sequence[BlockOp]:
    """The blocks below a loop, block or function, without those inside them."""
    found: list[BlockOp] = []
    for region in op.operation.regions:
        for block in region.blocks:
            for child in block.operations:
                if isinstance(child, BlockOp):
                    found.append(child)
                elif child.operation.regions:
                    found.extend(child_blocks(child))
    return found


def blocks_of(function: ir.OpView) -> list[BlockOp]:
    """Every block of a function, in order, nested ones too."""
    return [op for op in descend(function) if isinstance(op, BlockOp)]


@remembered
def is_ancestor(outer: ir.OpView, op: ir.OpView) -> bool:
    """True when `op` is `outer` or inside it."""
    wanted, current = outer.operation, op.operation
    while current is not None:
        if current == wanted:
            return True
        current = current.parent
    return False


def is_dead(op: ir.OpView) -> bool:
    """True for arithmetic and loads whose results have no use."""
    operation = op.operation
    if not operation.name.startswith((*_MOVABLE_DIALECTS, "memref.load")):
        return False
    return all(next(iter(result.uses), None) is None for result in operation.results)


@remembered
def encloses(outer: ir.OpView, value: ir.Value) -> bool:
    """True when `value` is defined inside `outer`."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return is_ancestor(outer, owner.owner.operation.opview)
    return owner.operation != outer.operation and is_ancestor(outer, owner.operation.opview)


def name_of_block(block: ir.OpView) -> str:
    if isinstance(block, BlockOp):
        return block.sym_name.value
    return "root"


def value_name(value: ir.Value, default: str = "v") -> str:
    return getattr(value.location, "name_str", None) or default


@remembered
def iter_vars(block: BlockOp) -> Sequence[ir.Value]:
    """A block's iteration variables, as values among others."""
    return list(block.iter_vars)


def loop_var(loop: ForOp) -> ir.Value:
    """A loop's variable, as a value among others."""
    return loop.induction_variable


def thread_axis(loop: ForOp) -> str | None:
    """The GPU axis a loop is bound to."""
    attributes = loop.operation.attributes
    return ir.StringAttr(attributes["thread"]).value if "thread" in attributes else None
