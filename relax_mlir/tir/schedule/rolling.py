"""A buffer that keeps what the next iteration needs again: rolling_buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, dynamic, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import Interval, bounded, refresh
from relax_mlir.tir.schedule.analysis import (
    consumers,
    init_of,
    is_local_to,
    read_buffers,
    require_block,
    require_complete_or_reduction,
    siblings,
    writers,
    writes_of,
)
from relax_mlir.tir.schedule.annotate import access_buffer
from relax_mlir.tir.schedule.body import iter_values
from relax_mlir.tir.schedule.compute_location import covers
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.facts import unchanged
from relax_mlir.tir.schedule.index import Index, as_index, leaf
from relax_mlir.tir.schedule.inline import predicate_is_domain, require_plain_uses, single_store
from relax_mlir.tir.schedule.layout import map_access, retype
from relax_mlir.tir.schedule.pad_blocks import compare
from relax_mlir.tir.schedule.state import ScheduleState, buffer_shape, erase_dead_arithmetic


@dataclass(frozen=True)
class Overlap:
    """In dimension `number` an iteration of `loop` makes `[low, low + size)`, of which the first
    `shared` elements are those that the iteration before made last."""

    number: int
    loop: ForOp
    low: Index
    size: int
    shared: int


def rolling_buffer(state: ScheduleState, block: ir.OpView, write_buffer_index: int) -> None:
    """Let a producer inside its consumer's loops compute only what earlier iterations did not, in a
    buffer that wraps around.  Its order and that of its consumers is fixed from then on."""
    block = require_block(block)
    buffer = access_buffer(block, write_buffer_index, "write")
    with unchanged():
        users = _require_place(block, buffer)
        overlaps = _overlaps(block, buffer, users)
        if not overlaps:
            raise Refusal(f"iterations of the loops around {label(block)} share nothing of "
                          f"{nest.value_name(buffer)}", block)  # fmt: skip
        rolled = min(overlaps, key=lambda o: len(nest.loops_around(o.loop)))
        for user in users:
            _require_init_elsewhere(user, rolled.loop)
    new = _skip_shared(state, block, overlaps)
    for user in (new, *users):
        _fix_order(user, rolled.loop)
    _wrap(buffer, rolled, [new, *users])
    scope = nest.scope_of(new)
    erase_dead_arithmetic(scope)
    for user in (new, *users):
        refresh(user)


def _require_place(block: BlockOp, buffer: ir.Value) -> list[BlockOp]:
    """The consumers, all below one loop with the block and after it."""
    require_complete_or_reduction(block)
    single_store(block)
    require_plain_uses(buffer, block)
    if not is_local_to(buffer, nest.scope_of(block)):
        raise Refusal(f"{nest.value_name(buffer)} outlives the scope", block)
    if len(writers(buffer, siblings(block))) > 1 or len(writes_of(block)) > 1:
        raise Refusal(f"{label(block)} is not the only writer of its only output", block)
    if any(size == dynamic() for size in ir.MemRefType(buffer.type).shape):
        raise Refusal(f"{nest.value_name(buffer)} has symbolic sizes", block)
    if len(block.predicate) and not predicate_is_domain(block):
        raise Refusal(f"{label(block)} has a predicate", block)
    users = consumers(block)
    common = _common_loop(block, users)
    for user in users:
        if not covers(common, block, user, buffer):
            raise Refusal(f"{label(block)} does not make all that {label(user)} reads in an "
                          f"iteration of {label(common)}", block, user, common)  # fmt: skip
    _require_inputs_kept(block, common)
    for loop in [*nest.loops_around(common), common]:
        if loop.kind.value not in ("serial", "unrolled"):
            raise Refusal(f"{label(loop)} is {loop.kind.value}, a rolling buffer needs its "
                          "iterations in order", loop)  # fmt: skip
    return users


def _require_inputs_kept(block: BlockOp, common: ForOp) -> None:
    """What an earlier iteration computed must be what this one would: its inputs are the same."""
    top = [*nest.loops_around(common), common][0]
    inside = nest.child_blocks(top)
    for buffer in read_buffers(block):
        for maker in writers(buffer, inside):
            before = inside.index(maker) < inside.index(block)
            under = nest.is_ancestor(common, maker)
            if maker != block and not (before and under and covers(common, maker, block, buffer)):
                name = nest.value_name(buffer)
                raise Refusal(f"{label(maker)} may change {name}, which {label(block)} reads, "
                              "between iterations", maker, block)  # fmt: skip


def _common_loop(block: BlockOp, users: Sequence[BlockOp]) -> ForOp:
    shared = [
        loop for loop in nest.loops_around(block) if all(nest.is_ancestor(loop, u) for u in users)
    ]
    if not users or not shared:
        raise Refusal(f"{label(block)} is not under a loop of its consumers", block,
                      hint="compute_at first")  # fmt: skip
    return shared[-1]


def _overlaps(block: BlockOp, buffer: ir.Value, users: Sequence[BlockOp]) -> list[Overlap]:
    common = _common_loop(block, users)
    box = _box(block, buffer, common)
    outer = [*nest.loops_around(common), common]
    found: list[Overlap] = []
    for number, (low, high) in enumerate(box):
        size = (high - low + 1).as_constant()
        moving = [o for o in outer if low.uses(nest.loop_var(o))]
        if not moving:
            continue
        unit = leaf(nest.loop_var(moving[0]))
        stride = low.terms.get(next(iter(unit.terms)), 0)
        rest = low - unit * stride
        plain = len(moving) == 1 and stride > 0 and not rest.uses(nest.loop_var(moving[0]))
        if size is None or not plain or as_index(moving[0].min) != Index():
            raise Refusal(f"{label(block)} makes [{low}, {high}] of {nest.value_name(buffer)}, "
                          "which does not move by a constant step of one loop", block)  # fmt: skip
        found.append(Overlap(number, moving[0], low, size, size - stride))
    loops = [o.loop for o in found]
    for number, loop in enumerate(loops):
        if loop in loops[:number]:
            raise Refusal(f"{label(loop)} moves two dimensions of {nest.value_name(buffer)}", loop)
    return [o for o in found if o.shared > 0]


def _box(block: BlockOp, buffer: ir.Value, loop: ForOp) -> list[Interval]:
    """What the block writes in an iteration of a loop."""
    values = iter_values(block)
    (access,) = [a for a in writes_of(block) if a.buffer == buffer]

    def inside(value: ir.Value) -> bool:
        return value != nest.loop_var(loop) and nest.encloses(loop, value)

    return [
        bounded(o.substitute(values), s.substitute(values), inside, extent)
        for (o, s), extent in zip(access.region, buffer_shape(buffer), strict=True)
    ]


def _skip_shared(state: ScheduleState, block: BlockOp, overlaps: Sequence[Overlap]) -> BlockOp:
    """Run only in the first iteration, or beyond what it shares with the one before."""
    at = ir.InsertionPoint(block)
    values = iter_values(block)
    condition: ir.Value | None = block.predicate[0] if len(block.predicate) else None
    indices = single_store(block).indices
    for overlap in overlaps:
        first = compare(leaf(nest.loop_var(overlap.loop)), Index(), at)
        beyond = indices[overlap.number].substitute(dict(values)) - overlap.low
        part = arith.OrIOp(first, compare(Index({}, overlap.shared), beyond, at), ip=at).result
        condition = part if condition is None else arith.AndIOp(condition, part, ip=at).result
    return state.rebuild_block(block, predicate=condition)


def _require_init_elsewhere(block: BlockOp, loop: ForOp) -> None:
    """An init runs where all reduction variables are at their start, which takes variables of that
    kind; those of a fixed order are not."""
    pairs = zip(block.kinds, block.bindings, strict=True)
    driven = any(kind == "R" and as_index(b).uses(nest.loop_var(loop)) for kind, b in pairs)
    if driven and init_of(block) is not None:
        raise Refusal(f"{label(block)} sums along {label(loop)}, and would begin anew in each "
                      "iteration", block, loop, hint="decompose_reduction first")  # fmt: skip


def _fix_order(block: BlockOp, loop: ForOp) -> None:
    """Mark the variables that the rolling loop drives: their instances run in this order only."""
    kinds = [
        "O" if as_index(binding).uses(nest.loop_var(loop)) else kind
        for kind, binding in zip(block.kinds, block.bindings, strict=True)
    ]
    block.operation.attributes["iter_kinds"] = ir.ArrayAttr.get(
        [ir.StringAttr.get(kind) for kind in kinds]
    )


def _wrap(buffer: ir.Value, rolled: Overlap, blocks: Sequence[BlockOp]) -> None:
    """Let the dimension hold only what one iteration needs, at its index modulo that."""
    shape = [int(size) for size in ir.MemRefType(buffer.type).shape]
    if rolled.size >= shape[rolled.number]:
        return
    for use in [u.owner.operation for u in buffer.uses]:
        if use.name in ("memref.load", "memref.store"):
            position = 0 if use.name == "memref.load" else 1
            map_access(use, position, lambda at: _wrapped(at, rolled))
        elif use.name in ("tir.read", "tir.write"):
            use.erase()
    shape[rolled.number] = rolled.size
    retype(nest.function_of(blocks[0]), buffer, [as_index(size) for size in shape])


def _wrapped(at: list[Index], rolled: Overlap) -> list[Index]:
    return [i % rolled.size if n == rolled.number else i for n, i in enumerate(at)]
