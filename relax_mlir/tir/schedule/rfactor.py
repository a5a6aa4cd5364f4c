"""Partial results of a reduction: rfactor."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import bindings_of, chain, init_of
from relax_mlir.tir.schedule.body import Copier, body_statements, stores_in
from relax_mlir.tir.schedule.caching import buffer_attributes, last_allocation
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import conditions
from relax_mlir.tir.schedule.reducers import Reducer
from relax_mlir.tir.schedule.reduction import (
    Condition,
    Row,
    copy_dtype,
    join_conditions,
    loop_kinds,
    require_reduction,
    spatial_rows,
    spatial_values,
)
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    alloc_buffer,
    buffer_shape,
    erase_dead_arithmetic,
    new_block,
    new_init,
    new_loop,
)


def rfactor(state: ScheduleState, loop: ForOp, factor_axis: int) -> BlockOp:
    """Let each iteration of a reduction loop have a partial result; the block that makes them.

    The partial results are an axis of a new buffer at `factor_axis`; the old block combines them.
    """
    block = _only_block(loop)
    around = nest.loops_around(block)
    kinds = loop_kinds(block, around)
    for outer, driven in zip(around, kinds, strict=True):
        if driven == {"S", "R"}:
            raise Refusal(f"{label(outer)} drives spatial and reduction variables", outer)
    reducing = [o for o, driven in zip(around, kinds, strict=True) if driven == {"R"}]
    if loop not in reducing:
        raise Refusal(f"{label(loop)} is not a reduction loop of {label(block)}", loop, block)
    reducer = Reducer.of(block)
    _require_order_kept(reducer, loop, reducing)
    rank = ir.MemRefType(reducer.buffers[0].type).rank
    axis = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
    if not 0 <= axis <= rank:
        raise Refusal(f"factor_axis {factor_axis} is not in [{-rank - 1}, {rank}]", block)
    parts = _partial_conditions(block, loop, reducing)
    others = [o for o in reducing if o != loop]
    factored, partial = _partial_block(reducer, loop, others, axis)
    nested = [o for o in around if o not in others]
    after = ir.InsertionPoint.after(around[0])
    combined = _combining_block(reducer, loop, nested, after, partial, (axis, parts))
    state.moved(block, combined)
    state.erase(block)
    erase_dead_arithmetic(nest.scope_of(factored))
    return factored


def _only_block(loop: ForOp) -> BlockOp:
    blocks = nest.child_blocks(loop)
    if len(blocks) != 1:
        raise Refusal(f"{label(loop)} holds {len(blocks)} blocks", loop)
    block = require_reduction(blocks[0])
    top = nest.loops_around(block)[0]
    for op, below in zip(chain(top, block), chain(top, block)[1:], strict=False):
        if not isinstance(op, ForOp) or nest.statements(op.block) != [below]:
            raise Refusal(f"{label(op)} holds more than {label(below)}", op)
    return block


def _require_order_kept(reducer: Reducer, loop: ForOp, reducing: Sequence[ForOp]) -> None:
    """Where the first of equal candidates wins, partial results must be of consecutive steps."""
    if reducer.by_order and reducing.index(loop):
        raise Refusal(f"{label(reducer.block)} keeps the first of equal values, and partial "
                      f"results of {label(loop)} would compare them in another order", loop,
                      hint="take the outermost reduction loop, or break ties by the index",
                      )  # fmt: skip


def _partial_conditions(block: BlockOp, loop: ForOp, loops: Sequence[ForOp]) -> list[Condition]:
    """The parts of the predicate over spatial loops; the others must leave every partial result
    at least the instance that initialises it."""
    if not len(block.predicate):
        return []
    reducing = {nest.loop_var(o) for o in loops}
    first = {v: Index() for v in reducing if v != nest.loop_var(loop)}
    kept: list[Condition] = []
    for value, limit in conditions(block.predicate[0]):
        if not any(v in reducing for v in [*value.leaves(), *limit.leaves()]):
            kept.append((value, limit))
        elif not proves_nonnegative((limit - value - 1).substitute(first)):
            raise Refusal(f"the predicate {value} < {limit} of {label(block)} would leave partial "
                          "results without a value", block,
                          hint="split the reduction into factors that divide it")  # fmt: skip
    return kept


def _partial_block(
    reducer: Reducer, loop: ForOp, reducing: Sequence[ForOp], axis: int
) -> tuple[BlockOp, list[ir.Value]]:
    block = reducer.block
    at = ir.InsertionPoint(block)
    rows: list[Row] = [_loop_row(loop, "S"), *spatial_rows(block, {})]
    rows += [_loop_row(o, "R") for o in reducing]
    name = f"{block.sym_name.value}_rf"
    predicate = block.predicate[0] if len(block.predicate) else None
    new = new_block(name, rows, at, predicate)
    copy_dtype(block, new)
    first = leaf(nest.iter_vars(new)[0])
    values = spatial_values(block, new, skip=1)
    inner = nest.iter_vars(new)[len(nest.iter_vars(new)) - len(reducing) :]
    loops = {nest.loop_var(o): leaf(v) for o, v in zip(reducing, inner, strict=True)}
    loops[nest.loop_var(loop)] = first
    for variable, kind, binding in zip(
        nest.iter_vars(block), block.kinds, bindings_of(block), strict=True
    ):
        if kind == "R":
            values[variable] = binding.substitute(loops)
    old_init = init_of(block)
    assert old_init is not None
    init = new_init(ir.InsertionPoint(new.block))
    Copier(ir.InsertionPoint(init.body.blocks[0]), dict(values)).clone_all(
        nest.operations(old_init.body.blocks[0])
    )
    Copier(ir.InsertionPoint(new.block), dict(values)).clone_all(body_statements(block))
    made = [_partial_buffer(block, buffer, loop, axis) for buffer in reducer.buffers]
    for old, partial in zip(reducer.buffers, made, strict=True):
        add_dimension(new, old, partial, axis, first)
    if len(made) > 1:
        for store in stores_in(new):
            _name_update(store)
    refresh(new)
    return new, made


def _partial_buffer(block: BlockOp, buffer: ir.Value, loop: ForOp, axis: int) -> ir.Value:
    place = last_allocation(nest.scope_of(block))
    shape = buffer_shape(buffer, place)
    shape.insert(axis, as_index(loop.extent))
    element = ir.MemRefType(buffer.type).element_type
    name, kept = f"{nest.value_name(buffer)}_rf", buffer_attributes(buffer)
    return alloc_buffer(name, shape, element, "global", place, kept).result


def _name_update(store: ir.Operation) -> None:
    """Name what is stored after the buffer: with several outputs it stays a variable of its own."""
    name = f"v_{nest.value_name(store.operands[1])}"
    store.operands[0].owner.operation.location = ir.Location.name(name)


def _loop_row(loop: ForOp, kind: str) -> Row:
    variable = nest.loop_var(loop)
    domain = (as_index(loop.min), as_index(loop.extent))
    return f"v{nest.value_name(variable, 'i')}", kind, domain, leaf(variable)


def add_dimension(block: BlockOp, old: ir.Value, new: ir.Value, axis: int, position: Index) -> None:
    """Let accesses to `old` go to `new`, which has one more dimension, at `position` of it."""
    for op in list(nest.descend(block)):
        operation = op.operation
        number = {"memref.load": 0, "memref.store": 1}.get(operation.name)
        if number is None or operation.operands[number] != old:
            continue
        at = ir.InsertionPoint(operation)
        indices = list(operation.operands)[number + 1 :]
        indices.insert(axis, write(position, at))
        if number == 0:
            loaded = memref.LoadOp(new, indices, ip=at)
            operation.results[0].replace_all_uses_with(loaded.result)
        else:
            memref.StoreOp(operation.operands[0], new, indices, ip=at)
        operation.erase()


def _combining_block(
    reducer: Reducer,
    loop: ForOp,
    nested: Sequence[ForOp],
    at: ir.InsertionPoint,
    partial: Sequence[ir.Value],
    layout: tuple[int, Sequence[Condition]],
) -> BlockOp:
    block = reducer.block
    axis, parts = layout
    values: dict[ir.Value, Index] = {}
    for old in nested:
        extent, low = as_index(old.extent).substitute(values), as_index(old.min).substitute(values)
        kept = {k: old.operation.attributes[k] for k in ("dtype",)
                if k in old.operation.attributes}  # fmt: skip
        name = nest.value_name(nest.loop_var(old), "i")
        new = new_loop(name, extent, at, low=low, attributes=kept)
        values[nest.loop_var(old)] = leaf(nest.loop_var(new))
        at = ir.InsertionPoint(new.block)
    name, _, domain, binding = _loop_row(loop, "R")
    rows: list[Row] = [(name, "R", domain, binding.substitute(values))]
    rows += spatial_rows(block, values)
    predicate = join_conditions(
        [(v.substitute(values), limit.substitute(values)) for v, limit in parts], at
    )
    made = new_block(block.sym_name.value, rows, at, predicate)
    copy_dtype(block, made)
    spatial = spatial_values(block, made, skip=1)
    old_init = init_of(block)
    assert old_init is not None
    init = new_init(ir.InsertionPoint(made.block))
    Copier(ir.InsertionPoint(init.body.blocks[0]), dict(spatial)).clone_all(
        nest.operations(old_init.body.blocks[0])
    )
    _write_combination(reducer, made, partial, axis, spatial)
    refresh(made)
    return made


def _write_combination(
    reducer: Reducer,
    made: BlockOp,
    partial: Sequence[ir.Value],
    axis: int,
    spatial: dict[ir.Value, Index],
) -> None:
    inner = ir.InsertionPoint(made.block)
    indices = [write(i.substitute(spatial), inner) for i in reducer.indices]
    wider = list(indices)
    wider.insert(axis, nest.iter_vars(made)[0])
    old = [memref.LoadOp(buffer, indices, ip=inner).result for buffer in reducer.buffers]
    new = [memref.LoadOp(buffer, wider, ip=inner).result for buffer in partial]
    combined = reducer.combine(old, new, inner)
    for value, buffer in zip(combined, reducer.buffers, strict=True):
        store = memref.StoreOp(value, buffer, indices, ip=inner)
        if len(combined) > 1:
            _name_update(store.operation)
