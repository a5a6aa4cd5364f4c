"""Loop transformations: split, fuse, reorder, add_unit_loop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import (
    chain,
    init_of,
    require_block_bodies,
)
from relax_mlir.tir.schedule.bindings import bindings_determine, same_iteration
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import (
    Index,
    as_index,
    ceildiv,
    floordiv,
    leaf,
    mod,
    proves_nonnegative,
    value_domain,
)
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.ordering import accumulates, require_orderable
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    erase_dead_arithmetic,
    loop_dtype,
    new_loop,
    substitute,
)


def require_plain(loop: ForOp) -> None:
    """Refuse loops that carry annotations or a thread, which the result could not keep."""
    if "annotations" in loop.operation.attributes:
        raise Refusal(
            f"{label(loop)} has annotations", loop, hint="unannotate it first, annotate the result"
        )
    if loop.kind.value == "thread_binding":
        raise Refusal(f"{label(loop)} is bound to a thread", loop, hint="split before you bind")


def infer_factors(loop: ForOp, factors: Sequence[int | Index | None]) -> list[Index]:
    """The extents of the new loops; one None stands for what covers the rest."""
    extent = as_index(loop.extent)
    if not factors:
        raise Refusal("no factors given", loop)
    if list(factors).count(None) > 1:
        raise Refusal("at most one factor may be None", loop)
    for factor in factors:
        if isinstance(factor, int) and factor <= 0:
            raise Refusal(f"factor {factor} is not positive", loop)
    known = Index({}, 1)
    for factor in factors:
        known = known if factor is None else known * as_index(factor)
    if None not in factors:
        if (known - extent).bounds()[1] is not None and not proves_nonnegative(known - extent):
            sizes = " x ".join(str(f) for f in factors)
            raise Refusal(f"the factors {sizes} cover fewer than the {extent} iterations of "
                          f"{label(loop)}", loop, hint="let one factor be None")  # fmt: skip
        if not proves_nonnegative(known - extent):
            raise Refusal(f"cannot prove that the factors cover the {extent} iterations of "
                          f"{label(loop)}", loop, hint="let one factor be None")  # fmt: skip
    return [ceildiv(extent, known) if f is None else as_index(f) for f in factors]


def split(
    state: ScheduleState,
    loop: ForOp,
    factors: Sequence[int | Index | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> list[ForOp]:
    """Replace a loop by nested loops with the given extents, outermost first."""
    require_plain(loop)
    require_block_bodies(loop)
    extents = infer_factors(loop, factors)
    total = Index({}, 1)
    for extent in extents:
        total = total * extent
    exact = as_index(loop.extent) == total
    name = nest.value_name(nest.loop_var(loop), "i")
    at = ir.InsertionPoint(loop)
    loops: list[ForOp] = []
    for number, extent in enumerate(extents):
        new = new_loop(f"{name}_{number}", extent, at, attributes=loop_dtype(loop))
        loops.append(new)
        at = ir.InsertionPoint(new.block)
    _take_body(loop, loops[-1])
    value = as_index(loop.min) + _mixed_radix(loops, extents, preserve_unit_iters)
    if not exact and not disable_predication:
        limit = as_index(loop.min) + as_index(loop.extent)
        for block in nest.child_blocks(loops[-1]):
            add_predicate(state, block, leaf(nest.loop_var(loop)), limit)
    substitute({nest.loop_var(loop): value})
    state.erase(loop)
    erase_dead_arithmetic(loops[0])
    return loops


def _take_body(old: ForOp, new: ForOp) -> None:
    """Move what `old` does into `new`."""
    for op in nest.operations(old.block):
        new.block.append(op.operation)


def _mixed_radix(loops: Sequence[ForOp], extents: Sequence[Index], keep_units: bool) -> Index:
    value = Index()
    for number, (loop, extent) in enumerate(zip(loops, extents, strict=True)):
        if extent == Index({}, 1) and not keep_units:
            continue
        stride = Index({}, 1)
        for inner in extents[number + 1 :]:
            stride = stride * inner
        value = value + leaf(nest.loop_var(loop)) * stride
    return value


def add_predicate(state: ScheduleState, block: BlockOp, value: Index, limit: Index) -> BlockOp:
    """Let the block run only where `value < limit` (and where it ran before)."""
    at = ir.InsertionPoint(block)
    # `value` may be a loop variable that is about to be replaced: keep it behind an operand.
    condition = arith.CmpIOp(
        arith.CmpIPredicate.slt, write(value, at), write(limit, at), ip=at
    ).result
    for earlier in block.predicate:
        condition = arith.AndIOp(earlier, condition, ip=at).result
    return state.rebuild_block(block, predicate=condition)


def fuse(state: ScheduleState, loops: Sequence[ForOp], preserve_unit_iters: bool = True) -> ForOp:
    """Replace loops that are nested without anything between them by one loop."""
    if not loops:
        raise Refusal("no loops given")
    for loop in loops:
        require_plain(loop)
    for outer, inner in itertools.pairwise(loops):
        if nest.parent(inner) != outer or nest.statements(outer.block) != [inner]:
            raise Refusal(
                f"{label(inner)} is not the only statement of {label(outer)}", outer, inner,
                hint="fuse takes consecutive loops, outermost first",
            )  # fmt: skip
    if len(loops) == 1:
        return loops[0]
    variables = [nest.loop_var(loop) for loop in loops]
    for loop in loops:
        used = [v for e in (as_index(loop.min), as_index(loop.extent)) for v in e.leaves()]
        dependent = [v for v in used if v in variables]
        if dependent:
            raise Refusal(f"the range of {label(loop)} depends on "
                          f"{nest.value_name(dependent[0])}", loop)  # fmt: skip
    return _fuse(state, loops, preserve_unit_iters)


def _fuse(state: ScheduleState, loops: Sequence[ForOp], keep_units: bool) -> ForOp:
    extents = [as_index(loop.extent) for loop in loops]
    lows = [as_index(loop.min) for loop in loops]
    total = Index({}, 1)
    for extent in extents:
        total = total * extent
    for outer, inner in itertools.pairwise(loops):
        _hoist(outer, inner, loops[0])
    name = "_".join([nest.value_name(nest.loop_var(loop), "i") for loop in loops] + ["fused"])
    fused = new_loop(name, total, ir.InsertionPoint(loops[0]), attributes=loop_dtype(loops[0]))
    _take_body(loops[-1], fused)
    values: dict[ir.Value, Index] = {}
    rest = leaf(nest.loop_var(fused))
    for loop, extent, low in reversed(list(zip(loops, extents, lows, strict=True))):
        outermost = loop == loops[0]
        value = rest if outermost else mod(rest, extent)
        if extent == Index({}, 1) and not keep_units:
            value = Index()
        values[nest.loop_var(loop)] = value + low
        rest = floordiv(rest, extent)
    substitute(values)
    state.erase(loops[0])
    erase_dead_arithmetic(fused)
    return fused


def _hoist(outer: ForOp, inner: ForOp, before: ForOp) -> None:
    """Move the arithmetic between two loops out (when it does not use them) or inside."""
    sink(outer, inner.block)
    # What the inner loop's own bounds are computed from stays and goes out with them.
    for op in nest.operations(outer.block):
        if nest.is_movable(op):
            op.operation.move_before(before.operation)


def sink(outer: ForOp, target: ir.Block) -> None:
    """Move the arithmetic of a loop's body to the start of `target` where nothing else needs it."""
    for op in reversed(nest.operations(outer.block)):
        if not nest.is_movable(op):
            continue
        users = [use.owner.operation for result in op.operation.results for use in result.uses]
        if all(_is_within(user, target) for user in users):
            first = target.operations[0]
            op.operation.move_before(first.operation)


