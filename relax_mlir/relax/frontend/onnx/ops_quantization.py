"""Converters for quantised operators, computed in integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.relax.frontend.onnx.attributes import dtype_name
from relax_mlir.relax.frontend.onnx.node import Node, Row
from relax_mlir.relax.frontend.onnx.ops_convolution import convolve, with_bias
from relax_mlir.relax.frontend.onnx.ops_elementwise import leaky_relu
from relax_mlir.relax.frontend.onnx.values import require_runnable

_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32")


def _spread(node: Node, value: Any, x: Any) -> Any:
    """A scale or zero point shaped to broadcast with x: one number, one an axis, or blocks."""
    rank, own = node.rank(x), node.rank(value)
    if own == 0 or (own == 1 and node.shape(value) == [1]):
        return node.reshape(value, [])
    axis = node.axis(node.attr("axis", 1), rank)
    block = node.attr("block_size", 0)
    if own == 1 and not block:
        shape = node.shape(value)
        return node.reshape(value, [shape[0] if i == axis else 1 for i in range(rank)])
    shape = node.static_shape(x)
    count = node.static_shape(value)[axis]
    block = block or -(-shape[axis] // count)
    index = np.minimum(np.arange(shape[axis]) // block, count - 1)
    return node.ops.take(value, node.const(index, "int64"), axis=axis)


def quantize(node: Node) -> Any:
    x, scale = node.tensor(0), node.tensor(1)
    zero = node.optional(2)
    target = node.dtype(zero) if zero is not None else "uint8"
    if zero is None and node.attr("output_dtype"):
        target = dtype_name(int(node.attr("output_dtype")))
    require_runnable(target)
    if target not in _INTEGERS:
        node.refuse(f"quantising to {target} has no operator")
    zero = None if zero is None else _spread(node, zero, x)
    precision = node.attr("precision", 0)
    wide = dtype_name(int(precision)) if precision else node.dtype(scale)
    return to_integers(
        node, node.cast(x, wide), _spread(node, node.cast(scale, wide), x), zero, target
    )


def to_integers(node: Node, x: Any, scale: Any, zero: Any, target: str) -> Any:
    """round(x / scale) + zero, cut to the target's range."""
    ops = node.ops
    wide = "float64" if dtypes.bits(target) > 16 else "float32"
    steps = node.cast(ops.round(ops.divide(x, scale)), wide)
    if zero is not None:
        steps = ops.add(steps, node.cast(zero, wide))
    low, high = np.iinfo(target).min, np.iinfo(target).max
    cut = ops.minimum(ops.maximum(steps, node.const(low, wide)), node.const(high, wide))
    return node.cast(cut, target)


def dequantize(node: Node) -> Any:
    x, scale, zero = node.tensor(0), node.tensor(1), node.optional(2)
    if node.dtype(x) not in _INTEGERS:
        node.refuse(f"dequantising {node.dtype(x)} has no operator")
    wide = node.dtype(scale)
    target = dtype_name(int(node.attr("output_dtype"))) if node.attr("output_dtype") else wide
    result = node.cast(x, "int32")
    if zero is not None:
        result = node.ops.subtract(result, node.cast(_spread(node, zero, x), "int32"))
    scaled = node.ops.multiply(node.cast(result, wide), _spread(node, scale, x))
    return node.cast(scaled, target)


def dynamic_quantize(node: Node) -> Any:
    """To uint8 by the range of the values, which includes 0."""
    x, ops = node.tensor(0), node.ops
    zero = node.like(0, x)
    low = ops.minimum(ops.min(x, axis=None), zero)
    high = ops.maximum(ops.max(x, axis=None), zero)
    scale = ops.divide(ops.subtract(high, low), node.like(255, x))
    flat = ops.equal(scale, zero)
    safe = ops.where(flat, node.like(1, x), scale)
    start = ops.round(ops.divide(ops.subtract(zero, low), safe))
    start = ops.minimum(ops.maximum(start, zero), node.like(255, x))
    point = node.cast(start, "uint8")
    return [to_integers(node, x, safe, point, "uint8"), scale, point]


def _shifted(node: Node, index: int, zero: Any, rows: bool = False) -> Any:
    """An operand as int32, its zero point subtracted; a vector belongs to rows or columns."""
    x = node.cast(node.tensor(index), "int32")
    if zero is None:
        return x
    zero = node.cast(zero, "int32")
    if rows and node.rank(zero) == 1 and node.shape(zero) != [1]:
        zero = node.reshape(zero, [*node.shape(zero), 1])
    return node.ops.subtract(x, zero)


def matmul_integer(node: Node) -> Any:
    a = _shifted(node, 0, node.optional(2), rows=True)
    return node.ops.matmul(a, _shifted(node, 1, node.optional(3)))


def conv_integer(node: Node) -> Any:
    x = _shifted(node, 0, node.optional(2))
    return convolve(node, x, _shifted(node, 1, _kernel_zero(node, node.optional(3), 1)))


def _kernel_zero(node: Node, zero: Any, weight: int) -> Any:
    """The weights' zero point, one an output channel perhaps."""
    if zero is None or node.rank(zero) == 0:
        return zero
    if node.shape(zero) == [1]:
        return node.reshape(zero, [])
    return node.reshape(zero, [node.shape(zero)[0], *[1] * (node.rank(node.tensor(weight)) - 1)])


