"""Pooling over windows, whole axes and adaptive windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import reduce_axis
from relax_mlir.te.reducers import max as te_max
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import as_int, named
from relax_mlir.topi.nn.conv import both_sides, per_axis, spatial_letters

_KINDS = ("max", "avg")


def _spatial_axes(data: Tensor, layout: str, dims: int) -> list[int]:
    letters = spatial_letters(dims)
    primal = [x for x in layout if x.isalpha()]
    if len(primal) != data.ndim or any(x not in primal for x in letters):
        raise Error(f"pool: {layout!r} is no layout of {data.ndim} axes with {letters}")
    return [primal.index(x) for x in letters]


def _check_kind(pool_type: str) -> None:
    if pool_type not in _KINDS:
        raise Error(f'pool: pool_type must be "max" or "avg", given {pool_type!r}')


def _pool(
    data: Tensor, kernel: Any, stride: Any, dilation: Any, padding: Any, pool_type: str,
    ceil_mode: bool, layout: str, count_include_pad: bool, dims: int,
) -> Tensor:  # fmt: skip
    _check_kind(pool_type)
    axes = _spatial_axes(data, layout, dims)
    kernel, stride, dilation = (
        per_axis(v, dims, w)
        for v, w in ((kernel, "kernel"), (stride, "stride"), (dilation, "dilation"))
    )
    before, after = both_sides(padding, dims, kernel, dilation)
    shape, ends = list(data.shape), list(after)
    for i, axis in enumerate(axes):
        span = dilation[i] * (kernel[i] - 1) + 1
        whole = O.add(data.shape[axis], before[i] + after[i] - span)
        if ceil_mode:
            # The last window may hang over the end, by less than a stride.
            whole = O.add(whole, stride[i] - 1)
            ends[i] = after[i] + stride[i] - 1
        shape[axis] = simplify(O.add(O.floordiv(whole, stride[i]), 1))
        size, count = as_int(data.shape[axis]), as_int(shape[axis])
        if ceil_mode and size is not None and count is not None:
            # A last window that would start in the padding behind the data is left out.
            starts_behind = (count - 1) * stride[i] >= size + before[i]
            shape[axis] = O.const(count - starts_behind, data.shape[axis].dtype)
    window = [reduce_axis((0, k), f"rv{i}") for i, k in enumerate(kernel)]
    source = _padded(data, axes, before, ends, pool_type)

    def element(at: Sequence[Any]) -> PrimExpr:
        where = list(at)
        for i, axis in enumerate(axes):
            offset = O.multiply(window[i].var, dilation[i])
            where[axis] = O.add(O.multiply(at[axis], stride[i]), offset)
        return source(*where)

    if pool_type == "max":
        return named(shape, lambda *at: te_max(element(at), axis=window), "pool_max", "pool_max",
                     {"schedule_rule": "meta_schedule.pool_max"})  # fmt: skip
    total = named(shape, lambda *at: te_sum(element(at), axis=window), "pool_sum", "pool_sum")

    def average(*at: Any) -> PrimExpr:
        count: PrimExpr = O.const(1)
        for i, axis in enumerate(axes):
            start = O.subtract(O.multiply(at[axis], stride[i]), before[i])
            low, high = (-before[i], after[i]) if count_include_pad else (0, 0)
            size = O.add(data.shape[axis], high)
            count = O.multiply(count, _inside(start, kernel[i], dilation[i], low, size))
        return O.div(total(*at), O.cast(data.dtype, O.max(count, 1)))

    if count_include_pad and not ceil_mode:
        number = O.const(_product(kernel), data.dtype)
        return named(shape, lambda *at: O.div(total(*at), number), "pool_avg", "pool_avg",
                     {"schedule_rule": "meta_schedule.pool_avg"})  # fmt: skip
    return named(shape, average, "pool_avg", "pool_avg",
                 {"schedule_rule": "meta_schedule.pool_avg"})  # fmt: skip


def _product(values: Sequence[int]) -> int:
    result = 1
    for value in values:
        result *= value
    return result


def _inside(start: PrimExpr, kernel: int, dilation: int, low: int, high: PrimExpr) -> PrimExpr:
    """How many of `start + dilation * [0, kernel)` are in [low, high)."""
    first = O.max(O.floordiv(O.add(O.subtract(low, start), dilation - 1), dilation), 0)
    past = O.floordiv(O.add(O.subtract(high, start), dilation - 1), dilation)
    return O.subtract(O.min(past, kernel), first)


def _padded(
    data: Tensor, axes: Sequence[int], before: Sequence[int], after: Sequence[int], pool_type: str
) -> Tensor:
    if not any([*before, *after]):
        return data
    shape = list(data.shape)
    for i, axis in enumerate(axes):
        shape[axis] = simplify(O.add(shape[axis], before[i] + after[i]))
    filler = I.lowest(data.dtype) if pool_type == "max" else O.const(0, data.dtype)

    def body(*at: Any) -> PrimExpr:
        where, checks = list(at), []
        for i, axis in enumerate(axes):
            where[axis] = O.subtract(at[axis], before[i])
            if before[i]:
                checks.append(O.less_equal(before[i], at[axis]))
            if after[i]:
                checks.append(O.less(at[axis], simplify(O.add(data.shape[axis], before[i]))))
        return I.if_then_else(I.all(*checks), data(*where), filler)

    return named(shape, body, "pad_temp", "injective,pad")


def pool1d(data: Tensor, kernel: Any, stride: Any, dilation: Any, padding: Any, pool_type: str,
           ceil_mode: bool = False, layout: str = "NCW",
           count_include_pad: bool = True) -> Tensor:  # fmt: skip
    """Maximum or average over windows of the W axis."""
    return _pool(data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout,
                 count_include_pad, 1)  # fmt: skip


def pool2d(data: Tensor, kernel: Any, stride: Any, dilation: Any, padding: Any, pool_type: str,
           ceil_mode: bool = False, layout: str = "NCHW",
           count_include_pad: bool = True) -> Tensor:  # fmt: skip
    """Maximum or average over windows of the H and W axes.

    padding: a number, one an axis, or (top, left, bottom, right).  With `ceil_mode` the last window
    may hang over the end.  An average counts padding unless `count_include_pad` is False.
    """
    return _pool(data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout,
                 count_include_pad, 2)  # fmt: skip


def pool3d(data: Tensor, kernel: Any, stride: Any, dilation: Any, padding: Any, pool_type: str,
           ceil_mode: bool = False, layout: str = "NCDHW",
           count_include_pad: bool = True) -> Tensor:  # fmt: skip
    """Maximum or average over windows of the D, H and W axes."""
    return _pool(data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout,
                 count_include_pad, 3)  # fmt: skip


def _adaptive(data: Tensor, output_size: Any, pool_type: str, layout: str, dims: int) -> Tensor:
    _check_kind(pool_type)
    axes = _spatial_axes(data, layout, dims)
    targets = per_axis(output_size, dims, "output_size")
    shape = list(data.shape)
    for axis, target in zip(axes, targets, strict=True):
        shape[axis] = O.const(target, shape[axis].dtype)

    def bounds(i: int, at: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        size, target = data.shape[axes[i]], targets[i]
        start = O.floordiv(O.multiply(at, size), target)
        end = O.ceildiv(O.multiply(O.add(at, 1), size), target)
        return start, end

    # Windows of one size keep constant domains; others depend on where they are.
    known = [as_int(data.shape[axis]) for axis in axes]
    even = all(k is not None and k % t == 0 for k, t in zip(known, targets, strict=True))

    def window(at: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        where, ks = list(at), []
        for i, axis in enumerate(axes):
            start, end = bounds(i, at[axis])
            whole = known[i]
            extent = O.subtract(end, start)
            if even and whole is not None:
                extent = O.const(whole // targets[i], extent.dtype)
            ks.append(reduce_axis((0, extent), f"rv{i}"))
            where[axis] = O.add(start, ks[-1].var)
        return where, ks

    def reduced(reducer: Any) -> Any:
        def body(*at: Any) -> PrimExpr:
            where, ks = window(at)
            return reducer(data(*where), axis=ks)

        return body

    rule = {"schedule_rule": f"meta_schedule.adaptive_pool_{pool_type}"}
    if pool_type == "max":
        return named(shape, reduced(te_max), "adaptive_pool_max", "adaptive_pool_max", rule)
    total = named(shape, reduced(te_sum), "adaptive_pool_sum", "adaptive_pool_sum")

    def average(*at: Any) -> PrimExpr:
        if even:
            sizes = [k // t for k, t in zip(known, targets, strict=True) if k is not None]
            return O.div(total(*at), O.const(_product(sizes), data.dtype))
        count: PrimExpr = O.const(1)
        for i, axis in enumerate(axes):
            start, end = bounds(i, at[axis])
            count = O.multiply(count, O.subtract(end, start))
        return O.div(total(*at), O.cast(data.dtype, count))

    return named(shape, average, "adaptive_pool_avg", "adaptive_pool_avg", rule)


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """Pool the W axis to a given size."""
    return _adaptive(data, output_size, pool_type, layout, 1)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Pool the H and W axes to given sizes; window i covers [i*in//out, ceil((i+1)*in/out))."""
    return _adaptive(data, output_size, pool_type, layout, 2)


def adaptive_pool3d(
    data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW"
) -> Tensor:
    """Pool the D, H and W axes to given sizes."""
    return _adaptive(data, output_size, pool_type, layout, 3)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Pool the whole H and W axes."""
    return _adaptive(data, 1, pool_type, layout, 2)
