"""Raise blocks to linalg: every unscheduled loop nest around an affine block becomes a
`linalg.generic` on memrefs, its initialisation a `linalg.fill`.

Choices between sources and gathers of rows are raised piece by piece (`pieces.py`).  What is left
(scheduled loops, in-place scans, control flow) is for `tir-to-scf`.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects import dims
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir.symbolic import buffer_dimension, dimension
from relax_mlir.lowering.tir_to_linalg.access import (
    Access,
    fill,
    load_access,
    plain_dimensions,
    store_access,
)
from relax_mlir.lowering.tir_to_linalg.if_conversion import convert_ifs
from relax_mlir.lowering.tir_to_linalg.nest import Nest, is_unscheduled, nest_of
from relax_mlir.lowering.tir_to_linalg.padding import raise_padding
from relax_mlir.lowering.tir_to_linalg.pieces import raise_in_pieces
from relax_mlir.mlir import ir, linalg, memref

_DECLARATIONS = ("tir.read", "tir.write")
_SCALAR_DIALECTS = ("arith", "math", "affine")


@register_pass("tir-to-linalg")
@dataclass(frozen=True)
class TirToLinalg(Pass):
    """Raise unscheduled affine blocks of TensorIR functions to linalg on memrefs."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            # Buffers on addresses may share memory with others under another name.
            if "tir.attrs" in function.attributes and "tir.addresses" not in function.attributes:
                for op in list(function.regions[0].blocks[0].operations):
                    _raise_nest(op.operation)


@dataclass
class _Plan:
    """Everything about a block that was found to be liftable."""

    nest: Nest
    loads: list[Access]
    stores: list[Access]
    initial: list[Access]
    window: tuple[int, ...] = ()
    """Loops that no index is alone: those of a window, as in pooling."""


def _raise_nest(op: ir.Operation) -> None:
    nest = nest_of(op)
    if nest is None or not is_unscheduled(nest):
        return
    plan = _plan(nest)
    if plan is None and (raise_padding(nest) or raise_in_pieces(nest) or not convert_ifs(nest)):
        return
    plan = plan or _plan(nest)
    if plan is None:
        return
    with ir.InsertionPoint(nest.outermost), nest.block.operation.location:
        for access in plan.initial:
            _emit_init(plan, access)
        body = _emit_generic(plan)
    nest.outermost.erase()
    _erase_unused(body)


def _plan(nest: Nest) -> _Plan | None:
    """Check every condition of the rewrite; None when one fails."""
    iter_vars = nest.block.iter_vars
    loads: list[Access] = []
    stores: list[Access] = []
    initial: list[Access] = []
    for view in nest.block.block.operations:
        op = view.operation
        if op.name in _DECLARATIONS:
            continue
        if op.name == "tir.init":
            found = _init_stores(op, iter_vars)
            if found is None:
                return None
            initial = found
        elif op.name in ("memref.load", "memref.store"):
            is_load = op.name == "memref.load"
            access = (load_access if is_load else store_access)(op, iter_vars)
            if access is None:
                return None
            (loads if is_load else stores).append(access)
        elif op.name.split(".")[0] not in _SCALAR_DIALECTS or len(op.regions):
            return None
    plan = _Plan(nest, loads, stores, initial)
    checks = (_stores_fit, _loads_fit, _initial_fits, _extents_fit)
    return plan if stores and all(check(plan) for check in checks) else None


def _init_stores(init: ir.Operation, iter_vars: list[ir.BlockArgument]) -> list[Access] | None:
    """The stores of an initialisation that writes constants only."""
    found: list[Access] = []
    for view in init.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "memref.store":
            access = store_access(op, iter_vars)
            value = op.operands[0]
            if access is None or isinstance(value, ir.BlockArgument):
                return None
            if value.owner.operation.name != "arith.constant":
                return None
            found.append(access)
        elif op.name not in ("arith.constant", "affine.apply"):
            return None
    return found


def _stores_fit(plan: _Plan) -> bool:
    """One store a buffer, each element written by one spatial point, nothing stored twice."""
    spatial = [i for i, kind in enumerate(plan.nest.block.kinds) if kind == "S"]
    if any(kind not in ("S", "R") for kind in plan.nest.block.kinds):
        return False
    buffers = [access.buffer for access in plan.stores]
    if any(a == b for i, a in enumerate(buffers) for b in buffers[:i]):
        return False
    for access in plan.stores:
        plain = plain_dimensions(access.map)
        used = [p for p in plain if p is not None]
        constants = all(
            isinstance(e, (ir.AffineDimExpr, ir.AffineConstantExpr)) for e in access.map.results
        )
        extents = [plan.nest.loops[i].extent for i in spatial if i not in used]
        if not constants or len(set(used)) != len(used) or any(p not in spatial for p in used):
            return False
        if any(extent != 1 for extent in extents):
            return False
    return True


def _loads_fit(plan: _Plan) -> bool:
    """A written buffer is read only at the element being written."""
    for load in plan.loads:
        for store in plan.stores:
            if load.buffer == store.buffer and load.map != store.map:
                return False
    reduces = "R" in plan.nest.block.kinds
    reads_back = all(any(a.buffer == s.buffer for a in plan.loads) for s in plan.stores)
    return reads_back or not reduces


