"""Operations that stage tensors in another storage scope."""

from __future__ import annotations

from relax_mlir.errors import ScheduleError
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.tensor import ComputeOp, Operation, Tensor
from relax_mlir.tir.expr import IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, substitute
from relax_mlir.tir.operators import const

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
    """
    op = stage.op
    if not isinstance(op, ComputeOp):
        raise ScheduleError(f"cache_write: {op.name} is no te.compute")
    if stage.steps:
        raise ScheduleError(
            f"cache_write: the loops of {op.name} are changed already",
            hint="call cache_write before split, fuse, reorder and tile",
        )
    axes = [fresh_axis(axis, f"{axis.var.name}_c") for axis in op.axis]
    values: dict[Var, PrimExpr] = {old.var: new.var for old, new in zip(op.axis, axes, strict=True)}
    bodies = [_renamed(body, values) for body in op.body]
    cache = ComputeOp(f"{op.name}.{scope}", axes, bodies, op.tag, op.attrs)
    indices = [axis.var for axis in op.axis]
    reads = [ProducerLoad(cache.output(i), indices) for i in range(op.num_outputs)]
    return cache, ComputeOp(op.name, op.axis, reads, op.tag)


def _renamed(body: PrimExpr, values: dict[Var, PrimExpr]) -> PrimExpr:
    """An expression on other axes; domains of reduction axes may mention them too."""
    made = substitute(body, values)
    if not isinstance(made, Reduce):
        return made
    for axis in made.axis:
        if axis.dom is not None:
            low, extent = (substitute(e, values) for e in (axis.dom.min, axis.dom.extent))
            if low is not axis.dom.min or extent is not axis.dom.extent:
                raise ScheduleError(f"cache_write: the domain of {axis.var.name} depends on an "
                                    "axis of the tensor")  # fmt: skip
    return made