def _is_within(op: ir.Operation, block: ir.Block) -> bool:
    current: ir.OpView | None = op.opview
    while current is not None and not nest.is_scope(current):
        if current.operation.block == block:
            return True
        current = nest.parent(current)
    return current is not None and current.operation.block == block


def reorder(state: ScheduleState, loops: Sequence[ForOp]) -> None:
    """Put loops of one nest into the given order, outermost first."""
    if not loops:
        raise Refusal("no loops given")
    for number, loop in enumerate(loops):
        if loop in loops[:number]:
            raise Refusal(f"{label(loop)} is given more than once", loop)
    top, bottom = _outer_and_inner(loops)
    line = chain(top, bottom)
    for op, below in itertools.pairwise(line):
        if not isinstance(op, ForOp) or nest.statements(op.block) != [below]:
            raise Refusal(
                f"{label(op)} holds more than {label(below)}", op,
                hint="reorder takes loops of which each but the innermost holds only the next",
            )  # fmt: skip
    nested = [op for op in line if isinstance(op, ForOp)]
    replacements = iter(loops)
    order = [next(replacements) if loop in loops else loop for loop in nested]
    if order == nested:
        return
    _require_independent_ranges(order)
    require_block_bodies(top)
    _require_reorderable_blocks(bottom, nested)
    _rearrange(nested, order)


def _outer_and_inner(loops: Sequence[ForOp]) -> tuple[ForOp, ForOp]:
    """The outermost and innermost of loops that lie on one line of the nest."""
    by_depth = sorted(loops, key=lambda loop: len(nest.loops_around(loop)))
    for outer, inner in itertools.pairwise(by_depth):
        same_scope = nest.scope_of(outer) == nest.scope_of(inner)
        if not same_scope or not nest.is_ancestor(outer, inner):
            raise Refusal(f"{label(outer)} and {label(inner)} are not in one nest", outer, inner)
    return by_depth[0], by_depth[-1]


