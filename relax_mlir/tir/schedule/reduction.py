"""Taking reductions apart: decompose_reduction, rfactor."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    bindings_of,
    chain,
    init_of,
    not_reduction,
    require_block,
    written_buffers,
)
from relax_mlir.tir.schedule.body import Copier, body_statements
from relax_mlir.tir.schedule.caching import buffer_attributes, last_allocation
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import conditions, single_store
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    alloc_buffer,
    buffer_shape,
    erase_dead_arithmetic,
    new_block,
    new_init,
    new_loop,
)

_KEPT = ("dtype", "thread", "annotations")


def require_reduction(block: ir.OpView) -> BlockOp:
    block = require_block(block)
    reason = not_reduction(block)
    if reason is not None:
        raise Refusal(f"{label(block)} is not a reduction block: {reason}", block)
    return block


def loop_kinds(block: BlockOp, loop: ForOp) -> set[str]:
    """The kinds of the iteration variables that a loop drives."""
    pairs = zip(bindings_of(block), block.kinds, strict=True)
    return {kind for binding, kind in pairs if binding.uses(nest.loop_var(loop))}


# -- decompose_reduction ----------------------------------------------------------------------


def decompose_reduction(state: ScheduleState, block: ir.OpView, loop: ForOp) -> BlockOp:
    """Run the init of a reduction in a block of its own before `loop`; that block."""
    block = require_reduction(block)
    around = nest.loops_around(block)
    if loop not in around:
        raise Refusal(f"{label(loop)} is not around {label(block)}", loop, block)
    position = around.index(loop)
    for outer in around[:position]:
        if "R" in loop_kinds(block, outer):
            raise Refusal(f"the reduction loop {label(outer)[5:]} is outside of {label(loop)}",
                          outer, loop, hint="take the outermost reduction loop or one outside of "
                          "it")  # fmt: skip
    spatial = [inner for inner in around[position:] if "S" in loop_kinds(block, inner)]
    parts = _init_conditions(block, around[:position], spatial)
    init_block = _init_block(block, loop, spatial, parts)
    old_init = init_of(block)
    assert old_init is not None
    old_init.operation.erase()
    block.operation.attributes["sym_name"] = ir.StringAttr.get(f"{block.sym_name.value}_update")
    refresh(block)
    return init_block


Condition = tuple[Index, Index]


def _init_conditions(
    block: BlockOp, outer: Sequence[ForOp], spatial: Sequence[ForOp]
) -> list[Condition]:
    """The parts of the predicate that the init needs: those over loops that it is under."""
    if not len(block.predicate):
        return []
    known = {nest.loop_var(loop) for loop in [*outer, *spatial]}
    inside = {nest.loop_var(loop) for loop in nest.loops_around(block)}
    parts: list[Condition] = []
    for value, limit in conditions(block.predicate[0]):
        variables = {v for v in [*value.leaves(), *limit.leaves()] if v in inside}
        if not variables and value == Index({}, -1):
            raise Refusal(f"the predicate of {label(block)} is no comparison of indices", block)
        if variables <= known:
            parts.append((value, limit))
        elif variables & known:
            raise Refusal(f"the predicate {value} < {limit} of {label(block)} mixes spatial and "
                          "reduction loops", block)  # fmt: skip
    return parts


def _init_block(
    block: BlockOp, loop: ForOp, spatial: Sequence[ForOp], parts: Sequence[Condition]
) -> BlockOp:
    at = ir.InsertionPoint(loop)
    values: dict[ir.Value, Index] = {}
    for old in spatial:
        extent, low = as_index(old.extent).substitute(values), as_index(old.min).substitute(values)
        attributes = old.operation.attributes
        kept = {k: attributes[k] for k in _KEPT if k in attributes}
        name = f"{nest.value_name(nest.loop_var(old), 'i')}_init"
        new = new_loop(name, extent, at, low=low, kind=old.kind.value, attributes=kept)
        values[nest.loop_var(old)] = leaf(nest.loop_var(new))
        at = ir.InsertionPoint(new.block)
    rows = spatial_rows(block, values)
    predicate = join_conditions(
        [(v.substitute(values), limit.substitute(values)) for v, limit in parts], at
    )
    new_init_block = new_block(f"{block.sym_name.value}_init", rows, at, predicate)
    copy_dtype(block, new_init_block)
    old_init = init_of(block)
    assert old_init is not None
    copier = Copier(ir.InsertionPoint(new_init_block.block), spatial_values(block, new_init_block))
    copier.clone_all(nest.operations(old_init.body.blocks[0]))
    refresh(new_init_block)
    return new_init_block


Row = tuple[str, str, tuple[Index, Index], Index]


def spatial_rows(block: BlockOp, values: dict[ir.Value, Index]) -> list[Row]:
    """The spatial iteration variables of a block, bound to other loops."""
    return [
        (nest.value_name(v), "S", (as_index(low), as_index(extent)), binding.substitute(values))
        for v, kind, (low, extent), binding in zip(
            nest.iter_vars(block), block.kinds, block.domain_pairs, bindings_of(block), strict=True
        )
        if kind == "S"
    ]


def spatial_values(block: BlockOp, new: BlockOp, skip: int = 0) -> dict[ir.Value, Index]:
    """The spatial variables of `block` as those of `new`, which come after `skip` others."""
    spatial = [v for v, kind in zip(nest.iter_vars(block), block.kinds, strict=True) if kind == "S"]
    made = nest.iter_vars(new)[skip : skip + len(spatial)]
    return {old: leaf(var) for old, var in zip(spatial, made, strict=True)}


def copy_dtype(old: BlockOp, new: BlockOp) -> None:
    if "iter_dtype" in old.operation.attributes:
        new.operation.attributes["iter_dtype"] = old.operation.attributes["iter_dtype"]


def join_conditions(parts: Sequence[Condition], at: ir.InsertionPoint) -> ir.Value | None:
    """`value < limit` for all parts, as one predicate."""
    condition: ir.Value | None = None
    for value, limit in parts:
        part = arith.CmpIOp(
            arith.CmpIPredicate.slt, write(value, at), write(limit, at), ip=at
        ).result
        condition = part if condition is None else arith.AndIOp(condition, part, ip=at).result
    return condition


# -- rfactor ----------------------------------------------------------------------------------

_IDENTITY: dict[str, float | None] = {
    # The value that a partial result may start from; None where any may (the operation is
    # idempotent).
    "arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1, "arith.xori": 0,
    **dict.fromkeys(
        "arith.maximumf arith.minimumf arith.maxnumf arith.minnumf arith.maxsi arith.minsi "
        "arith.maxui arith.minui arith.andi arith.ori".split()
    ),
}  # fmt: skip


def rfactor(state: ScheduleState, loop: ForOp, factor_axis: int) -> BlockOp:
    """Let each iteration of a reduction loop have a partial result; the block that makes them.

    The partial results are an axis of a new buffer at `factor_axis`; the old block combines them.
    """
    block = _only_block(loop)
    around = nest.loops_around(block)
    for outer in around:
        kinds = loop_kinds(block, outer)
        if kinds == {"S", "R"}:
            raise Refusal(f"{label(outer)} drives spatial and reduction variables", outer)
    if loop_kinds(block, loop) != {"R"}:
        raise Refusal(f"{label(loop)} is not a reduction loop of {label(block)}", loop, block)
    buffer = written_buffers(block)[0]
    rank = ir.MemRefType(buffer.type).rank
    axis = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
    if not 0 <= axis <= rank:
        raise Refusal(f"factor_axis {factor_axis} is not in [{-rank - 1}, {rank}]", block)
    combiner = combiner_of(block, buffer)
    parts = _partial_conditions(block, loop, around)
    factored = _partial_block(block, loop, around, buffer, axis)
    combined = _combining_block(block, loop, around, combiner, written_buffers(factored)[0],
                                (axis, parts))  # fmt: skip
    state.moved(block, combined)
    block.operation.erase()
    erase_dead_arithmetic(nest.scope_of(factored))
    return factored


def _only_block(loop: ForOp) -> BlockOp:
    blocks = nest.child_blocks(loop)
    if len(blocks) != 1:
        raise Refusal(f"{label(loop)} holds {len(blocks)} blocks", loop)
    block = require_reduction(blocks[0])
    if len(written_buffers(block)) != 1:
        raise Refusal(f"{label(block)} writes more than one buffer", block)
    top = nest.loops_around(block)[0]
    for op, below in zip(chain(top, block), chain(top, block)[1:], strict=False):
        if not isinstance(op, ForOp) or nest.statements(op.block) != [below]:
            raise Refusal(f"{label(op)} holds more than {label(below)}", op)
    return block


def combiner_of(block: BlockOp, buffer: ir.Value) -> ir.Operation:
    """The operation `f` of `C[...] = f(C[...], value)`, checked to be a reduction's."""
    element = single_store(block)
    owner = element.store.operands[0].owner
    operation = None if isinstance(owner, ir.Block) else owner.operation
    loads = [] if operation is None else [v for v in operation.operands if _loads(v, buffer)]
    if operation is None or operation.name not in _IDENTITY or len(loads) != 1:
        raise Refusal(f"the update of {label(block)} is no sum, product, minimum or maximum", block)
    at = [as_index(v) for v in list(loads[0].owner.operation.operands)[1:]]
    if at != element.indices:
        raise Refusal(f"{label(block)} updates another element than it reads", block)
    identity = _IDENTITY[operation.name]
    if identity is not None and _init_value(block) != identity:
        raise Refusal(f"the init of {label(block)} is not {identity}, which partial results of "
                      f"{operation.name} must start from", block)  # fmt: skip
    return operation


