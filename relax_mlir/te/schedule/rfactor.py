"""Reductions in two operations: partial results, and their combination."""

from __future__ import annotations

from relax_mlir.errors import ScheduleError
from relax_mlir.te.schedule.caching import fresh_axis
from relax_mlir.te.schedule.relations import (
    extent_of,
    position,
    require_kinds_apart,
    values_of,
)
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.tensor import ComputeOp
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, substitute

__all__ = ["factored"]


def factored(stage: Stage, axis: IterVar, factor_axis: int) -> tuple[ComputeOp, ComputeOp]:
    """(partial results, one for each iteration of a reduction loop; the reduction of them)."""
    op = stage.op
    if not isinstance(op, ComputeOp) or not op.reduce_axis:
        raise ScheduleError(f"rfactor: {op.name} is no reduction")
    position(stage.leaf_iter_vars, axis, op.name)
    if axis.iter_type != IterVar.CommReduce:
        raise ScheduleError(f"rfactor: {axis.var.name} is no reduction loop of {op.name}")
    require_kinds_apart(stage.steps, "rfactor", op.name)
    place = factor_axis if factor_axis >= 0 else len(op.axis) + 1 + factor_axis
    if not 0 <= place <= len(op.axis):
        raise ScheduleError(f"rfactor: dimension {factor_axis} of a tensor of {len(op.axis) + 1}")
    parts = _partial_results(stage, op, axis, place)
    return parts, _combination(op, parts, axis, place)


def _partial_results(stage: Stage, op: ComputeOp, axis: IterVar, place: int) -> ComputeOp:
    """The reduction over all loops but `axis`, which is a dimension."""
    values, conditions = values_of(stage.steps, op.reduce_axis)
    axes = [fresh_axis(a, a.var.name) for a in op.axis]
    for old, new in zip(op.axis, axes, strict=True):
        values[old.var] = new.var
    untouched = [
        loop for loop in op.reduce_axis if loop in stage.leaf_iter_vars and loop is not axis
    ]
    rest = list(untouched)
    for loop in stage.leaf_iter_vars:
        if loop.iter_type == IterVar.CommReduce and loop is not axis and loop not in untouched:
            zero = O.const(0, loop.var.dtype)
            domain = Range.from_min_extent(zero, extent_of(loop, stage.steps))
            rest.append(IterVar(domain, loop.var, IterVar.CommReduce))
    zero = O.const(0, axis.var.dtype)
    part = IterVar(
        Range.from_min_extent(zero, extent_of(axis, stage.steps)),
        Var(axis.var.name, axis.var.dtype),
        IterVar.DataPar,
    )
    axes.insert(place, part)
    start = zero if axis.dom is None else axis.dom.min
    counted: dict[Var, PrimExpr] = {axis.var: O.add(part.var, start)}
    if not rest:  # each partial result is of one element
        rest = [IterVar(Range(0, 1), Var("unit"), IterVar.CommReduce)]

    def here(expr: PrimExpr) -> PrimExpr:
        return substitute(substitute(expr, values), counted)

    reduce = op.body[0]
    assert isinstance(reduce, Reduce), "an operation with reduction axes reduces"
    condition = here(reduce.condition)
    for inside in conditions:
        condition = O.logical_and(condition, here(inside))
    sources = [here(source) for source in reduce.source]
    bodies = [Reduce(reduce.combiner, sources, rest, condition, i) for i in range(op.num_outputs)]
    return ComputeOp(f"{op.name}.rf", axes, bodies, op.tag, op.attrs)


def _combination(op: ComputeOp, parts: ComputeOp, axis: IterVar, place: int) -> ComputeOp:
    """The reduction of the partial results over the dimension that they have of `axis`."""
    name = f"{axis.var.name}_v"
    over = IterVar(parts.axis[place].dom, Var(name, axis.var.dtype), IterVar.CommReduce)
    indices: list[PrimExpr] = [a.var for a in op.axis]
    indices.insert(place, over.var)
    sources = [ProducerLoad(parts.output(i), indices) for i in range(op.num_outputs)]
    reduce = op.body[0]
    assert isinstance(reduce, Reduce), "an operation with reduction axes reduces"
    bodies = [
        Reduce(reduce.combiner, sources, [over], None, i, reduce.init)
        for i in range(op.num_outputs)
    ]
    return ComputeOp(op.name, op.axis, bodies, op.tag, op.attrs)
