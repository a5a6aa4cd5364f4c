"""Making a block of a nest: blockize.  And the order of a block's variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    bindings_of,
    init_of,
    not_complete,
    require_block_bodies,
)
from relax_mlir.tir.schedule.body import Copier
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.facts import unchanged
from relax_mlir.tir.schedule.index import Index, as_index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.reduction import copy_dtype
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    domain_of,
    erase_dead_arithmetic,
    new_block,
    new_init,
    new_loop,
    substitute,
)

Domain = tuple[Index, Index]


@dataclass(frozen=True)
class Divided:
    """`binding = outer * size + inner` of an iteration variable."""

    variable: ir.Value
    kind: str
    outer: Index
    inner: Index
    size: Index
    count: Index


def blockize(
    state: ScheduleState, target: ForOp | Sequence[BlockOp], preserve_unit_iters: bool = True
) -> BlockOp:
    """Turn the nest from `target` down, which holds one block, into a block; the new one.

    Blocks that follow each other in one body are put into one block together.
    """
    if isinstance(target, (list, tuple)):
        return _blockize_blocks(state, target, preserve_unit_iters)
    if not isinstance(target, ForOp):
        raise Refusal("blockize takes a loop")
    require_block_bodies(target)
    blocks = nest.child_blocks(target)
    if len(blocks) != 1:
        raise Refusal(f"{label(target)} holds {len(blocks)} blocks, blockize takes one", target)
    block = blocks[0]
    if len(block.predicate):
        raise Refusal(f"{label(block)} has a predicate", block,
                      hint="split into factors that divide the extent")  # fmt: skip
    inside = [o for o in nest.loops_around(block) if nest.is_ancestor(target, o)]
    with unchanged():
        parts = _parts(block, inside)
    outer = _outer_block(block, target, parts)
    inner = _inner_block(state, block, outer, parts, preserve_unit_iters)
    _move_init(state, inner, outer)
    outer.block.append(target.operation)
    refresh(outer)
    erase_dead_arithmetic(nest.scope_of(outer))
    return outer


def _parts(block: BlockOp, loops: Sequence[ForOp]) -> list[Divided]:
    """The bindings of a block, divided into what is outside and what is inside of `loops`."""
    inside = {nest.loop_var(loop) for loop in loops}
    return [
        _divide(block, variable, kind, binding, inside)
        for variable, kind, binding in zip(
            nest.iter_vars(block), block.kinds, bindings_of(block), strict=True
        )
    ]


def _blockize_blocks(
    state: ScheduleState, blocks: Sequence[BlockOp], preserve_unit_iters: bool
) -> BlockOp:
    """One block of blocks whose nests follow each other."""
    parent, statements = _common_body(blocks)
    divided: list[list[Divided]] = []
    for block in blocks:
        reason = not_complete(block)
        if reason is not None or len(block.predicate):
            why = "it has a predicate" if reason is None else reason
            raise Refusal(f"{label(block)} cannot be part of a block: {why}", block)
        around = nest.loops_around(block)
        shared = around.index(parent) + 1 if isinstance(parent, ForOp) else 0
        divided.append(_parts(block, around[shared:]))
    first = [(p.kind, p.outer, p.count) for p in divided[0]]
    for block, parts in zip(blocks, divided, strict=True):
        if [(p.kind, p.outer, p.count) for p in parts] != first:
            raise Refusal(f"{label(block)} and {label(blocks[0])} do not run for the same outer "
                          "iterations", block, blocks[0])  # fmt: skip
    name = f"outer_{''.join(b.sym_name.value + '_' for b in blocks)}"
    outer = _outer_block(blocks[0], statements[0], divided[0], name)
    for op in statements:
        outer.block.append(op.operation)
    for block, parts in zip(blocks, divided, strict=True):
        _inner_block(state, block, outer, parts, preserve_unit_iters)
    refresh(outer)
    erase_dead_arithmetic(nest.scope_of(outer))
    return outer


def _common_body(blocks: Sequence[BlockOp]) -> tuple[ir.OpView, list[ir.OpView]]:
    """The loop or scope that the blocks share, and its statements that hold them and no others."""
    if not blocks or not all(isinstance(b, BlockOp) for b in blocks):
        raise Refusal("blockize takes a loop or a list of blocks")
    parent: ir.OpView | None = nest.parent(blocks[0])
    while parent is not None and not all(nest.is_ancestor(parent, b) for b in blocks):
        parent = nest.parent(parent)
    if parent is None or not (nest.is_scope(parent) or isinstance(parent, ForOp)):
        raise Refusal("the blocks are not in one body", *blocks)
    held = [op for op in nest.operations(nest.body_of(parent))
            if any(nest.is_ancestor(op, b) for b in blocks)]  # fmt: skip
    ops = nest.statements(nest.body_of(parent))
    start = ops.index(held[0])
    found = [b for op in held for b in ([op] if isinstance(op, BlockOp) else nest.child_blocks(op))]
    if ops[start : start + len(held)] != held or found != list(blocks):
        raise Refusal("the blocks do not follow each other, without others between them", *blocks)
    for op in held:
        if isinstance(op, ForOp):
            require_block_bodies(op)
    return parent, held


def _divide(
    block: BlockOp, variable: ir.Value, kind: str, binding: Index, inside: set[ir.Value]
) -> Divided:
    inner = Index()
    for monomial, k in binding.terms.items():
        term = Index({monomial: k})
        used = [v for v in term.leaves() if v in inside]
        if used and len(used) != len([v for v in term.leaves() if _is_loop(v)]):
            raise Refusal(f"the binding {binding} of {label(block)} mixes loops inside and outside",
                          block)  # fmt: skip
        inner = inner + term if used else inner
    low, extent = block.domain_pairs[nest.iter_vars(block).index(variable)]
    first, count = as_index(low), as_index(extent)
    rest = binding - inner
    span = inner.bounds()
    if span[0] != 0 or span[1] is None:
        raise Refusal(f"the inner part {inner} of a binding of {label(block)} does not start at 0",
                      block)  # fmt: skip
    size = Index({}, span[1] + 1)
    if rest == Index() and proves_nonnegative(size - count):
        return Divided(variable, kind, Index(), inner, size, Index({}, 1))
    outer = rest // size
    if outer * size != rest or first != Index() or (count // size) * size != count:
        raise Refusal(f"the binding {binding} of {label(block)} is not a multiple of {size} plus "
                      f"{inner}", block)  # fmt: skip
    return Divided(variable, kind, outer, inner, size, count // size)


def _is_loop(value: ir.Value) -> bool:
    owner = value.owner
    return isinstance(owner, ir.Block) and isinstance(owner.owner.operation.opview, ForOp)


def _outer_block(
    block: BlockOp, target: ir.OpView, parts: Sequence[Divided], name: str | None = None
) -> BlockOp:
    at = ir.InsertionPoint(target)
    rows = [
        (f"{nest.value_name(p.variable)}_o", p.kind, (Index(), p.count), p.outer) for p in parts
    ]
    outer = new_block(name or f"{block.sym_name.value}_o", rows, at)
    copy_dtype(block, outer)
    return outer


def _inner_block(
    state: ScheduleState,
    block: BlockOp,
    outer: BlockOp,
    parts: Sequence[Divided],
    preserve_unit_iters: bool,
) -> BlockOp:
    """The block with variables that only count within the outer block's instance."""
    one = Index({}, 1)
    kept = [p for p in parts if p.size != one or (preserve_unit_iters and p.inner.leaves())]
    at = ir.InsertionPoint(block)
    rows = [(f"{nest.value_name(p.variable)}_i", p.kind, (Index(), p.size), p.inner) for p in kept]
    inner = new_block(block.sym_name.value, rows, at)
    for named in block.operation.attributes:
        if named in ("annotations", "iter_dtype"):
            inner.operation.attributes[named] = block.operation.attributes[named]
    made = dict(zip((p.variable for p in kept), nest.iter_vars(inner), strict=True))
    values = {
        part.variable: (Index() if part.count == one else leaf(variable) * part.size)
        + (leaf(made[part.variable]) if part.variable in made else Index())
        for part, variable in zip(parts, nest.iter_vars(outer), strict=True)
    }
    for op in nest.operations(block.block):
        inner.block.append(op.operation)
    substitute(values)
    state.moved(block, inner)
    block.operation.erase()
    return inner