def _loads(value: ir.Value, buffer: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    return owner.operation.name == "memref.load" and owner.operation.operands[0] == buffer


def _init_value(block: BlockOp) -> float | None:
    """The constant that the init stores, None for anything else."""
    init = init_of(block)
    assert init is not None
    stores = [o.operation for o in nest.descend(init) if o.operation.name == "memref.store"]
    owner = stores[0].operands[0].owner if len(stores) == 1 else None
    if owner is None or isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    attr = owner.operation.attributes["value"]
    return attr.value if isinstance(attr, (ir.FloatAttr, ir.IntegerAttr)) else None


def _partial_conditions(block: BlockOp, loop: ForOp, around: Sequence[ForOp]) -> list[Condition]:
    """The parts of the predicate over spatial loops; the others must leave every partial result
    at least the instance that initialises it."""
    if not len(block.predicate):
        return []
    reducing = {nest.loop_var(o) for o in around if loop_kinds(block, o) == {"R"}}
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
    block: BlockOp, loop: ForOp, around: Sequence[ForOp], buffer: ir.Value, axis: int
) -> BlockOp:
    at = ir.InsertionPoint(block)
    reducing = [o for o in around if loop_kinds(block, o) == {"R"} and o != loop]
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
    scope = nest.scope_of(block)
    place = last_allocation(scope)
    shape = buffer_shape(buffer, place)
    shape.insert(axis, as_index(loop.extent))
    element = ir.MemRefType(buffer.type).element_type
    kept = buffer_attributes(buffer)
    made = alloc_buffer(
        f"{nest.value_name(buffer)}_rf", shape, element, "global", place, kept
    ).result
    add_dimension(new, buffer, made, axis, first)
    refresh(new)
    return new


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
    block: BlockOp,
    loop: ForOp,
    around: Sequence[ForOp],
    combiner: ir.Operation,
    partial: ir.Value,
    layout: tuple[int, Sequence[Condition]],
) -> BlockOp:
    axis, parts = layout
    at = ir.InsertionPoint.after(around[0])
    values: dict[ir.Value, Index] = {}
    for old in around:
        if old != loop and loop_kinds(block, old) == {"R"}:
            continue
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
    _write_combination(block, made, combiner, partial, axis, spatial)
    refresh(made)
    return made


def _write_combination(
    block: BlockOp,
    made: BlockOp,
    combiner: ir.Operation,
    partial: ir.Value,
    axis: int,
    spatial: dict[ir.Value, Index],
) -> None:
    element = single_store(block)
    inner = ir.InsertionPoint(made.block)
    indices = [write(i.substitute(spatial), inner) for i in element.indices]
    wider = list(indices)
    wider.insert(axis, nest.iter_vars(made)[0])
    total = memref.LoadOp(element.buffer, indices, ip=inner).result
    part = memref.LoadOp(partial, wider, ip=inner).result
    combined = combiner.clone(ip=inner)
    combined.operands[0], combined.operands[1] = total, part
    memref.StoreOp(combined.results[0], element.buffer, indices, ip=inner)
