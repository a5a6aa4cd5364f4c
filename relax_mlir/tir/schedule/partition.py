"""One loop as several that follow each other: loop_partition."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import require_block_bodies
from relax_mlir.tir.schedule.body import Copier
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import as_index, leaf
from relax_mlir.tir.schedule.loops import require_plain
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    erase_dead_arithmetic,
    loop_dtype,
    new_block,
    new_loop,
)


def loop_partition(
    state: ScheduleState,
    loop: ForOp,
    factors: Sequence[int | None],
    preserve_unit_iters: bool = True,
) -> list[ForOp]:
    """Replace a loop by loops over consecutive parts of its range; these loops.

    Each part is in a block of its own, and all of them in one. `factors` are the lengths of the
    parts; one None stands for the rest, and a rest that is not named is a last part.
    """
    require_plain(loop)
    if loop.kind.value != "serial":
        raise Refusal(f"{label(loop)} is {loop.kind.value}", loop, hint="partition it first")
    require_block_bodies(loop)
    lengths = _lengths(loop, factors)
    if not preserve_unit_iters and 1 in lengths:
        raise Refusal("a part of one iteration needs its loop", loop,
                      hint="preserve_unit_iters=True")  # fmt: skip
    name = nest.value_name(nest.loop_var(loop), "i")
    first = _first_block(loop).sym_name.value
    common = new_block(f"{first}_{name}_common", [], ir.InsertionPoint(loop))
    made: list[ForOp] = []
    begin = as_index(loop.min)
    for number, length in enumerate(lengths):
        at = ir.InsertionPoint(common.block)
        part = new_block(f"{first}_{name}{number}_partition", [], at)
        at = ir.InsertionPoint(part.block)
        new = new_loop(f"{name}{number}", length, at, low=begin, attributes=loop_dtype(loop))
        _fill(loop, new, f"_{name}{number}")
        made.append(new)
        begin = begin + length
    scope = nest.scope_of(loop)
    state.erase(loop)
    erase_dead_arithmetic(scope)
    refresh(scope if isinstance(scope, BlockOp) else common)
    return made


def _lengths(loop: ForOp, factors: Sequence[int | None]) -> list[int]:
    extent = as_index(loop.extent).as_constant()
    if extent is None or as_index(loop.min).as_constant() is None:
        raise Refusal(f"{label(loop)} has no constant range", loop)
    if not factors or list(factors).count(None) > 1:
        raise Refusal("loop_partition takes lengths, of which at most one is None", loop)
    if any(f is not None and f <= 0 for f in factors):
        raise Refusal(f"a length of {list(factors)} is not positive", loop)
    rest = extent - sum(f for f in factors if f is not None)
    if rest <= 0:
        raise Refusal(f"the lengths {list(factors)} leave nothing of the {extent} iterations of "
                      f"{label(loop)} for the last part", loop)  # fmt: skip
    if None not in factors:
        factors = [*factors, None]
    return [rest if f is None else f for f in factors]


def _first_block(loop: ForOp) -> BlockOp:
    blocks = nest.child_blocks(loop)
    if not blocks:
        raise Refusal(f"{label(loop)} holds no block", loop)
    return blocks[0]


def _fill(old: ForOp, new: ForOp, suffix: str) -> None:
    """Copy the body of a loop into one over a part of its range; its blocks get a suffix."""
    variable, part = nest.loop_var(old), nest.loop_var(new)
    Copier(ir.InsertionPoint(new.block), {variable: leaf(part)}).clone_all(
        nest.operations(old.block)
    )
    for block in nest.blocks_of(new):
        name = f"{block.sym_name.value}{suffix}"
        block.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        _narrow(block, new)


def _narrow(block: BlockOp, loop: ForOp) -> None:
    """A spatial variable that is the loop's has its range.  One of a reduction keeps its domain,
    whose start says when the init runs."""
    flat = [e for pair in block.domain_pairs for e in pair]
    if any(not isinstance(e, int) for e in flat) or nest.scope_of(block) != nest.scope_of(loop):
        return
    low, extent = as_index(loop.min).as_constant(), as_index(loop.extent).as_constant()
    assert low is not None and extent is not None, "the lengths are constant"
    for number, (binding, kind) in enumerate(zip(block.bindings, block.kinds, strict=True)):
        if kind == "S" and as_index(binding) == leaf(nest.loop_var(loop)):
            flat[2 * number : 2 * number + 2] = [low, extent]
    block.operation.attributes["domains"] = ir.DenseI64ArrayAttr.get(flat)
