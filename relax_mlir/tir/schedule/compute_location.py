"""Moving a block below a loop of its consumers or producers: compute_at, reverse_compute_at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import Interval, bounded, grows_with, interval, is_exact, join
from relax_mlir.tir.schedule.analysis import (
    Access,
    consumers,
    from_outside,
    init_of,
    is_output,
    is_reduction,
    producers,
    read_buffers,
    reads_of,
    require_block,
    require_complete_or_reduction,
    root_buffer,
    siblings,
    writes_of,
    written_buffers,
)
from relax_mlir.tir.schedule.bindings import determined, varying
from relax_mlir.tir.schedule.body import iter_values
from relax_mlir.tir.schedule.coverage import stores_all_of
from relax_mlir.tir.schedule.digits import Digit, dense, independent
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.facts import remembered, unchanged
from relax_mlir.tir.schedule.index import (
    Index,
    as_index,
    defining,
    floordiv,
    leaf,
    proves_nonnegative,
    value_domain,
)
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import predicate_is_domain
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    buffer_shape,
    erase_dead_arithmetic,
    new_loop,
)

Domain = dict[ir.Value, tuple[Index, Index]]
"""(min, extent) of the iteration variables at the new place."""


def compute_at(
    state: ScheduleState,
    block: ir.OpView,
    loop: ForOp,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> None:
    """Compute, in each iteration of `loop`, what its body reads of the block's output."""
    block = require_block(block)
    with unchanged():
        _require_movable(block, loop)
        if is_output(block):
            raise Refusal(f"{label(block)} writes an output of its scope", block)
        users = consumers(block)
        if not users:
            raise Refusal(f"nothing reads what {label(block)} writes", block)
        for user in users:
            if not nest.is_ancestor(loop, user):
                raise Refusal(f"{label(user)} reads what {label(block)} writes and is not under "
                              f"{label(loop)}", user, loop)  # fmt: skip
        for maker in producers(block):
            if _order(maker) > _order(loop) and not nest.is_ancestor(loop, maker):
                raise Refusal(f"{label(maker)} comes after {label(loop)}", maker, loop)
        _require_inputs_kept(block, loop)
        needed = _regions(written_buffers(block), users, reads_of, loop, shared_by_threads=True)
        domain = _solve(block, writes_of(block), needed, _instances_touching)
        _require_parallel_place(block, domain, loop)
        position = _position(loop, producers(block), users, index)
    _place(state, block, loop, domain, position, preserve_unit_loops)


