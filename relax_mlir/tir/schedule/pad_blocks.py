"""Padding as a fill and a copy: decompose_padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    bindings_of,
    not_complete,
    read_buffers,
    require_block,
    written_buffers,
)
from relax_mlir.tir.schedule.body import Copier
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import conditions, single_store
from relax_mlir.tir.schedule.reduction import copy_dtype
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    domain_of,
    erase_dead_arithmetic,
    loop_dtype,
    new_block,
    new_loop,
    substitute,
)

Bounds = dict[ir.Value, tuple[Index, Index]]


@dataclass(frozen=True)
class Padding:
    """`B[...] = value if every variable is within its bounds, else constant`."""

    block: BlockOp
    branch: ir.Operation
    bounds: Bounds


def can_decompose_padding(block: ir.OpView, loop: ForOp) -> bool:
    """True when decompose_padding may be applied."""
    try:
        _match(block, loop)
    except Refusal:
        return False
    return True


def decompose_padding(state: ScheduleState, block: ir.OpView, loop: ForOp) -> BlockOp:
    """Fill with the padding constant before a loop, and then only copy what is inside; the block
    that fills."""
    found = _match(block, loop)
    block = found.block
    fill = _fill_block(found, loop)
    then_block = found.branch.regions[0].blocks[0]
    ops = nest.operations(then_block)
    values = list(ops[-1].operation.operands)
    for op in ops[:-1]:
        op.operation.move_before(found.branch)
    for result, value in zip(found.branch.results, values, strict=True):
        result.replace_all_uses_with(value)
    found.branch.erase()
    erase_dead_arithmetic(block)
    _narrow(state, found, loop)
    return fill


# -- conditions ---------------------------------------------------------------------------------


def _match(block: ir.OpView, loop: ForOp) -> Padding:
    block = require_block(block)
    if loop not in nest.loops_around(block):
        raise Refusal(f"{label(loop)} is not around {label(block)}", loop, block)
    reason = not_complete(block)
    if reason is not None:
        raise Refusal(f"{label(block)} is not complete: {reason}", block)
    branch = _branch(block)
    _require_unused_before(block, loop)
    return Padding(block, branch, _bounds(block, branch))


def _branch(block: BlockOp) -> ir.Operation:
    """The condition between a value and a constant that the block stores."""
    owner = single_store(block).store.operands[0].owner
    branch = None if isinstance(owner, ir.Block) else owner.operation
    if branch is None or branch.name != "scf.if" or len(branch.results) != 1:
        raise Refusal(f"{label(block)} does not store a value or, outside of bounds, a constant",
                      block)  # fmt: skip
    other = nest.operations(branch.regions[1].blocks[0])
    constant = other[-1].operation.operands[0].owner
    if isinstance(constant, ir.Block) or constant.operation.name != "arith.constant":
        raise Refusal(f"what {label(block)} stores outside of the bounds is no constant", block)
    return branch


def _bounds(block: BlockOp, branch: ir.Operation) -> Bounds:
    """The range of each variable within which the condition holds."""
    bounds: Bounds = {}
    for variable, (low, size) in zip(nest.iter_vars(block), block.domain_pairs, strict=True):
        bounds[variable] = (as_index(low), as_index(low) + as_index(size))
    for value, limit in conditions(branch.operands[0]):
        distance = limit - value - 1  # the condition is distance >= 0
        variables = [v for v in distance.leaves() if v in bounds]
        if not variables and proves_nonnegative(distance):
            continue
        unit = leaf(variables[0]) if len(variables) == 1 else Index()
        k = distance.terms.get(next(iter(unit.terms), ()), 0)
        rest = distance - unit * k
        others = [v for v in rest.leaves() if nest.encloses(block, v)]
        if abs(k) != 1 or others:
            raise Refusal(f"the condition {value} < {limit} of {label(block)} is no bound of one "
                          "variable", block)  # fmt: skip
        low, high = bounds[variables[0]]
        if k == 1 and proves_nonnegative(-rest - low):
            low = -rest
        elif k == -1 and proves_nonnegative(high - rest - 1):
            high = rest + 1
        elif not proves_nonnegative(low + rest if k == 1 else rest + 1 - high):
            raise Refusal(f"cannot compare the condition {value} < {limit} with the domain of "
                          f"{nest.value_name(variables[0])}", block)  # fmt: skip
        bounds[variables[0]] = (low, high)
    for variable, (low, high) in bounds.items():
        if not proves_nonnegative(high - low - 1):
            raise Refusal(f"{nest.value_name(variable)} of {label(block)} may never be within its "
                          "bounds", block)  # fmt: skip
    return bounds


def _require_unused_before(block: BlockOp, loop: ForOp) -> None:
    """Nothing under the loop uses the output before the block does."""
    for other in nest.child_blocks(loop):
        if other == block:
            return
        for buffer in set(written_buffers(block)) & {*read_buffers(other), *written_buffers(other)}:
            raise Refusal(f"{label(other)} uses {nest.value_name(buffer)} before {label(block)}, "
                          f"under {label(loop)}", other, block)  # fmt: skip


# -- the two blocks -----------------------------------------------------------------------------


def _fill_block(found: Padding, loop: ForOp) -> BlockOp:
    """A copy of the block, in a copy of the loops from `loop` on, that stores the constant."""
    block, at = found.block, ir.InsertionPoint(loop)
    around = nest.loops_around(block)
    values: dict[ir.Value, Index] = {}
    for old in around[around.index(loop) :]:
        low, extent = (as_index(e).substitute(values) for e in (old.min, old.extent))
        name = nest.value_name(nest.loop_var(old), "i")
        new = new_loop(name, extent, at, low=low, kind=_kind(old), attributes=loop_dtype(old))
        values[nest.loop_var(old)] = leaf(nest.loop_var(new))
        at = ir.InsertionPoint(new.block)
    predicate: ir.Value | None = None
    if len(block.predicate):
        predicate = _copy_predicate(block.predicate[0], values, at)
    rows = [
        (nest.value_name(v), kind, (as_index(low), as_index(size)), binding.substitute(values))
        for v, kind, (low, size), binding in zip(
            nest.iter_vars(block), block.kinds, block.domain_pairs, bindings_of(block), strict=True
        )
    ]
    fill = new_block(f"{block.sym_name.value}_pad_const", rows, at, predicate)
    copy_dtype(block, fill)
    own = {v: leaf(i) for v, i in zip(nest.iter_vars(block), nest.iter_vars(fill), strict=True)}
    inner = Copier(ir.InsertionPoint(fill.block), dict(own))
    constant = nest.operations(found.branch.regions[1].blocks[0])[-1].operation.operands[0]
    inner.clone(constant.owner.operation.opview)
    store = single_store(block).store
    inner.values[found.branch.results[0]] = inner.values[constant]
    # What computes an index, a constant too, is not cloned: it is written anew.
    inner.indices.update({index: inner.index(index) for index in list(store.operands)[2:]})
    inner.clone(store.opview)
    refresh(fill)
    return fill


def _kind(loop: ForOp) -> str:
    return loop.kind.value if loop.kind.value in ("serial", "parallel", "unrolled") else "serial"


def _copy_predicate(
    value: ir.Value, values: Mapping[ir.Value, Index], at: ir.InsertionPoint
) -> ir.Value:
    """A predicate computed again, with other loops."""
    if isinstance(value.type, ir.IndexType):
        return write(as_index(value).substitute(values), at)
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value
    operands = [_copy_predicate(operand, values, at) for operand in owner.operation.operands]
    new = owner.operation.clone(ip=at)
    for number, operand in enumerate(operands):
        new.operands[number] = operand
    return new.results[0]


def _narrow(state: ScheduleState, found: Padding, loop: ForOp) -> None:
    """Let the block only run within the bounds: by its loops where they are its own, else under a
    predicate.  Its variables count from the bound then."""
    block, scope = found.block, nest.scope_of(loop)
    around = nest.loops_around(block)
    own = around[around.index(loop) :] if _is_alone(block, loop) else []
    bindings = bindings_of(block)
    parts: list[tuple[Index, Index]] = []
    domains: list[tuple[Index, Index]] = []
    shifts: dict[ir.Value, Index] = {}
    new_bindings: list[Index] = []
    for variable, binding in zip(nest.iter_vars(block), bindings, strict=True):
        low, high = found.bounds[variable]
        first, size = domain_of(variable)
        domains.append((Index(), high - low))
        shifts[variable] = leaf(variable) + low
        driver = _driver(binding, own, bindings, (first, size), block)
        if (low, high) == (first, first + size):
            new_bindings.append(binding - low)
        elif driver is not None:
            state.set_loop_bounds(driver, Index(), high - low)
            new_bindings.append(binding)
        else:
            new_bindings.append(binding - low)
            parts += [(low, binding), (binding, high - 1)]
    substitute(shifts)
    parts = [part for part in parts if not proves_nonnegative(part[1] - part[0])]
    _rebuild(state, block, new_bindings, domains, parts)
    erase_dead_arithmetic(scope)


def _rebuild(
    state: ScheduleState,
    block: BlockOp,
    bindings: Sequence[Index],
    domains: Sequence[tuple[Index, Index]],
    parts: Sequence[tuple[Index, Index]],
) -> None:
    """The block with these, run only where `left <= right` for each of the parts."""
    new = state.rebuild_block(block, bindings=bindings, domains=domains)
    condition: ir.Value | None = new.predicate[0] if len(new.predicate) else None
    at = ir.InsertionPoint(new)
    for left, right in parts:
        part = compare(left, right, at)
        condition = part if condition is None else arith.AndIOp(condition, part, ip=at).result
    if parts:
        new = state.rebuild_block(new, predicate=condition)
    refresh(new)


def compare(left: Index, right: Index, at: ir.InsertionPoint) -> ir.Value:
    """`left <= right`, as `<` where the right side ends in - 1."""
    strict = (right.constant == -1 and bool(right.terms)) or right.is_constant
    kind = arith.CmpIPredicate.slt if strict else arith.CmpIPredicate.sle
    right = right + 1 if strict else right
    return arith.CmpIOp(kind, write(left, at), write(right, at), ip=at).result


def _is_alone(block: BlockOp, loop: ForOp) -> bool:
    """True when the loops from `loop` on hold nothing but the block."""
    line = [*nest.loops_around(block), block]
    line = line[line.index(loop) :]
    return all(
        isinstance(outer, ForOp) and nest.statements(outer.block) == [inner]
        for outer, inner in pairwise(line)
    )


def _driver(
    binding: Index,
    own: Sequence[ForOp],
    bindings: Sequence[Index],
    domain: tuple[Index, Index],
    block: BlockOp,
) -> ForOp | None:
    """The loop over a variable's domain that is its binding and nothing else's."""
    for loop in own:
        variable = nest.loop_var(loop)
        whole = (as_index(loop.min), as_index(loop.extent)) == domain
        elsewhere = sum(b.uses(variable) for b in bindings) > 1
        bounds = [as_index(e) for o in own for e in (o.min, o.extent)]
        used = any(b.uses(variable) for b in bounds) or len(block.predicate)
        if binding == leaf(variable) and whole and not elsewhere and not used:
            return loop
    return None
