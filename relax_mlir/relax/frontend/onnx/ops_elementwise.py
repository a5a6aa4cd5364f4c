"""Converters for operators that work element by element: arithmetic, logic, conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.onnx.attributes import dtype_name
from relax_mlir.relax.frontend.onnx.node import Converter, Node, Row
from relax_mlir.relax.frontend.onnx.ops_shape import agreeing
from relax_mlir.relax.frontend.onnx.values import require_runnable


def unary(name: str) -> Converter:
    """The Relax operator of that name."""
    return lambda node: getattr(node.ops, name)(node.tensor(0))


def binary(name: str) -> Converter:
    return lambda node: getattr(node.ops, name)(*_aligned(node))


def _aligned(node: Node) -> tuple[Any, Any]:
    """Both operands; before version 7 the second may start at an axis of the first."""
    x, y = node.tensor(0), node.tensor(1)
    if node.version < 7 and node.attr("broadcast", 0) and node.attr("axis") is not None:
        axis = node.axis(node.attr("axis"), node.rank(x))
        y = node.reshape(y, [*node.shape(y), *[1] * (node.rank(x) - axis - node.rank(y))])
    return agreeing(node, x, y)


def variadic(name: str) -> Converter:
    def convert(node: Node) -> Any:
        result, *rest = node.tensors()
        for other in rest:
            result = getattr(node.ops, name)(result, other)
        return result

    return convert


def mean(node: Node) -> Any:
    total = variadic("add")(node)
    return node.ops.divide(total, node.like(len(node.inputs), total))


def div(node: Node) -> Any:
    """Integer division truncates."""
    x, y = _aligned(node)
    if dtypes.is_float(node.dtype(x)):
        return node.ops.divide(x, y)
    return truncating_division(node, x, y)


def truncating_division(node: Node, x: Any, y: Any) -> Any:
    ops = node.ops
    if dtypes.is_unsigned(node.dtype(x)):
        return ops.floor_divide(x, y)
    quotient = ops.floor_divide(x, y)
    remainder = ops.subtract(x, ops.multiply(quotient, y))
    zero = node.like(0, x)
    apart = ops.logical_xor(ops.less(x, zero), ops.less(y, zero))
    short = ops.logical_and(apart, ops.not_equal(remainder, zero))
    return ops.add(quotient, ops.astype(short, node.dtype(x)))


def mod(node: Node) -> Any:
    """The sign of the divisor, or with `fmod` that of the dividend."""
    x, y = node.tensor(0), node.tensor(1)
    ops = node.ops
    if not node.attr("fmod", 0):
        return ops.floor_mod(x, y)
    if dtypes.is_unsigned(node.dtype(x)):
        return ops.floor_mod(x, y)
    magnitude = ops.floor_mod(ops.abs(x), ops.abs(y))
    return ops.where(ops.less(x, node.like(0, x)), ops.negative(magnitude), magnitude)


def power(node: Node) -> Any:
    """The result has the base's dtype."""
    x, y = node.tensor(0), node.tensor(1)
    base, exponent = node.dtype(x), node.dtype(y)
    if dtypes.is_float(base):
        wide = "float64" if exponent in ("int64", "float64", "uint64", "int32", "uint32") else base
        if exponent == base or (base == "float32" and exponent != "float64"):
            wide = "float32" if base == "float32" else base
        result = node.ops.power(node.cast(x, wide), node.cast(y, wide))
        return node.cast(result, base)
    if dtypes.is_float(exponent):
        result = node.ops.power(node.cast(x, "float64"), node.cast(y, "float64"))
        return node.cast(result, base)
    return _integer_power(node, x, node.cast(y, base))