def reverse_compute_at(
    state: ScheduleState,
    block: ir.OpView,
    loop: ForOp,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> None:
    """Run the block, in each iteration of `loop`, on what its body has produced."""
    block = require_block(block)
    with unchanged():
        _require_movable(block, loop)
        makers = [p for p in producers(block) if nest.is_ancestor(loop, p)]
        if not makers:
            raise Refusal(
                f"nothing under {label(loop)} writes what {label(block)} reads", loop, block
            )
        for maker in producers(block):
            if maker not in makers and _order(maker) > _order(loop):
                raise Refusal(f"{label(maker)} comes after {label(loop)}", maker, loop)
        require_finished(makers, loop)
        for maker in makers:
            require_exact(maker, loop)
        _require_outputs_free(block, loop)
        buffers = [b for m in makers for b in written_buffers(m) if b in read_buffers(block)]
        made = _regions(buffers, makers, writes_of, loop)
        domain = _solve(block, reads_of(block), made, _instances_within)
        _require_contained(block, made, domain, loop)
        _require_all_instances(block, domain, loop)
        _require_parallel_place(block, domain, loop)
        position = _position(loop, makers, consumers(block), index)
    _place(state, block, loop, domain, position, preserve_unit_loops)


# -- conditions -------------------------------------------------------------------------------


def _order(op: ir.OpView) -> list[int]:
    """The place of an operation in program order, for comparison."""
    steps: list[int] = []
    current: ir.OpView | None = op
    while current is not None and current.operation.name != "func.func":
        steps.append(list(current.operation.block.operations).index(current))
        current = nest.parent(current)
    return steps[::-1]


def _require_movable(block: BlockOp, loop: ForOp) -> None:
    if nest.scope_of(block) != nest.scope_of(loop):
        raise Refusal(f"{label(block)} and {label(loop)} are in different scopes", block, loop)
    if nest.is_ancestor(loop, block):
        raise Refusal(f"{label(block)} is already under {label(loop)}", block, loop)
    require_complete_or_reduction(block)
    if len(block.predicate) and not predicate_is_domain(block):
        raise Refusal(f"{label(block)} has a predicate that does not only keep its variables in "
                      "their domain", block)  # fmt: skip


@remembered
def writes_whole_box(maker: BlockOp, loop: ForOp) -> bool:
    """True when what the block writes in one iteration is a whole box of the buffer."""
    own = nest.loop_var(loop)

    def inside(value: ir.Value) -> bool:
        return value != own and nest.encloses(loop, value)

    whole = not len(maker.predicate) or predicate_is_domain(maker)
    return whole and all(
        is_exact(maker, access, inside) and stores_all_of(maker, access)
        for access in writes_of(maker)
    )


def covers(loop: ForOp, maker: BlockOp, reader: BlockOp, buffer: ir.Value) -> bool:
    """True when in each iteration `maker` writes all that `reader` then reads of the buffer."""
    if buffer not in written_buffers(maker) or buffer not in read_buffers(reader):
        return False
    if not writes_whole_box(maker, loop):
        return False
    made = _regions([buffer], [maker], writes_of, loop).get(buffer)
    needed = _regions([buffer], [reader], reads_of, loop).get(buffer)
    if made is None or needed is None:
        return False
    return all(
        proves_nonnegative(low - first) and proves_nonnegative(last - high)
        for (first, last), (low, high) in zip(made, needed, strict=True)
    )


def require_exact(maker: BlockOp, loop: ForOp) -> None:
    """What the block writes in one iteration must be a whole box of the buffer."""
    if not writes_whole_box(maker, loop):
        raise Refusal(f"{label(maker)} does not write a whole box in an iteration of "
                      f"{label(loop)}", maker, loop)  # fmt: skip


def _require_inputs_kept(block: BlockOp, loop: ForOp) -> None:
    """Nothing from the block to the end of the loop's nest may write what the block reads."""
    blocks = siblings(block)
    nest_top = nest.loops_around(loop)[:1] or [loop]
    inside = nest.child_blocks(nest_top[0])
    end = max(blocks.index(b) for b in inside)
    for other in blocks[blocks.index(block) + 1 : end + 1]:
        for buffer in set(written_buffers(other)) & set(read_buffers(block)):
            raise Refusal(f"{label(other)} overwrites {nest.value_name(buffer)}, which "
                          f"{label(block)} reads", other, block)  # fmt: skip


def _require_outputs_free(block: BlockOp, loop: ForOp) -> None:
    """Nothing from the start of the loop's nest to the block may use what the block writes, nor
    write what it reads and is not made under the loop."""
    blocks = siblings(block)
    nest_top = nest.loops_around(loop)[:1] or [loop]
    start = min(blocks.index(b) for b in nest.child_blocks(nest_top[0]))
    for other in blocks[start : blocks.index(block)]:
        used = {*read_buffers(other), *written_buffers(other)} & set(written_buffers(block))
        late = set(written_buffers(other)) & set(read_buffers(block))
        late = late if not nest.is_ancestor(loop, other) else set()
        for buffer in [*used, *late]:
            raise Refusal(f"{label(other)} also uses {nest.value_name(buffer)}, and would run "
                          f"after {label(block)}", other, block)  # fmt: skip


def require_finished(makers: Sequence[BlockOp], loop: ForOp) -> None:
    """What the producers make must be complete at the end of an iteration."""
    outer = [*nest.loops_around(loop), loop]
    for maker in makers:
        if not is_reduction(maker):
            continue
        for binding, kind in zip(iter_values(maker).values(), maker.kinds, strict=True):
            for around in outer:
                variable = nest.loop_var(around)
                if kind == "R" and binding.uses(variable) and varying([variable]):
                    raise Refusal(f"{label(around)} is a reduction loop of {label(maker)}, whose "
                                  "result is not complete inside it", around, maker)  # fmt: skip


def _require_parallel_place(block: BlockOp, domain: Domain, loop: ForOp) -> None:
    """Under loops that do not run in order, updates of an element must stay in one iteration."""
    for around in [*nest.loops_around(loop), loop]:
        if around.kind.value in ("serial", "unrolled"):
            continue
        variable = nest.loop_var(around)
        across = (nest.thread_axis(around) or "").startswith("threadIdx")
        rows = zip(block.kinds, domain.values(), strict=True)
        if not across and any(kind == "R" and low.uses(variable) for kind, (low, _) in rows):
            raise Refusal(f"{label(around)} does not run in order and would drive a reduction of "
                          f"{label(block)}", around, block)  # fmt: skip
        lows = [low for low, _ in domain.values()]
        own = all(_is_of_each(around, buffer) for buffer in written_buffers(block))
        if init_of(block) is not None and not own and not _disjoint(domain, lows, [variable]):
            raise Refusal(f"iterations of {label(around)}, which do not run in order, would update "
                          f"the same elements in {label(block)}", around, block)  # fmt: skip


# -- regions ----------------------------------------------------------------------------------


def _regions(
    buffers: Sequence[ir.Value],
    blocks: Sequence[BlockOp],
    accesses: Callable[[BlockOp], Sequence[Access]],
    loop: ForOp,
    shared_by_threads: bool = False,
) -> dict[ir.Value, list[Interval]]:
    """What `blocks` access of `buffers` in one iteration of `loop`, by the loops outside.

    With `shared_by_threads`, what all threads that share a buffer access of it.
    """
    around = [*nest.loops_around(loop), loop]
    threads: set[ir.Value] = set()
    own = nest.loop_var(loop)

    def inside(value: ir.Value) -> bool:
        return (value != own and nest.encloses(loop, value)) or value in threads

    found: dict[ir.Value, list[Interval]] = {}
    for block in blocks:
        for access in accesses(block):
            buffer = root_buffer(access.buffer)
            if buffer not in buffers or buffer != access.buffer:
                continue
            if shared_by_threads:
                threads = {nest.loop_var(o) for o in around if _shares(o, buffer)}
            region = from_outside(block, access.region)
            box = [
                bounded(offset, size, inside, extent)
                for (offset, size), extent in zip(region, buffer_shape(buffer), strict=True)
            ]
            found[buffer] = join(found[buffer], box) if buffer in found else box
    return found


_SHARED_BY = {"global": ("blockIdx", "threadIdx", "vthread"), "shared": ("threadIdx", "vthread")}
"""The thread axes whose iterations see the same buffer of a storage scope."""


def _shares(loop: ForOp, buffer: ir.Value) -> bool:
    """True for a loop bound to threads that all see the buffer."""
    producer = defining(buffer)
    thread = nest.thread_axis(loop)
    if thread is None or producer is None or "scope" not in producer.attributes:
        return False
    scope = ir.StringAttr(producer.attributes["scope"]).value.split(".")[0]
    return thread.startswith(_SHARED_BY.get(scope, ("no thread",)))


def _is_of_each(loop: ForOp, buffer: ir.Value) -> bool:
    """True when every iteration of a loop bound to threads has the buffer for itself."""
    producer = defining(buffer)
    allocated = producer is not None and "scope" in producer.attributes
    return allocated and nest.thread_axis(loop) is not None and not _shares(loop, buffer)


Solver = Callable[[int, Index, Index, Interval], Interval]


def _instances_touching(c: int, d: Index, size: Index, box: Interval) -> Interval:
    """The v for which `[c * v + d, c * v + d + size)` meets the box."""
    factor = Index({}, c)
    return floordiv(box[0] - d - size + c, factor), floordiv(box[1] - d, factor)


def _instances_within(c: int, d: Index, size: Index, box: Interval) -> Interval:
    """The v for which `[c * v + d, c * v + d + size)` lies in the box."""
    factor = Index({}, c)
    return floordiv(box[0] - d + c - 1, factor), floordiv(box[1] - d - size + 1, factor)


def _solve(
    block: BlockOp,
    accesses: Sequence[Access],
    boxes: dict[ir.Value, list[Interval]],
    solver: Solver,
) -> Domain:
    """The ranges of the iteration variables that follow from the regions; else the full domain."""
    domain: Domain = {}
    pairs = [(as_index(low), as_index(extent)) for low, extent in block.domain_pairs]
    full = dict(zip(nest.iter_vars(block), pairs, strict=True))
    for access in accesses:
        for (offset, size), box in zip(access.region, boxes.get(access.buffer, ()), strict=False):
            form = _linear_in_one(offset, block)
            if form is None or size.uses(form[0]):
                continue
            variable, factor, rest = form
            low, high = solver(factor, rest, size, box)
            extent = high - low + 1
            _narrow(domain, full, variable, low, extent)
    return {v: domain.get(v, full[v]) for v in nest.iter_vars(block)}


def _linear_in_one(offset: Index, block: BlockOp) -> tuple[ir.Value, int, Index] | None:
    """`(v, c, d)` for an offset `c * v + d` with one iteration variable and a constant c > 0."""
    variables = [v for v in offset.leaves() if nest.encloses(block, v)]
    if len(variables) != 1 or variables[0] not in nest.iter_vars(block):
        return None
    (variable,) = variables
    unit = leaf(variable)
    factor = offset.terms.get(next(iter(unit.terms)), 0)
    rest = offset - unit * factor
    return None if factor <= 0 or rest.uses(variable) else (variable, factor, rest)


def _narrow(domain: Domain, full: Domain, variable: ir.Value, low: Index, extent: Index) -> None:
    whole = full[variable]
    bound = extent.bounds()[1]
    if not extent.is_constant and bound is not None:
        extent = Index({}, bound)
    if not extent.is_constant and any(value_domain(v) is not None for v in extent.leaves()):
        return
    if proves_nonnegative(extent - whole[1]):
        low, extent = whole
    known = domain.get(variable)
    if known is None or (proves_nonnegative(known[1] - extent - 1)):
        domain[variable] = (low, extent)


def _require_contained(
    block: BlockOp, made: dict[ir.Value, list[Interval]], domain: Domain, loop: ForOp
) -> None:
    """At the new place the block must only read what has been produced there."""
    values = {v: low for v, (low, _) in domain.items()}
    ends = {v: low + extent - 1 for v, (low, extent) in domain.items()}
    for access in reads_of(block):
        for (offset, size), box in zip(access.region, made.get(access.buffer, ()), strict=False):
            end = offset + size - 1
            first, last = offset.substitute(values), end.substitute(ends)
            inside = proves_nonnegative(first - box[0]) and proves_nonnegative(box[1] - last)
            if not (inside and grows_with(offset, values) and grows_with(end, values)):
                raise Refusal(f"{label(block)} reads more of {nest.value_name(access.buffer)} than "
                              f"an iteration of {label(loop)} produces", block, loop)  # fmt: skip


def _require_all_instances(block: BlockOp, domain: Domain, loop: ForOp) -> None:
    """Over all iterations every instance must run, one of a reduction exactly once."""
    outer = [nest.loop_var(around) for around in [*nest.loops_around(loop), loop]]
    digits: list[Digit] = []
    for variable, (low, extent) in zip(nest.iter_vars(block), block.domain_pairs, strict=True):
        found = _covering(domain[variable], as_index(low), as_index(extent), outer)
        if found is None:
            name = nest.value_name(variable)
            raise Refusal(f"the iterations of {label(loop)} do not reach every value of {name} of "
                          f"{label(block)}", block, loop)  # fmt: skip
        digits += found
    if not independent(digits):
        raise Refusal(f"the iterations of {label(loop)} do not reach every instance of "
                      f"{label(block)}", block, loop)  # fmt: skip
    lows = [low for low, _ in domain.values()]
    if is_reduction(block) and not _disjoint(domain, lows, outer):
        raise Refusal(f"iterations of {label(loop)} would run the same instance of {label(block)} "
                      "more than once, and it accumulates", block, loop)  # fmt: skip


def _covering(
    own: tuple[Index, Index], low: Index, extent: Index, outer: list[ir.Value]
) -> list[Digit] | None:
    """The digits of the outer loops with which `[start, start + size)` covers the domain."""
    start, size = own
    whole = interval(start, lambda v: v in outer)
    if whole is None:
        return None
    begins, ends = proves_nonnegative(low - whole[0]), whole[1] + size - low - extent
    if not (begins and proves_nonnegative(ends)):
        return None
    return [] if size == extent else dense(start, size, lambda v: v in outer)


def _disjoint(domain: Domain, lows: list[Index], outer: list[ir.Value]) -> bool:
    for low, extent in domain.values():
        for monomial, k in low.terms.items():
            inside = [v for v in Index({monomial: 1}).leaves() if v in outer]
            if varying(inside) and not proves_nonnegative(Index({}, abs(k)) - extent):
                return False
    others = [v for low in lows for v in low.leaves() if v not in outer]
    return all(v in determined(lows, others) for v in varying(outer))


# -- the move ---------------------------------------------------------------------------------


def _position(
    loop: ForOp,
    before: Sequence[BlockOp],
    after: Sequence[BlockOp],
    index: int,
) -> ir.OpView | None:
    """The statement of the loop's body to go before, None for the end.

    `index` -1 is the last possible place, -2 the first, otherwise the number of the statement.
    """
    body = nest.statements(loop.block)
    first_place = max((n + 1 for n, op in enumerate(body) if _holds(op, before)), default=0)
    last_place = min((n for n, op in enumerate(body) if _holds(op, after)), default=len(body))
    if first_place > last_place:
        raise Refusal(f"no place under {label(loop)} is after all producers and before all "
                      "consumers", loop)  # fmt: skip
    chosen = {-1: last_place, -2: first_place}.get(index, index)
    if not first_place <= chosen <= last_place:
        raise Refusal(f"index {index} is not between {first_place} and {last_place}", loop)
    return body[chosen] if chosen < len(body) else None


def _holds(op: ir.OpView, blocks: Sequence[BlockOp]) -> bool:
    return any(nest.is_ancestor(op, block) for block in blocks)


def _place(
    state: ScheduleState,
    block: BlockOp,
    loop: ForOp,
    domain: Domain,
    position: ir.OpView | None,
    preserve_unit_loops: bool,
) -> None:
    guards = _domain_guards(block, domain)
    at = ir.InsertionPoint(loop.block) if position is None else ir.InsertionPoint(position)
    attributes = {}
    if "iter_dtype" in block.operation.attributes:
        attributes["dtype"] = block.operation.attributes["iter_dtype"]
    bindings: list[Index] = []
    loops: list[ForOp] = []
    for variable in nest.iter_vars(block):
        low, extent = domain[variable]
        if extent == Index({}, 1) and not preserve_unit_loops:
            bindings.append(low)
            continue
        new = new_loop(f"ax{len(loops)}", extent, at, attributes=attributes)
        loops.append(new)
        at = ir.InsertionPoint(new.block)
        bindings.append(low + leaf(nest.loop_var(new)))
    old_place = nest.parent(block)
    if loops:
        loops[-1].block.append(block.operation)
    elif position is None:
        loop.block.append(block.operation)
    else:
        block.operation.move_before(position.operation)
    moved = state.rebuild_block(block, bindings=bindings, predicate=None)
    _guard(state, moved, guards)
    assert old_place is not None
    scope = nest.scope_of(loop)
    _remove_empty(state, old_place)
    erase_dead_arithmetic(scope)


def _domain_guards(block: BlockOp, domain: Domain) -> dict[int, tuple[bool, bool]]:
    """Which iteration variables may leave their domain: (below, above) by number."""
    guards: dict[int, tuple[bool, bool]] = {}
    rows = zip(nest.iter_vars(block), block.domain_pairs, strict=True)
    for number, (variable, (low, extent)) in enumerate(rows):
        start, size = domain[variable]
        below = not proves_nonnegative(start - as_index(low))
        limit = as_index(low) + as_index(extent)
        above = not proves_nonnegative(limit - start - size)
        if below or above:
            guards[number] = (below, above)
    return guards


def _guard(state: ScheduleState, block: BlockOp, guards: dict[int, tuple[bool, bool]]) -> BlockOp:
    """Let the block run only where its variables are in their domains."""
    if not guards:
        return block
    at = ir.InsertionPoint(block)
    parts: list[ir.Value] = []
    for number, (below, above) in guards.items():
        binding = as_index(block.bindings[number])
        low, extent = (as_index(e) for e in block.domain_pairs[number])
        if below:
            parts.append(_compare(arith.CmpIPredicate.sle, low, binding, at))
        if above:
            parts.append(_compare(arith.CmpIPredicate.slt, binding, low + extent, at))
    condition = parts[0]
    for part in parts[1:]:
        condition = arith.AndIOp(condition, part, ip=at).result
    return state.rebuild_block(block, predicate=condition)


def _compare(
    predicate: arith.CmpIPredicate, left: Index, right: Index, at: ir.InsertionPoint
) -> ir.Value:
    return arith.CmpIOp(predicate, write(left, at), write(right, at), ip=at).result


def _remove_empty(state: ScheduleState, op: ir.OpView) -> None:
    """Erase a loop that holds nothing any more, and the loops that then hold nothing."""
    current: ir.OpView | None = op
    while current is not None and not nest.is_scope(current):
        above = nest.parent(current)
        if nest.statements(nest.body_of(current)) or len(current.operation.results):
            return
        state.erase(current)
        current = above