def _requantize(node: Node, total: Any, scale: Any, out_scale: Any, zero: Any) -> Any:
    """int32 sums times scale / out_scale."""
    target = node.dtype(zero)
    wide = "float64"
    ratio = node.ops.divide(node.cast(scale, wide), node.cast(out_scale, wide))
    scaled = node.ops.multiply(node.cast(total, wide), ratio)
    return to_integers(node, scaled, node.const(1, wide), zero, target)


def qlinear_matmul(node: Node) -> Any:
    a_scale, b_scale = node.tensor(1), node.tensor(4)
    a = _shifted(node, 0, node.tensor(2), rows=True)
    total = node.ops.matmul(a, _shifted(node, 3, node.tensor(5)))
    if node.rank(a_scale) == 1 and node.shape(a_scale) != [1]:
        a_scale = node.reshape(a_scale, [*node.shape(a_scale), 1])
    scale = node.ops.multiply(node.cast(a_scale, "float64"), node.cast(b_scale, "float64"))
    return _requantize(node, total, scale, node.tensor(6), node.tensor(7))


def qlinear_conv(node: Node) -> Any:
    """The bias is int32 in steps of x_scale * w_scale."""
    x = _shifted(node, 0, node.tensor(2))
    weight = _shifted(node, 3, _kernel_zero(node, node.tensor(5), 3))
    total = with_bias(node, convolve(node, x, weight), node.optional(8))
    scale = node.ops.multiply(
        node.cast(node.tensor(1), "float64"), node.cast(node.tensor(4), "float64")
    )
    if node.rank(scale) == 1 and node.shape(scale) != [1]:
        scale = node.reshape(scale, [1, node.shape(scale)[0], *[1] * (node.rank(total) - 2)])
    return _requantize(node, total, scale, node.tensor(6), node.tensor(7))


def qgemm(node: Node) -> Any:
    """Gemm of ONNX Runtime; without a scale for it the result is of real numbers."""
    ops = node.ops
    a = _shifted(node, 0, node.tensor(2))
    b = _shifted(node, 3, node.tensor(5), rows=bool(node.attr("transB", 0)))
    a, b = (
        node.permute(x, [1, 0]) if node.attr(name, 0) else x
        for x, name in ((a, "transA"), (b, "transB"))
    )
    total = ops.matmul(a, b)
    bias = node.optional(6)
    if bias is not None:
        total = ops.add(total, bias)
    scale = ops.multiply(node.cast(node.tensor(1), "float64"), node.cast(node.tensor(4), "float64"))
    scale = ops.multiply(scale, node.const(node.attr("alpha", 1.0), "float64"))
    out_scale = node.optional(7)
    if out_scale is None:
        return node.cast(ops.multiply(node.cast(total, "float64"), scale), "float32")
    return _requantize(node, total, scale, out_scale, node.tensor(8))


def _real(node: Node, index: int) -> Any:
    """The real numbers of an operand that its scale and zero point follow."""
    steps = node.cast(_shifted(node, index, node.optional(index + 2)), "float32")
    return node.ops.multiply(steps, node.tensor(index + 1))


def qlinear_binary(name: str) -> Any:
    """QLinearAdd and QLinearMul of ONNX Runtime: real numbers in between."""

    def convert(node: Node) -> Any:
        result = getattr(node.ops, name)(_real(node, 0), _real(node, 3))
        zero = node.optional(7)
        target = node.dtype(node.tensor(0)) if zero is None else node.dtype(zero)
        return to_integers(node, result, node.tensor(6), zero, target)

    return convert


def qlinear_unary(compute: Callable[[Node, Any], Any]) -> Any:
    """An operator of ONNX Runtime on quantized data, real numbers in between."""

    def convert(node: Node) -> Any:
        result = compute(node, _real(node, 0))
        return to_integers(
            node, result, node.tensor(3), node.optional(4), node.dtype(node.tensor(0))
        )

    return convert


def _global_average(node: Node, x: Any) -> Any:
    first = 1 if node.attr("channels_last", 0) else 2
    axes = list(range(first, first + node.rank(x) - 2))
    return node.ops.mean(x, axis=axes, keepdims=True)


def qlinear_concat(node: Node) -> Any:
    """Tensors, each followed by its scale and zero point, behind those of the result."""
    parts = [_real(node, index) for index in range(2, len(node.inputs), 3)]
    zero = node.tensor(1)
    joined = node.ops.concat(parts, axis=node.attr("axis", 0))
    return to_integers(node, joined, node.tensor(0), zero, node.dtype(zero))


CONVERTERS: dict[str, Row] = {
    "ConvInteger": conv_integer,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize,
    "com.microsoft.DequantizeLinear": dequantize,
    "com.microsoft.MatMulInteger16": matmul_integer,
    "com.microsoft.QGemm": qgemm,
    "com.microsoft.QLinearAdd": qlinear_binary("add"),
    "com.microsoft.QLinearConcat": qlinear_concat,
    "com.microsoft.QLinearGlobalAveragePool": qlinear_unary(_global_average),
    "com.microsoft.QLinearLeakyRelu": qlinear_unary(
        lambda node, x: leaky_relu(node, x, node.like(node.attr("alpha", 0.01), x))
    ),
    "com.microsoft.QLinearMul": qlinear_binary("multiply"),
    "com.microsoft.QLinearSigmoid": qlinear_unary(lambda node, x: node.ops.sigmoid(x)),
    "com.microsoft.QuantizeLinear": quantize,
}
"""By operator; see `node.Row`."""
