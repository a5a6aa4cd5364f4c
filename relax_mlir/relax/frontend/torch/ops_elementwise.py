"""Converters for elementwise operators."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.torch.importer import Converter, Importer, dtype_name


def _unary(name: str) -> Converter:
    def convert(imp: Importer, x: Any) -> Any:
        return getattr(imp.op, name)(x)

    return convert


def _nn_unary(name: str) -> Converter:
    def convert(imp: Importer, x: Any, inplace: bool = False) -> Any:
        return getattr(imp.op.nn, name)(x)

    return convert


def _float_unary(name: str) -> Converter:
    """PyTorch computes these on integers too, in float32."""

    def convert(imp: Importer, x: Any) -> Any:
        if not x.struct_info.dtype.startswith(("float", "bfloat")):
            x = imp.emit(imp.op.astype(x, "float32"))
        return getattr(imp.op, name)(x)

    return convert


def _binary(name: str) -> Converter:
    def convert(imp: Importer, lhs: Any, rhs: Any) -> Any:
        return getattr(imp.op, name)(*imp.pair(lhs, rhs))

    return convert


def _scaled(name: str) -> Converter:
    """add and sub: `lhs + alpha * rhs`."""

    def convert(imp: Importer, lhs: Any, rhs: Any, alpha: float = 1) -> Any:
        lhs, rhs = imp.pair(lhs, rhs)
        if alpha != 1:
            rhs = imp.emit(imp.op.multiply(rhs, imp.scalar_like(alpha, rhs)))
        return getattr(imp.op, name)(lhs, rhs)

    return convert


def rsub(imp: Importer, lhs: Any, rhs: Any, alpha: float = 1) -> Any:
    return _scaled("subtract")(imp, rhs, lhs, alpha)


def div(imp: Importer, lhs: Any, rhs: Any, rounding_mode: str | None = None) -> Any:
    lhs, rhs = imp.pair(lhs, rhs)
    if rounding_mode == "floor":
        return imp.op.floor_divide(lhs, rhs)
    if not lhs.struct_info.dtype.startswith(("float", "bfloat")):
        lhs, rhs = (imp.emit(imp.op.astype(x, "float32")) for x in (lhs, rhs))
    quotient = imp.op.divide(lhs, rhs)
    return imp.op.trunc(imp.emit(quotient)) if rounding_mode == "trunc" else quotient


def reciprocal(imp: Importer, x: Any) -> Any:
    return imp.op.divide(imp.scalar_like(1.0, x), x)


def clamp(
    imp: Importer, x: Any, low: float | None = None, high: float | None = None, **kw: Any
) -> Any:
    low, high = kw.get("min", low), kw.get("max", high)
    if low is not None:
        x = imp.emit(imp.op.maximum(*imp.pair(x, low)))
    return x if high is None else imp.op.minimum(*imp.pair(x, high))


def gelu(imp: Importer, x: Any, approximate: str = "none") -> Any:
    return imp.op.nn.gelu_tanh(x) if approximate == "tanh" else imp.op.nn.gelu(x)


def leaky_relu(imp: Importer, x: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return imp.op.nn.leakyrelu(x, negative_slope)


def relu6(imp: Importer, x: Any, inplace: bool = False) -> Any:
    return clamp(imp, x, 0.0, 6.0)


def hardtanh(
    imp: Importer, x: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    return clamp(imp, x, min_val, max_val)


def _shifted_relu6(imp: Importer, x: Any) -> Any:
    """relu6(x + 3) / 6, as hardsigmoid and hardswish have it."""
    clipped = imp.bind(clamp(imp, imp.emit(imp.op.add(x, imp.scalar_like(3.0, x))), 0.0, 6.0))
    return imp.op.divide(clipped, imp.scalar_like(6.0, x))


def hardsigmoid(imp: Importer, x: Any, inplace: bool = False) -> Any:
    return _shifted_relu6(imp, x)


def hardswish(imp: Importer, x: Any, inplace: bool = False) -> Any:
    return imp.op.multiply(x, imp.emit(_shifted_relu6(imp, x)))


def to_copy(imp: Importer, x: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """`to` in its forms: only a change of dtype changes the value."""
    import torch

    for argument in args:
        dtype = argument if isinstance(argument, torch.dtype) else dtype
    return x if dtype is None else imp.op.astype(x, dtype_name(dtype))


def identity(imp: Importer, x: Any, *args: Any, **kwargs: Any) -> Any:
    return x


def where(imp: Importer, condition: Any, x: Any, y: Any) -> Any:
    return imp.op.where(condition, *imp.pair(x, y))


def masked_fill(imp: Importer, x: Any, mask: Any, value: float) -> Any:
    return imp.op.where(mask, imp.scalar_like(value, x), x)


_SAME = "abs ceil floor negative round sign square trunc bitwise_not isnan isinf isfinite".split()
_FLOAT = (
    "acos acosh asin asinh atan atanh cos cosh erf exp log rsqrt sigmoid sin sinh sqrt tan tanh"
).split()
_BINARY = {
    "mul": "multiply",
    "pow": "power",
    "maximum": "maximum",
    "minimum": "minimum",
    "atan2": "atan2",
    "floor_divide": "floor_divide",
    "remainder": "floor_mod",
    "fmod": "mod",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "logaddexp": "log_add_exp",
}

CONVERTERS: dict[str, Converter] = {
    **{name: _unary(name) for name in _SAME},
    **{name: _float_unary(name) for name in _FLOAT},
    **{torch_name: _binary(name) for torch_name, name in _BINARY.items()},
    "neg": _unary("negative"),
    "logical_not": _unary("logical_not"),
    "add": _scaled("add"),
    "sub": _scaled("subtract"),
    "rsub": rsub,
    "div": div,
    "true_divide": div,
    "reciprocal": reciprocal,
    "clamp": clamp,
    "clip": clamp,
    "relu": _nn_unary("relu"),
    "silu": _nn_unary("silu"),
    "selu": _nn_unary("selu"),
    "gelu": gelu,
    "leaky_relu": leaky_relu,
    "relu6": relu6,
    "hardtanh": hardtanh,
    "hardsigmoid": hardsigmoid,
    "hardswish": hardswish,
    "to": to_copy,
    "_to_copy": to_copy,
    "clone": identity,
    "contiguous": identity,
    "detach": identity,
    "alias": identity,
    "lift_fresh_copy": identity,
    "dropout": identity,
    "where": where,
    "masked_fill": masked_fill,
}
"""By the operator's name without namespace, overload and trailing underscore."""