def _integer_power(node: Node, x: Any, y: Any) -> Any:
    """By repeated squaring.  Exponents above 63 overflow unless the base is 0, 1 or -1, for which
    only parity counts; negative ones give 0 but for 1 and -1."""
    ops = node.ops
    dtype = node.dtype(x)
    one = node.like(1, x)
    odd = ops.bitwise_and(y, one)
    magnitude = y if dtypes.is_unsigned(dtype) else ops.abs(y)
    exponent = ops.where(
        ops.greater(magnitude, node.like(63, x)), ops.add(node.like(62, x), odd), magnitude
    )
    result, square = one, x
    for bit in range(6):
        taken = ops.bitwise_and(ops.right_shift(exponent, node.like(bit, x)), one)
        result = ops.where(ops.equal(taken, one), ops.multiply(result, square), result)
        square = ops.multiply(square, square) if bit < 5 else square
    if dtypes.is_unsigned(dtype):
        return result
    unit = ops.equal(ops.abs(x), one)
    zero = ops.zeros_like(result)
    keeps = ops.logical_or(ops.greater_equal(y, node.like(0, x)), unit)
    return ops.where(keeps, result, zero)


def clip(node: Node) -> Any:
    x = node.tensor(0)
    for place, name, operator in ((1, "min", "maximum"), (2, "max", "minimum")):
        bound = node.optional(place)
        if bound is None and node.attr(name) is not None:
            bound = node.like(node.attr(name), x)
        if bound is not None:
            x = getattr(node.ops, operator)(x, bound)
    return x


def _unary_with(function: Callable[..., Any], *defaults: tuple[str, float]) -> Converter:
    """`function(node, x, *attributes)`, attributes as scalars of x's dtype."""

    def convert(node: Node) -> Any:
        x = node.tensor(0)
        values = [node.like(node.attr(name, value), x) for name, value in defaults]
        return function(node, x, *values)

    return convert


def leaky_relu(node: Node, x: Any, alpha: Any) -> Any:
    return node.ops.where(node.ops.less(x, node.like(0, x)), node.ops.multiply(alpha, x), x)


def elu(node: Node, x: Any, alpha: Any) -> Any:
    ops = node.ops
    zero = node.like(0, x)
    below = ops.multiply(alpha, ops.subtract(ops.exp(ops.minimum(x, zero)), node.like(1, x)))
    return ops.where(ops.less(x, zero), below, x)


def selu(node: Node, x: Any, alpha: Any, gamma: Any) -> Any:
    return node.ops.multiply(gamma, elu(node, x, alpha))


def celu(node: Node, x: Any, alpha: Any) -> Any:
    ops = node.ops
    zero = node.like(0, x)
    below = ops.subtract(ops.exp(ops.divide(x, alpha)), node.like(1, x))
    negative = ops.minimum(zero, ops.multiply(alpha, below))
    return ops.add(ops.maximum(x, zero), negative)


def hard_sigmoid(node: Node, x: Any, alpha: Any, beta: Any) -> Any:
    ops = node.ops
    line = ops.add(ops.multiply(alpha, x), beta)
    return ops.maximum(node.like(0, x), ops.minimum(node.like(1, x), line))


def hard_swish(node: Node) -> Any:
    x = node.tensor(0)
    gate = hard_sigmoid(node, x, node.like(1 / 6, x), node.like(0.5, x))
    return node.ops.multiply(x, gate)


def relu(node: Node) -> Any:
    x = node.tensor(0)
    if dtypes.is_float(node.dtype(x)):
        return node.ops.nn.relu(x)
    return node.ops.maximum(x, node.like(0, x))


def softplus(node: Node, x: Any) -> Any:
    """log(1 + e^x), without overflow."""
    ops = node.ops
    small = ops.exp(ops.negative(ops.abs(x)))
    return ops.add(ops.maximum(x, node.like(0, x)), ops.log(ops.add(small, node.like(1, x))))


def softsign(node: Node, x: Any) -> Any:
    return node.ops.divide(x, node.ops.add(node.like(1, x), node.ops.abs(x)))


def mish(node: Node, x: Any) -> Any:
    return node.ops.multiply(x, node.ops.tanh(softplus(node, x)))


def swish(node: Node, x: Any, alpha: Any) -> Any:
    return node.ops.multiply(x, node.ops.sigmoid(node.ops.multiply(alpha, x)))