def _initial_fits(plan: _Plan) -> bool:
    """The initialisation writes what the block accumulates into, and covers whole buffers."""
    if not plan.initial:
        return True
    if len(plan.initial) != len(plan.stores):
        return False
    return all(
        any(i.buffer == s.buffer and i.map == s.map for s in plan.stores) for i in plan.initial
    )


def _extents_fit(plan: _Plan) -> bool:
    """Every loop is the size of a buffer dimension it indexes alone, wherever it does so.

    linalg takes its iteration space from the operands' shapes, so a loop over a part of a buffer
    cannot be raised.
    """
    extents = [dimension(loop.extent) for loop in plan.nest.loops]
    seen: set[int] = set()
    for access in (*plan.loads, *plan.stores):
        for axis, position in enumerate(plain_dimensions(access.map)):
            if position is None:
                continue
            if not dims.equal(buffer_dimension(access.buffer, axis), extents[position]):
                return False
            seen.add(position)
    plan.window = tuple(position for position in range(len(extents)) if position not in seen)
    kinds = plan.nest.block.kinds
    return all(kinds[i] == "R" and isinstance(extents[i], int) for i in plan.window)


def _emit_init(plan: _Plan, access: Access) -> None:
    """A fill when the stored element sweeps the whole buffer, which `_extents_fit` assures for
    plain maps; a constant index leaves other elements alone and needs a generic."""
    value = access.op.operands[0].owner.operation.clone().results[0]
    if all(isinstance(e, ir.AffineDimExpr) for e in access.map.results):
        fill(access.buffer, value)
        return
    spatial = [i for i, kind in enumerate(plan.nest.block.kinds) if kind == "S"]
    kept = {old: new for new, old in enumerate(spatial)}
    substitution = [
        ir.AffineExpr.get_dim(kept[i]) if i in kept else ir.AffineExpr.get_constant(0)
        for i in range(len(plan.nest.loops))
    ]
    inner = ir.AffineMap.get(len(spatial), 0, substitution)
    out_map = ir.AffineMap.get(len(spatial), 0, [e.compose(inner) for e in access.map.results])
    generic = _generic([], [access.buffer], [out_map], ["parallel"] * len(spatial))
    body = generic.regions[0].blocks.append(_element(access.buffer))
    with ir.InsertionPoint(body):
        linalg.YieldOp([value])


def _emit_generic(plan: _Plan) -> ir.Block:
    """Build the generic, move the block's scalar operations into it, and return its body."""
    inputs: list[Access] = []
    for load in plan.loads:
        if any(load.buffer == s.buffer for s in plan.stores):
            continue
        if not any(load.buffer == i.buffer and load.map == i.map for i in inputs):
            inputs.append(load)
    accesses = [*inputs, *_windows(plan), *plan.stores]
    kinds = ["parallel" if kind == "S" else "reduction" for kind in plan.nest.block.kinds]
    generic = _generic(
        [a.buffer for a in accesses[: len(accesses) - len(plan.stores)]],
        [a.buffer for a in plan.stores],
        [a.map for a in accesses],
        kinds,
    )
    body = generic.regions[0].blocks.append(*[_element(a.buffer) for a in accesses])
    for load in plan.loads:
        position = next(
            i for i, a in enumerate(accesses) if a.buffer == load.buffer and a.map == load.map
        )
        load.op.results[0].replace_all_uses_with(body.arguments[position])
    yielded = [store.op.operands[0] for store in plan.stores]
    _move_scalars(plan, body)
    with ir.InsertionPoint(body):
        linalg.YieldOp(yielded)
    return body


def _windows(plan: _Plan) -> list[Access]:
    """A buffer that nothing reads, as large as the window, where linalg needs one to know how
    large that is."""
    if not plan.window:
        return []
    rank = len(plan.nest.loops)
    map_ = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(i) for i in plan.window])
    extents = [plan.nest.loops[i].extent for i in plan.window]
    sizes = [size for size in extents if isinstance(size, int)]
    element = _element(plan.stores[0].buffer)
    buffer = memref.AllocaOp(ir.MemRefType.get(sizes, element), [], []).result
    return [Access(plan.stores[0].op, buffer, map_)]


def _move_scalars(plan: _Plan, body: ir.Block) -> None:
    for position, variable in enumerate(plan.nest.block.iter_vars):
        if any(True for _ in variable.uses):
            with ir.InsertionPoint(body):
                variable.replace_all_uses_with(linalg.IndexOp(position).result)
    for view in list(plan.nest.block.block.operations):
        op = view.operation
        if op.name.split(".")[0] in _SCALAR_DIALECTS:
            body.append(op)


def _erase_unused(body: ir.Block) -> None:
    """Drop what only computed indices; everything in the body but its end is free of effects."""
    for view in reversed(list(body.operations)):
        op = view.operation
        if len(op.results) and not any(True for result in op.results for _ in result.uses):
            op.erase()


def _generic(
    inputs: list[ir.Value], outputs: list[ir.Value], maps: list[ir.AffineMap], kinds: list[str]
) -> linalg.GenericOp:
    iterator_types = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
    return linalg.GenericOp(
        [],
        inputs,
        outputs,
        ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
        ir.ArrayAttr.get(iterator_types),
    )


def _element(buffer: ir.Value) -> ir.Type:
    return ir.MemRefType(buffer.type).element_type


__all__ = ["TirToLinalg"]
