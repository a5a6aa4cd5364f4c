"""Converters for reductions, arg reductions and scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.relax.frontend.onnx.node import Converter, Node, Row

Step = Callable[[Node, Any], Any]


def reduction(name: str, before: Step | None = None, after: Step | None = None) -> Converter:
    """A Relax reduction, with elementwise steps before and after it."""

    def convert(node: Node) -> Any:
        x = node.tensor(0)
        axes = reduced_axes(node, node.rank(x))
        x = x if before is None else before(node, x)
        if axes is None or axes:
            x = reduce(node, name, x, axes, bool(node.attr("keepdims", 1)))
        return x if after is None else after(node, x)

    return convert


def reduced_axes(node: Node, rank: int) -> list[int] | None:
    """The axes to reduce: None for all, an empty list for none."""
    axes = node.ints(1, "axes")
    if axes:
        return [node.axis(axis, rank) for axis in axes]
    return [] if node.attr("noop_with_empty_axes", 0) else None


def reduce(node: Node, name: str, x: Any, axes: list[int] | None, keepdims: bool) -> Any:
    """One reduction; bool and narrow integers go through int32, as few kernels know them."""
    dtype = node.dtype(x)
    narrow = dtype in ("bool", "int8", "uint8", "int16", "uint16")
    wide = node.cast(x, "int32") if narrow else x
    if name == "mean" and not dtypes.is_float(dtype):
        node.refuse(f"the mean of {dtype}")
    result = getattr(node.ops, name)(wide, axis=axes, keepdims=keepdims)
    if narrow and name in ("max", "min"):  # of nothing: the end of the narrow dtype's range
        low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        bounds = [node.const(int(bound), "int32") for bound in (low, high)]
        result = node.ops.minimum(node.ops.maximum(result, bounds[0]), bounds[1])
    return node.cast(result, dtype)


def log_sum_exp(node: Node) -> Any:
    """Shifted by the maximum, which must be finite for that."""
    x, ops = node.tensor(0), node.ops
    axes = reduced_axes(node, node.rank(x))
    keepdims = bool(node.attr("keepdims", 1))
    if axes == []:
        return x
    if 0 in node.shape(x):
        return ops.log(reduce(node, "sum", ops.exp(x), axes, keepdims))
    peak = reduce(node, "max", x, axes, True)
    shift = ops.where(ops.isfinite(peak), peak, ops.zeros_like(peak))
    total = reduce(node, "sum", ops.exp(ops.subtract(x, shift)), axes, True)
    result = ops.add(ops.log(total), shift)
    if keepdims:
        return result
    rank = node.rank(x)
    return ops.squeeze(result, axis=axes if axes is not None else list(range(rank)))


def arg_reduction(name: str) -> Converter:
    def convert(node: Node) -> Any:
        x, ops = node.tensor(0), node.ops
        axis = node.axis(node.attr("axis", 0), node.rank(x))
        keepdims = bool(node.attr("keepdims", 1))
        if not node.attr("select_last_index", 0):
            return node.cast(getattr(ops, name)(x, axis=axis, keepdims=keepdims), "int64")
        found = getattr(ops, name)(ops.flip(x, axis=axis), axis=axis, keepdims=keepdims)
        size = node.importer.expr(_size(node, x, axis))
        return ops.subtract(ops.subtract(size, node.const(1, "int64")), node.cast(found, "int64"))

    return convert


def _size(node: Node, x: Any, axis: int) -> Any:
    from relax_mlir.relax.frontend.known import Known, object_array

    return Known(object_array([node.shape(x)[axis]], ()), "int64")


def scan(name: str) -> Converter:
    """Cumulative sums and products; `exclusive` leaves an element's own value out."""

    def convert(node: Node) -> Any:
        x, ops = node.tensor(0), node.ops
        axis = node.axis(int(node.array(1, "the axis").reshape(-1)[0]), node.rank(x))
        dtype = node.dtype(x)
        if node.attr("reverse", 0):
            x = ops.flip(x, axis=axis)
        exclusive = bool(node.attr("exclusive", 0))
        x = getattr(ops, name)(x, axis=axis, dtype=dtype, exclusive=exclusive)
        return ops.flip(x, axis=axis) if node.attr("reverse", 0) else x

    return convert


def _square(node: Node, x: Any) -> Any:
    return node.ops.multiply(x, x)


def _absolute(node: Node, x: Any) -> Any:
    return node.ops.abs(x)


def _root(node: Node, x: Any) -> Any:
    dtype = node.dtype(x)
    if dtypes.is_float(dtype):
        return node.ops.sqrt(x)
    return node.cast(node.ops.sqrt(node.cast(x, "float64")), dtype)


def _log(node: Node, x: Any) -> Any:
    return node.ops.log(x)


CONVERTERS: dict[str, Row] = {
    "ArgMax": arg_reduction("argmax"),
    "ArgMin": arg_reduction("argmin"),
    "CumProd": scan("cumprod"),
    "CumSum": scan("cumsum"),
    "ReduceL1": reduction("sum", before=_absolute),
    "ReduceL2": reduction("sum", before=_square, after=_root),
    "ReduceLogSum": reduction("sum", after=_log),
    "ReduceLogSumExp": log_sum_exp,
    "ReduceMax": reduction("max"),
    "ReduceMean": reduction("mean"),
    "ReduceMin": reduction("min"),
    "ReduceProd": reduction("prod"),
    "ReduceSum": reduction("sum"),
    "ReduceSumSquare": reduction("sum", before=_square),
}
"""By operator; see `node.Row`."""