def thresholded_relu(node: Node, x: Any, alpha: Any) -> Any:
    return node.ops.where(node.ops.greater(x, alpha), x, node.ops.zeros_like(x))


def shrink(node: Node, x: Any, lambd: Any, bias: Any) -> Any:
    ops = node.ops
    below = ops.less(x, ops.negative(lambd))
    above = ops.greater(x, lambd)
    inner = ops.where(above, ops.subtract(x, bias), ops.zeros_like(x))
    return ops.where(below, ops.add(x, bias), inner)


def shrink_node(node: Node) -> Any:
    """The parameters are floats, x may be an integer tensor."""
    x = node.tensor(0)
    given = [node.attr("lambd", 0.5), node.attr("bias", 0.0)]
    if dtypes.is_float(node.dtype(x)):
        return shrink(node, x, *(node.like(v, x) for v in given))
    wide = node.cast(x, "float64")
    return node.cast(shrink(node, wide, *(node.like(v, wide) for v in given)), node.dtype(x))


def gelu(node: Node) -> Any:
    x = node.tensor(0)
    if node.attr("approximate", "none") == "tanh":
        return node.ops.nn.gelu_tanh(x)
    return node.ops.nn.gelu(x)


def prelu(node: Node) -> Any:
    x, slope = node.tensor(0), node.tensor(1)
    if node.version < 7 and node.rank(slope) == 1 and node.rank(x) > 2:
        slope = node.reshape(slope, [*node.shape(slope), *[1] * (node.rank(x) - 2)])
    below = node.ops.less(x, node.like(0, x))
    return node.ops.where(below, node.ops.multiply(slope, x), x)


def reciprocal(node: Node) -> Any:
    x = node.tensor(0)
    return node.ops.divide(node.like(1, x), x)


def is_inf(node: Node) -> Any:
    x = node.tensor(0)
    result = node.ops.isinf(x)
    zero = node.like(0, x)
    if not node.attr("detect_negative", 1):
        result = node.ops.logical_and(result, node.ops.greater(x, zero))
    if not node.attr("detect_positive", 1):
        result = node.ops.logical_and(result, node.ops.less(x, zero))
    return result


def bit_shift(node: Node) -> Any:
    name = "left_shift" if node.attr("direction") == "LEFT" else "right_shift"
    return getattr(node.ops, name)(node.tensor(0), node.tensor(1))


def cast(node: Node) -> Any:
    return convert_dtype(node, node.tensor(0), dtype_name(int(node.attr("to"))))


def cast_like(node: Node) -> Any:
    target = node.value(1)
    return convert_dtype(node, node.tensor(0), node.dtype(target))


def convert_dtype(node: Node, x: Any, target: str) -> Any:
    """`Cast`: what is converted to bool is compared with zero."""
    source = node.dtype(x)
    if source == target:
        return x
    if target == "bool":
        return node.ops.not_equal(x, node.like(0, x))
    require_runnable(target)
    return node.ops.astype(x, target)


def bit_cast(node: Node) -> Any:
    """The same bits under another dtype of the same width."""
    from relax_mlir import te

    x, target = node.tensor(0), dtype_name(int(node.attr("to")))
    source = node.dtype(x)
    if source == "bool" and target in ("int8", "uint8"):
        return node.cast(x, target)
    if dtypes.bits(source) != dtypes.bits(target) or "bool" in (source, target):
        node.refuse(f"reinterpreting {source} as {target} changes the shape")

    def reinterpret(data: Any) -> Any:
        return te.compute(data.shape, lambda *i: te.reinterpret(target, data(*i)), "reinterpret")

    return node.te(reinterpret, x)


