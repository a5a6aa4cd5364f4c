"""Operations that stage tensors in another storage scope."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from relax_mlir.errors import ScheduleError
from relax_mlir.te.schedule.relations import (
    extent_of,
    loops_at,
    require_kinds_apart,
    values_of,
)
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.tensor import ComputeOp, Operation, Tensor
from relax_mlir.tir.expr import IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, substitute
from relax_mlir.tir.intrinsics import if_then_else
from relax_mlir.tir.operators import const, logical_and

__all__ = ["computed_in", "copy_of", "fresh_axis"]


def fresh_axis(like: IterVar, name: str) -> IterVar:
    """An axis of the same domain and kind under another name."""
    return IterVar(like.dom, Var(name, like.var.dtype), like.iter_type)


def copy_of(tensor: Tensor, scope: str) -> Tensor:
    """A copy of a tensor, element by element."""
    axes = [
        IterVar(
            Range.from_min_extent(const(0, size.dtype), size),
            Var(f"ax{number}", size.dtype),
            IterVar.DataPar,
        )
        for number, size in enumerate(tensor.shape)
    ]
    name = f"{tensor.name}.{scope}" if scope else f"{tensor.name}.cache"
    return ComputeOp(name, axes, [ProducerLoad(tensor, [axis.var for axis in axes])]).output(0)


def computed_in(stage: Stage, scope: str) -> tuple[ComputeOp, Operation]:
    """What a stage computes under another name, and the copy from there to its tensors.

    The copy has the stage's axes, what is computed new ones, and the stage's reduction axes.
    Where the stage's spatial loops have been changed, the cache has a dimension for each of them,
    in their order: the layout follows the schedule.
    """
    op = stage.op
    if not isinstance(op, ComputeOp):
        raise ScheduleError(f"cache_write: {op.name} is no te.compute")
    require_kinds_apart(stage.steps, "cache_write", op.name)
    loops = [loop for loop in stage.leaf_iter_vars if loop.iter_type == IterVar.DataPar]
    places, inside = values_of(stage.steps, op.axis)
    axes = [_cache_axis(loop, stage) for loop in loops]
    renamed: dict[Var, PrimExpr] = {old.var: new.var for old, new in zip(loops, axes, strict=True)}
    values = {var: substitute(place, renamed) for var, place in places.items()}
    conditions = [substitute(condition, renamed) for condition in inside]
    cache = ComputeOp(
        f"{op.name}.{scope}", axes, _on_axes(op, values, conditions), op.tag, op.attrs
    )
    at = loops_at(stage.steps, op.axis)
    indices = [at(loop) for loop in loops]
    reads = [ProducerLoad(cache.output(i), indices) for i in range(op.num_outputs)]
    return cache, ComputeOp(op.name, op.axis, reads, op.tag)


def _cache_axis(loop: IterVar, stage: Stage) -> IterVar:
    """The cache's dimension for a loop."""
    zero = const(0, loop.var.dtype)
    domain = loop.dom or Range.from_min_extent(zero, extent_of(loop, stage.steps))
    return IterVar(domain, Var(f"{loop.var.name}_c", loop.var.dtype), IterVar.DataPar)


def _on_axes(
    op: ComputeOp, values: Mapping[Var, PrimExpr], conditions: Sequence[PrimExpr]
) -> list[PrimExpr]:
    """The bodies of an operation at other indices; where a condition does not hold, the element is
    in the cache alone, and may be anything."""
    bodies = [substitute(body, values) for body in op.body]
    inside = functools.reduce(logical_and, conditions) if conditions else None
    axes = [_on_values(axis, values) for axis in op.reduce_axis]
    names: dict[Var, PrimExpr] = {
        old.var: new.var for old, new in zip(op.reduce_axis, axes, strict=True)
    }
    made: list[PrimExpr] = []
    for body in bodies:
        if isinstance(body, Reduce):
            here = substitute(body, names)
            assert isinstance(here, Reduce), "variables are replaced inside"
            holds = here.condition if inside is None else logical_and(here.condition, inside)
            made.append(
                Reduce(here.combiner, here.source, axes, holds, here.value_index, here.init)
            )
        else:
            zero = const(0, body.dtype)
            made.append(body if inside is None else if_then_else(inside, body, zero))
    return made


def _on_values(axis: IterVar, values: Mapping[Var, PrimExpr]) -> IterVar:
    """A reduction axis, a new one if its domain depends on others."""
    if axis.dom is None:
        return axis
    low, extent = (substitute(end, values) for end in (axis.dom.min, axis.dom.extent))
    if low is axis.dom.min and extent is axis.dom.extent:
        return axis
    domain = Range.from_min_extent(low, extent)
    return IterVar(domain, Var(axis.var.name, axis.var.dtype), axis.iter_type)