def _move_init(state: ScheduleState, inner: BlockOp, outer: BlockOp) -> None:
    """The init becomes the outer block's, in a nest over the spatial variables.

    The regions of its block are left to the refresh of the outer one.
    """
    old = init_of(inner)
    if old is None:
        return
    init = new_init(ir.InsertionPoint(outer.block))
    at = ir.InsertionPoint(init.body.blocks[0])
    values: dict[ir.Value, Index] = {}
    bindings = bindings_of(inner)
    spatial = [n for n, kind in enumerate(inner.kinds) if kind == "S"]
    for loop in nest.loops_around(inner):
        variable = nest.loop_var(loop)
        if any(bindings[n].uses(variable) for n in spatial):
            new = new_loop(nest.value_name(variable, "i"), as_index(loop.extent), at)
            values[variable] = leaf(nest.loop_var(new))
            at = ir.InsertionPoint(new.block)
    rows = [
        (f"{nest.value_name(nest.iter_vars(inner)[n])}_init", "S",
         domain_of(nest.iter_vars(inner)[n]), bindings[n].substitute(values))
        for n in spatial
    ]  # fmt: skip
    block = new_block(f"{inner.sym_name.value}_init", rows, at)
    copy_dtype(inner, block)
    mapped = {
        nest.iter_vars(inner)[n]: leaf(v)
        for n, v in zip(spatial, nest.iter_vars(block), strict=True)
    }
    Copier(ir.InsertionPoint(block.block), dict(mapped)).clone_all(
        nest.operations(old.body.blocks[0])
    )
    state.erase(old)


def reorder_block_iter_var(state: ScheduleState, block: BlockOp, new_order: Sequence[int]) -> None:
    """Put the iteration variables of a block into another order."""
    count = len(nest.iter_vars(block))
    if sorted(new_order) != list(range(count)):
        raise Refusal(f"{list(new_order)} is no order of {count} variables", block)
    at = ir.InsertionPoint(block)
    bindings = bindings_of(block)
    rows = [
        (nest.value_name(nest.iter_vars(block)[n]), block.kinds[n],
         domain_of(nest.iter_vars(block)[n]), bindings[n])
        for n in new_order
    ]  # fmt: skip
    predicate = block.predicate[0] if len(block.predicate) else None
    new = new_block(block.sym_name.value, rows, at, predicate)
    for named in ("annotations", "iter_dtype"):
        if named in block.operation.attributes:
            new.operation.attributes[named] = block.operation.attributes[named]
    old_vars = list(nest.iter_vars(block))
    for op in nest.operations(block.block):
        new.block.append(op.operation)
    for position, number in enumerate(new_order):
        old_vars[number].replace_all_uses_with(nest.iter_vars(new)[position])
    state.replace(block, new)
