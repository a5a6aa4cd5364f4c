"""Taking reductions apart: decompose_reduction, rfactor."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    bindings_of,
    init_of,
    not_reduction,
    require_block,
)
from relax_mlir.tir.schedule.bindings import bindings_determine
from relax_mlir.tir.schedule.body import Copier
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import conditions, single_store
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    new_block,
    new_loop,
)

_KEPT = ("dtype", "thread", "annotations")


def require_reduction(block: ir.OpView) -> BlockOp:
    block = require_block(block)
    reason = not_reduction(block)
    if reason is not None:
        raise Refusal(f"{label(block)} is not a reduction block: {reason}", block)
    return block


def loop_kinds(block: BlockOp, loops: Sequence[ForOp]) -> list[set[str]]:
    """The kinds of the iteration variables that each loop drives."""
    drivers = [(b.leaves(), kind) for b, kind in zip(bindings_of(block), block.kinds, strict=True)]
    variables = [nest.loop_var(loop) for loop in loops]
    return [{kind for leaves, kind in drivers if v in leaves} for v in variables]


# -- decompose_reduction ----------------------------------------------------------------------


def decompose_reduction(state: ScheduleState, block: ir.OpView, loop: ForOp) -> BlockOp:
    """Run the init of a reduction in a block of its own before `loop`; that block."""
    block = require_reduction(block)
    around = nest.loops_around(block)
    if loop not in around:
        raise Refusal(f"{label(loop)} is not around {label(block)}", loop, block)
    position = around.index(loop)
    kinds = loop_kinds(block, around)
    for outer, driven in zip(around[:position], kinds, strict=False):
        if "R" in driven:
            raise Refusal(f"the reduction loop {label(outer)[5:]} is outside of {label(loop)}",
                          outer, loop, hint="take the outermost reduction loop or one outside of "
                          "it")  # fmt: skip
    if not bindings_determine(block, [nest.loop_var(inner) for inner in around[position:]]):
        raise Refusal(f"the iterations of {label(loop)} run instances of {label(block)} again, "
                      "each time from its init on", loop, block)  # fmt: skip
    inside = zip(around[position:], kinds[position:], strict=True)
    spatial = [inner for inner, driven in inside if "S" in driven]
    parts = _init_conditions(block, around[:position], spatial)
    init_block = _init_block(block, loop, spatial, parts)
    old_init = init_of(block)
    assert old_init is not None
    state.erase(old_init)
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


# -- what a reduction combines by ---------------------------------------------------------------

IDENTITY: dict[str, float | None] = {
    # The value that a partial result may start from; None where any may (the operation is
    # idempotent).
    "arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1, "arith.xori": 0,
    **dict.fromkeys(
        "arith.maximumf arith.minimumf arith.maxnumf arith.minnumf arith.maxsi arith.minsi "
        "arith.maxui arith.minui arith.andi arith.ori".split()
    ),
}  # fmt: skip


def combiner_of(block: BlockOp, buffer: ir.Value, with_init: bool = True) -> ir.Operation:
    """The operation `f` of `C[...] = f(C[...], value)`, checked to be a reduction's."""
    element = single_store(block)
    owner = element.store.operands[0].owner
    operation = None if isinstance(owner, ir.Block) else owner.operation
    loads = [] if operation is None else [v for v in operation.operands if _loads(v, buffer)]
    if operation is None or operation.name not in IDENTITY or len(loads) != 1:
        raise Refusal(f"the update of {label(block)} is no sum, product, minimum or maximum", block)
    at = [as_index(v) for v in list(loads[0].owner.operation.operands)[1:]]
    if at != element.indices:
        raise Refusal(f"{label(block)} updates another element than it reads", block)
    identity = IDENTITY[operation.name]
    if with_init and identity is not None and _init_value(block) != identity:
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
