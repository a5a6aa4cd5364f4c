"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import comm_reducer
from relax_mlir.te.reducers import max as te_max
from relax_mlir.te.reducers import min as te_min
from relax_mlir.te.reducers import prod as te_prod
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int, named, normalize_axes, ravel
from relax_mlir.topi.transform import reshape

_all_reducer = comm_reducer(O.logical_and, lambda dtype: O.const(True), "all")
_any_reducer = comm_reducer(O.logical_or, lambda dtype: O.const(False), "any")


class ReductionPlan:
    """Which axes are reduced, the output's shape, and where the input is read."""

    def __init__(self, data: Tensor, axis: Any, keepdims: bool):
        shape = data.shape
        self.axes = normalize_axes(axis, len(shape))
        self.reduce_axes = [reduce_axis((0, shape[a]), f"k{a}") for a in self.axes]
        self._keepdims = keepdims
        self._rank = len(shape)
        self.shape = [
            O.const(1, s.dtype) if a in self.axes else s
            for a, s in enumerate(shape)
            if keepdims or a not in self.axes
        ]

    def input_indices(self, outer: Sequence[PrimExpr]) -> list[Any]:
        """The input element for output indices and the reduce axes."""
        kept, reduced = iter(outer), iter(self.reduce_axes)
        result: list[Any] = []
        for axis in range(self._rank):
            if axis in self.axes:
                result.append(next(reduced).var)
                if self._keepdims:
                    next(kept)
            else:
                result.append(next(kept))
        return result


def _reduce(
    data: Tensor, axis: Any, keepdims: bool, reducer: Callable[..., Any], name: str | None = None
) -> Tensor:
    plan = ReductionPlan(data, axis, keepdims)
    if not plan.axes:
        return named(data.shape, lambda *i: data(*i), name or f"{data.op.name}_red")
    return named(
        plan.shape,
        lambda *i: reducer(data(*plan.input_indices(i)), plan.reduce_axes),
        name or f"{data.op.name}_red",
        "comm_reduce",
    )


def sum(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes (all by default); of bools, whether any is true."""
    reducer = _any_reducer if data.dtype == "bool" else te_sum
    return _reduce(data, axis, keepdims, reducer)


def prod(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The product over axes; of bools, whether all are true."""
    reducer = _all_reducer if data.dtype == "bool" else te_prod
    return _reduce(data, axis, keepdims, reducer)


def max(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The maximum over axes; NaN if there is one."""
    reducer = _any_reducer if data.dtype == "bool" else te_max
    return _reduce(data, axis, keepdims, reducer)


def min(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The minimum over axes; NaN if there is one."""
    reducer = _all_reducer if data.dtype == "bool" else te_min
    return _reduce(data, axis, keepdims, reducer)


def all(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all bools over axes are true."""
    return _reduce(data, axis, keepdims, _all_reducer)


def any(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any bool over axes is true."""
    return _reduce(data, axis, keepdims, _any_reducer)


def argmax(
    data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """The index of the maximum along an axis (of the flat tensor by default), as int32.

    Of equal elements the first counts, or the last.
    """
    return _arg_reduce(data, axis, keepdims, select_last_index, O.greater, I.lowest)


def argmin(
    data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """The index of the minimum along an axis (of the flat tensor by default), as int32."""
    return _arg_reduce(data, axis, keepdims, select_last_index, O.less, I.highest)


def _arg_reduce(
    data: Tensor,
    axis: Any,
    keepdims: bool,
    last: bool,
    better: Callable[[Any, Any], PrimExpr],
    start: Callable[[str], PrimExpr],
) -> Tensor:
    plan = ReductionPlan(data, axis, keepdims)
    dtype = "int64" if plan.reduce_axes and plan.reduce_axes[0].dtype == "int64" else "int32"
    reducer = _arg_reducer(last, better, start)

    def pair(*outer: Any) -> Any:
        position = ravel([k.var for k in plan.reduce_axes], [data.shape[a] for a in plan.axes])
        value = data(*plan.input_indices(outer))
        return reducer((O.cast(dtype, position), value), plan.reduce_axes)

    names = [f"ax{i}" for i in range(len(plan.shape))]
    both = compute(
        plan.shape, pair, f"{data.op.name}_red_temp", "comm_reduce_idx", varargs_names=names
    )
    return named(plan.shape, lambda *i: both[0](*i), f"{data.op.name}_red", "comm_reduce_idx")


def _arg_reducer(
    last: bool, better: Callable[[Any, Any], PrimExpr], start: Callable[[str], PrimExpr]
) -> Callable[..., Any]:
    def combine(left: Any, right: Any) -> tuple[PrimExpr, PrimExpr]:
        earlier = O.greater if last else O.less
        tie = O.logical_and(O.equal(left[1], right[1]), earlier(left[0], right[0]))
        keep = O.logical_or(better(left[1], right[1]), tie)
        value = O.select(better(left[1], right[1]), left[1], right[1])
        return O.select(keep, left[0], right[0]), value

    def identity(index: str, value: str) -> tuple[PrimExpr, PrimExpr]:
        # An index that loses every tie, so that a row of the start value gets a real one.
        worst = O.const(-1, index) if last else I.max_value(index)
        return worst, start(value)

    return comm_reducer(combine, identity, "argmin_argmax")


def collapse_sum(data: Tensor, target_shape: Sequence[Any]) -> Tensor:
    """The sum over the axes in which data was broadcast from `target_shape`."""
    extra = data.ndim - len(target_shape)
    axes = list(range(extra))
    axes += [
        extra + i
        for i, size in enumerate(target_shape)
        if as_int(size) == 1 and as_int(data.shape[extra + i]) != 1
    ]
    return reshape(_reduce(data, axes, False, te_sum), target_shape) if axes else data