def _require_independent_ranges(order: Sequence[ForOp]) -> None:
    for position, loop in enumerate(order):
        inside = {nest.loop_var(inner) for inner in order[position + 1 :]}
        for bound in (as_index(loop.min), as_index(loop.extent)):
            later = [v for v in bound.leaves() if v in inside]
            if later:
                raise Refusal(f"the range of {label(loop)} depends on {nest.value_name(later[0])}, "
                              "which would be inside it", loop)  # fmt: skip


def _require_reorderable_blocks(bottom: ForOp, nested: Sequence[ForOp]) -> None:
    """Each block may run its instances in any order; blocks meet only within an iteration."""
    variables = [nest.loop_var(loop) for loop in nested]
    blocks = nest.child_blocks(bottom)
    for block in blocks:
        require_orderable(block)
        if accumulates(block):
            _require_reduction_order(block, variables)
    for number, first in enumerate(blocks):
        for second in blocks[number + 1 :]:
            if not same_iteration(first, second, variables):
                raise Refusal(
                    f"{label(first)} and {label(second)} meet in a buffer across iterations",
                    first, second,
                )  # fmt: skip


def _require_reduction_order(block: BlockOp, variables: Sequence[ir.Value]) -> None:
    if not bindings_determine(block, variables):
        raise Refusal(f"cannot prove that every iteration runs its own instance of {label(block)}, "
                      "so the order of its updates matters", block)  # fmt: skip
    reason = init_may_move(block, variables) if has_init(block) else None
    if reason is not None:
        raise Refusal(reason, block)


def init_may_move(block: BlockOp, variables: Sequence[ir.Value]) -> str | None:
    """Why the instance with the init might not stay first of its output in another loop order.

    It stays first when the loops of the reduction variables are none of the output's and start
    where those variables do; or when reduction variables grow with their loops and those choose the
    output independently: no division mixes two loops, no loop is part of both kinds of binding as
    it is.
    """
    if _init_is_first(block):
        return None
    direct: dict[str, set[ir.Value]] = {"S": set(), "R": set()}
    for binding, kind in zip(block.bindings, block.kinds, strict=True):
        for monomial, k in as_index(binding).terms.items():
            inside = [v for v in Index({monomial: 1}).leaves() if v in variables]
            if kind == "R" and k < 0 and inside:
                return f"{label(block)} walks a reduction backwards"
            if len(inside) > 1:
                return f"a binding of {label(block)} divides a combination of the loops"
            if Index({monomial: 1}).as_leaf() is not None:
                direct[kind].update(inside)
    shared = direct["S"] & direct["R"]
    if shared:
        name = nest.value_name(shared.pop())
        return f"loop {name} is part of a spatial and of a reduction binding of {label(block)}"
    return None


def _init_is_first(block: BlockOp) -> bool:
    """True when an output's loops are not those of its reduction, and the init is in the iteration
    in which all of the latter are at their start: that one is first in every order."""
    bindings = [as_index(binding) for binding in block.bindings]
    rows = list(zip(bindings, block.kinds, block.domain_pairs, strict=True))
    loops = {kind: {v for b, k, _ in rows if k == kind for v in b.leaves()} for kind in "SR"}
    domains = {value: value_domain(value) for value in loops["R"]}
    if loops["S"] & loops["R"] or not all(domains.values()):
        return False
    start = {value: domain[0] for value, domain in domains.items() if domain is not None}
    return all(b.substitute(start) == as_index(low) for b, k, (low, _) in rows if k == "R")


def _rearrange(nested: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    for number, outer in enumerate(nested[:-1]):
        sink(outer, nested[number + 1].block)
    top, content = nested[0], nested[-1].block
    # A constant marks the place of the nest while its loops are taken apart.
    marker = arith.ConstantOp(ir.IndexType.get(), 0, ip=ir.InsertionPoint(top)).operation
    for outer in nested[:-1]:
        for op in nest.operations(outer.block):
            op.operation.move_before(marker)
    top.operation.move_before(marker)
    body = nest.operations(content)
    if order[-1] != nested[-1]:
        for op in body:
            order[-1].block.append(op.operation)
    for outer, inner in itertools.pairwise(order):
        outer.block.append(inner.operation)
    order[0].operation.move_before(marker)
    marker.erase()


def add_unit_loop(state: ScheduleState, place: ForOp | BlockOp) -> ForOp:
    """A loop of one iteration around a loop or block."""
    loop = new_loop("u", 1, ir.InsertionPoint(place))
    loop.block.append(place.operation)
    return loop


def static_extent(loop: ForOp) -> int | None:
    return as_index(loop.extent).as_constant()


def has_init(block: BlockOp) -> bool:
    return init_of(block) is not None
