"""Inlining by what operations are: TVM's `te.schedule.AutoInlineInjective` and the like."""

from __future__ import annotations

from relax_mlir.te import tag
from relax_mlir.te.schedule.schedule import Schedule
from relax_mlir.te.schedule.stage import ROOT, Stage
from relax_mlir.te.tensor import ComputeOp
from relax_mlir.tir.expr import PrimExpr, ProducerLoad, Var, post_order

__all__ = ["AutoInlineBroadcast", "AutoInlineElemWise", "AutoInlineInjective"]


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline every operation that reduces nothing and is no output."""
    for stage in sch.stages:
        if _may_inline(stage):
            stage.compute_inline()


def AutoInlineElemWise(sch: Schedule) -> None:
    """Inline operations whose elements come from the elements at the same indices."""
    for stage in sch.stages:
        if _may_inline(stage) and _is_elementwise(stage):
            stage.compute_inline()


def AutoInlineBroadcast(sch: Schedule) -> None:
    """Inline operations whose elements come from elements at some of their indices, in order."""
    for stage in sch.stages:
        if _may_inline(stage) and (_is_elementwise(stage) or _is_broadcast(stage)):
            stage.compute_inline()


def _may_inline(stage: Stage) -> bool:
    plain = isinstance(stage.op, ComputeOp) and not stage.op.reduce_axis
    return plain and not stage.is_output and stage.attach_type == ROOT


def _is_elementwise(stage: Stage) -> bool:
    """Whether the tag says so, or the reads."""
    return stage.op.tag == tag.ELEMWISE or all(r == _indices(stage) for r in _reads(stage))


def _is_broadcast(stage: Stage) -> bool:
    """Whether the tag says so, or the reads."""
    own = _indices(stage)
    return stage.op.tag == tag.BROADCAST or all(_in_order(r, own) for r in _reads(stage))


def _indices(stage: Stage) -> list[int]:
    """The axes of a stage, as what can be compared."""
    return [id(axis.var) for axis in stage.op.axis]


def _reads(stage: Stage) -> list[list[int]]:
    """The indices of all reads of a stage; what is no plain axis equals none."""
    assert isinstance(stage.op, ComputeOp), "asked of operations that may be inlined"
    found = [n for body in stage.op.body for n in post_order(body) if isinstance(n, ProducerLoad)]
    return [[_key(index) for index in read.indices] for read in found]


def _key(index: PrimExpr) -> int:
    return id(index) if isinstance(index, Var) else 0


def _in_order(read: list[int], axes: list[int]) -> bool:
    """Whether the indices are some of the axes, in their order."""
    places = [axes.index(index) if index in axes else -1 for index in read]
    return -1 not in places and places == sorted(set(places))