def hardmax(node: Node) -> Any:
    """1 at the first maximum along an axis; before version 13 the axis ends the matrix rows."""
    x = node.tensor(0)
    rank = node.rank(x)
    axis = node.axis(node.attr("axis", -1 if node.version >= 13 else 1), rank)
    shape = node.shape(x)
    if node.version < 13:
        from relax_mlir.relax.frontend.onnx.ops_shape import flat_matrix

        x, axis = flat_matrix(node, x, axis), 1
    dims = node.shape(x)
    best = node.ops.argmax(x, axis=axis, keepdims=True)
    count = node.ops.arange(0, dims[axis], 1, dtype="int64")
    row = node.reshape(count, [dims[axis] if i == axis else 1 for i in range(len(dims))])
    hot = node.cast(node.ops.equal(row, best), node.dtype(x))
    return node.reshape(hot, shape)


def identity(node: Node) -> Any:
    return [node.value(0)]  # which may be a sequence


def constant(node: Node) -> Any:
    for name, dtype in (
        ("value", None),
        ("value_float", "float32"),
        ("value_floats", "float32"),
        ("value_int", "int64"),
        ("value_ints", "int64"),
    ):
        if node.attr(name) is not None:
            return Known(np.asarray(node.attr(name), dtype))
    return node.refuse("its value is of a kind that is not supported (strings or sparse tensors)")


def swiglu(node: Node) -> Any:
    gate, x = node.tensor(0), node.tensor(1)
    return node.ops.multiply(swish(node, gate, node.like(node.attr("alpha", 1.0), gate)), x)


CONVERTERS: dict[str, Row] = {
    **{
        name: unary(operator)
        for pair in (
            "Abs abs,Acos acos,Acosh acosh,Asin asin,Asinh asinh,Atan atan,Atanh atanh,"
            "BitwiseNot bitwise_not,Ceil ceil,Cos cos,Cosh cosh,Erf erf,Exp exp,Floor floor,"
            "IsNaN isnan,Log log,Neg negative,Not logical_not,Round round,Sigmoid sigmoid,"
            "Sign sign,Sin sin,Sinh sinh,Sqrt sqrt,Tan tan,Tanh tanh"
        ).split(",")
        for name, operator in [pair.split()]
    },
    **{
        name: binary(operator)
        for pair in (
            "Add add,And logical_and,BitwiseAnd bitwise_and,BitwiseOr bitwise_or,"
            "BitwiseXor bitwise_xor,Equal equal,Greater greater,GreaterOrEqual greater_equal,"
            "Less less,LessOrEqual less_equal,Mul multiply,Or logical_or,Sub subtract,"
            "Xor logical_xor"
        ).split(",")
        for name, operator in [pair.split()]
    },
    "BitCast": bit_cast,
    "BitShift": bit_shift,
    "Cast": cast,
    "CastLike": cast_like,
    "Celu": _unary_with(celu, ("alpha", 1.0)),
    "Clip": clip,
    "Constant": constant,
    "Div": div,
    "Elu": _unary_with(elu, ("alpha", 1.0)),
    "Gelu": gelu,
    "HardSigmoid": _unary_with(hard_sigmoid, ("alpha", 0.2), ("beta", 0.5)),
    "HardSwish": hard_swish,
    "Hardmax": hardmax,
    "Identity": identity,
    "IsInf": is_inf,
    "LeakyRelu": _unary_with(leaky_relu, ("alpha", 0.01)),
    "Max": variadic("maximum"),
    "Mean": mean,
    "Min": variadic("minimum"),
    "Mish": _unary_with(mish),
    "Mod": mod,
    "PRelu": prelu,
    "Pow": power,
    "Reciprocal": reciprocal,
    "Relu": relu,
    "Selu": _unary_with(
        selu, ("alpha", 1.67326319217681884765625), ("gamma", 1.05070102214813232421875)
    ),
    "Shrink": shrink_node,
    "Softplus": _unary_with(softplus),
    "Softsign": _unary_with(softsign),
    "Sum": variadic("add"),
    "Swish": _unary_with(swish, ("alpha", 1.0)),
    "ThresholdedRelu": _unary_with(thresholded_relu, ("alpha", 1.0)),
    "Where": lambda node: node.ops.where(*node.tensors()),
}
"""By operator; see `node.Row`."""
