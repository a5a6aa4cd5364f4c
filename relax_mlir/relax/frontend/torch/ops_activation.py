"""Converters for activation functions."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.torch.importer import Converter, Importer
from relax_mlir.relax.frontend.torch.ops_elementwise import clamp


def _nn_unary(name: str) -> Converter:
    def convert(imp: Importer, x: Any, inplace: bool = False) -> Any:
        return getattr(imp.op.nn, name)(x)

    return convert


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
    return imp.op.multiply(clipped, imp.scalar_like(1.0 / 6.0, x))


def hardsigmoid(imp: Importer, x: Any, inplace: bool = False) -> Any:
    return _shifted_relu6(imp, x)


def hardswish(imp: Importer, x: Any, inplace: bool = False) -> Any:
    return imp.op.multiply(x, imp.emit(_shifted_relu6(imp, x)))


def elu(
    imp: Importer,
    x: Any,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
    inplace: bool = False,
) -> Any:
    """scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1))."""
    zero = imp.scalar_like(0.0, x)
    below = imp.emit(imp.op.minimum(x, zero))
    if input_scale != 1.0:
        below = imp.emit(imp.op.multiply(below, imp.scalar_like(input_scale, x)))
    curve = imp.chain(
        below,
        imp.op.exp,
        lambda v: imp.op.subtract(v, imp.scalar_like(1.0, x)),
        lambda v: imp.op.multiply(v, imp.scalar_like(alpha, x)),
    )
    result = imp.op.where(imp.emit(imp.op.greater(x, zero)), x, curve)
    if scale == 1.0:
        return result
    return imp.op.multiply(imp.emit(result), imp.scalar_like(scale, x))


def celu(imp: Importer, x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return elu(imp, x, alpha, 1.0, 1.0 / alpha)


def softplus(imp: Importer, x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return imp.op.nn.softplus(x, float(beta), float(threshold))


def mish(imp: Importer, x: Any, inplace: bool = False) -> Any:
    return imp.op.multiply(x, imp.chain(x, imp.op.nn.softplus, imp.op.tanh))


def log_sigmoid(imp: Importer, x: Any) -> Any:
    return imp.chain(x, imp.op.negative, imp.op.nn.softplus, imp.op.negative)


def log_sigmoid_forward(imp: Importer, x: Any) -> Any:
    return [log_sigmoid(imp, x)]


def softsign(imp: Importer, x: Any) -> Any:
    one = imp.scalar_like(1.0, x)
    return imp.op.divide(x, imp.emit(imp.op.add(imp.emit(imp.op.abs(x)), one)))


def softshrink(imp: Importer, x: Any, lambd: float = 0.5) -> Any:
    """x moved by lambd towards zero, zero within."""
    clipped = imp.bind(clamp(imp, x, -float(lambd), float(lambd)))
    return imp.op.subtract(x, clipped)


def hardshrink(imp: Importer, x: Any, lambd: float = 0.5) -> Any:
    kept = imp.emit(imp.op.greater(imp.emit(imp.op.abs(x)), imp.scalar_like(float(lambd), x)))
    return imp.op.where(kept, x, imp.scalar_like(0.0, x))


def tanhshrink(imp: Importer, x: Any) -> Any:
    return imp.op.subtract(x, imp.emit(imp.op.tanh(x)))


def threshold(imp: Importer, x: Any, limit: float, value: float, inplace: bool = False) -> Any:
    above = imp.emit(imp.op.greater(x, imp.scalar_like(limit, x)))
    return imp.op.where(above, x, imp.scalar_like(value, x))


def prelu(imp: Importer, x: Any, weight: Any) -> Any:
    rank = imp.ndim(x)
    flat = weight if imp.ndim(weight) == 1 else imp.emit(imp.op.reshape(weight, [-1]))
    channels = imp.shape_of(x)[1] if rank > 1 else 1
    if imp.shape_of(flat) != [channels]:
        flat = imp.emit(imp.op.broadcast_to(flat, [channels]))
    return imp.op.nn.prelu(x, flat, axis=1 if rank > 1 else 0)


def glu(imp: Importer, x: Any, dim: int = -1) -> Any:
    value, gate = imp.fields(imp.op.split(x, 2, axis=dim))
    return imp.op.multiply(value, imp.emit(imp.op.sigmoid(gate)))


def softmax(imp: Importer, x: Any, dim: int = -1, *rest: Any, dtype: Any = None, **kw: Any) -> Any:
    return imp.op.nn.softmax(_in_dtype(imp, x, rest, dtype), axis=dim)


def log_softmax(
    imp: Importer, x: Any, dim: int = -1, *rest: Any, dtype: Any = None, **kw: Any
) -> Any:
    return imp.op.nn.log_softmax(_in_dtype(imp, x, rest, dtype), axis=dim)


def softmin(imp: Importer, x: Any, dim: int = -1, *rest: Any, **kw: Any) -> Any:
    return imp.op.nn.softmax(imp.emit(imp.op.negative(x)), axis=dim)


def _in_dtype(imp: Importer, x: Any, rest: tuple[Any, ...], dtype: Any) -> Any:
    import torch

    for argument in rest:
        dtype = argument if isinstance(argument, torch.dtype) else dtype
    return x if dtype is None else imp.cast(x, dtype)


CONVERTERS: dict[str, Converter] = {
    "relu": _nn_unary("relu"),
    "silu": _nn_unary("silu"),
    "selu": _nn_unary("selu"),
    "gelu": gelu,
    "leaky_relu": leaky_relu,
    "relu6": relu6,
    "hardtanh": hardtanh,
    "hardsigmoid": hardsigmoid,
    "hardswish": hardswish,
    "elu": elu,
    "celu": celu,
    "softplus": softplus,
    "mish": mish,
    "log_sigmoid": log_sigmoid,
    "logsigmoid": log_sigmoid,
    "log_sigmoid_forward": log_sigmoid_forward,
    "softsign": softsign,
    "softshrink": softshrink,
    "hardshrink": hardshrink,
    "tanhshrink": tanhshrink,
    "threshold": threshold,
    "prelu": prelu,
    "_prelu_kernel": prelu,
    "glu": glu,
    "softmax": softmax,
    "_softmax": softmax,
    "_safe_softmax": softmax,
    "special_softmax": softmax,
    "softmin": softmin,
    "log_softmax": log_softmax,
    "_log_softmax": log_softmax,
    "special_log_softmax": log_softmax,
}
"""By the operator's name without namespace, overload and trailing underscore."""
