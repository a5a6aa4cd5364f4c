"""Converters for random numbers, and for dropout in training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.random_numbers import classes, draw, gumbel
from relax_mlir.relax.frontend.torch.importer import (
    Converter,
    Importer,
    dtype_name,
    dtype_of,
    is_float,
)
from relax_mlir.relax.frontend.torch.ops_shape import flat
from relax_mlir.topi import random


def _named(dtype: Any, otherwise: str = "float32") -> str:
    return otherwise if dtype is None else dtype_name(dtype)


def _of_size(function: Callable[..., Any]) -> Converter:
    """rand, randn."""

    def convert(imp: Importer, *size: Any, dtype: Any = None, **ignored: Any) -> Any:
        return draw(imp.block_builder, function, flat(size), dtype=_named(dtype))

    return convert


def _like(function: Callable[..., Any]) -> Converter:
    """rand_like, randn_like."""

    def convert(imp: Importer, x: Any, *, dtype: Any = None, **ignored: Any) -> Any:
        chosen = _named(dtype, dtype_of(x))
        return draw(imp.block_builder, function, imp.shape_of(x), dtype=chosen)

    return convert


def _integers(imp: Importer, low: int, high: int, shape: Sequence[Any], dtype: str) -> Any:
    made = draw(imp.block_builder, random.randint, shape, low=low, high=high)
    return imp.cast(made, dtype)


def randint(imp: Importer, *bounds: Any, dtype: Any = None, **ignored: Any) -> Any:
    """randint(high, size), randint(low, high, size)."""
    *limits, size = bounds
    low, high = [0, *limits][-2:]
    return _integers(imp, low, high, size, _named(dtype, "int64"))


def randint_like(imp: Importer, x: Any, *limits: Any, dtype: Any = None, **ignored: Any) -> Any:
    low, high = [0, *limits][-2:]
    return _integers(imp, low, high, imp.shape_of(x), _named(dtype, dtype_of(x)))


def randperm(imp: Importer, n: Any, *, dtype: Any = None, **ignored: Any) -> Any:
    """The order of random keys: of 63 bits, of which hardly two are equal."""
    keys = draw(imp.block_builder, random.random_bits, [n])
    order = imp.emit(imp.op.argsort(keys, axis=0, dtype="int64"))
    return imp.cast(order, _named(dtype, "int64"))


def uniform(imp: Importer, x: Any, low: float = 0.0, high: float = 1.0, **ignored: Any) -> Any:
    shape = imp.shape_of(x)
    return draw(imp.block_builder, random.uniform, shape, low=low, high=high, dtype=dtype_of(x))


def normal(imp: Importer, mean: Any, std: Any = 1.0, *size: Any, **options: Any) -> Any:
    """normal(mean, std) of numbers with a size, or of tensors, one a number."""
    tensors = [value for value in (mean, std) if imp.is_tensor(value)]
    if not tensors:
        shape, dtype = flat(size), _named(options.get("dtype"))
        return draw(imp.block_builder, random.normal, shape, mean=mean, std=std, dtype=dtype)
    like = tensors[0] if len(tensors) == 1 else imp.emit(imp.op.add(*tensors))
    made = draw(imp.block_builder, random.normal, imp.shape_of(like), dtype=dtype_of(like))
    spread = imp.emit(imp.op.multiply(*imp.pair(made, std)))
    return imp.op.add(*imp.pair(spread, mean))


def normal_functional(
    imp: Importer, x: Any, mean: float = 0.0, std: float = 1.0, **ignored: Any
) -> Any:
    shape = imp.shape_of(x)
    return draw(imp.block_builder, random.normal, shape, mean=mean, std=std, dtype=dtype_of(x))


def _chosen(imp: Importer, shape: Sequence[Any], probability: Any) -> Any:
    """True with a probability: a number, or a tensor of one for each element."""
    dtype = dtype_of(probability) if imp.is_tensor(probability) else "float32"
    sample = draw(imp.block_builder, random.uniform, shape, dtype=dtype)
    return imp.emit(imp.op.less(*imp.pair(sample, probability)))


def bernoulli(imp: Importer, x: Any, p: Any = None, **ignored: Any) -> Any:
    """bernoulli(x) with probabilities x, bernoulli(x, p) in the shape of x."""
    return imp.cast(_chosen(imp, imp.shape_of(x), x if p is None else p), dtype_of(x))


def exponential(imp: Importer, x: Any, rate: float = 1.0, **ignored: Any) -> Any:
    dtype = dtype_of(x)
    sample = draw(imp.block_builder, random.uniform, imp.shape_of(x), dtype=dtype)
    above_zero = imp.emit(imp.op.subtract(imp.relax.const(1.0, dtype), sample))
    scaled = imp.emit(imp.op.log(above_zero))
    return imp.op.multiply(scaled, imp.relax.const(-1.0 / rate, dtype))


def multinomial(
    imp: Importer, weights: Any, count: int, replacement: bool = False, **ignored: Any
) -> Any:
    """Classes, with the weights as probabilities.  Without replacement the `count` largest of
    log(weight) plus Gumbel noise are a sample (Vieira 2014); with it, each is a sample of one."""
    logarithms = imp.emit(imp.op.log(weights))
    if replacement:
        return classes(imp.block_builder, logarithms, count)
    noise = gumbel(imp.block_builder, imp.shape_of(weights), dtype_of(weights))
    keys = imp.emit(imp.op.add(logarithms, noise))
    return imp.op.topk(keys, k=count, axis=-1, ret_type="indices", dtype="int64")


# -- dropout --------------------------------------------------------------------------------------


def _dropped(imp: Importer, x: Any, p: float, shape: Sequence[Any]) -> tuple[Any, Any]:
    """(the tensor without a part of its elements, what is kept): the rest is scaled so that the
    mean stays."""
    dtype = dtype_of(x)
    if not 0 <= p <= 1:
        raise Error(f"dropout: a probability is between 0 and 1, given {p}")
    if not is_float(dtype):
        raise Error(f"dropout is of floating tensors, not of {dtype}")
    kept = _chosen(imp, shape, 1.0 - p)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    zero = imp.relax.const(0.0, dtype)
    scaled = imp.emit(imp.op.multiply(x, imp.relax.const(scale, dtype)))
    return imp.emit(imp.op.where(kept, scaled, zero)), kept


def dropout(imp: Importer, x: Any, p: float = 0.5, training: bool = False, **kw: Any) -> Any:
    """Inference: the input itself."""
    return _dropped(imp, x, p, imp.shape_of(x))[0] if training and p else x


def native_dropout(imp: Importer, x: Any, p: float, training: Any = None) -> Any:
    """(the result, the mask); in training where that is not said."""
    if training is False or not p:
        return [x, imp.emit(imp.op.ones_like(x, "bool"))]
    return list(_dropped(imp, x, p, imp.shape_of(x)))


def feature_dropout(
    imp: Importer, x: Any, p: float = 0.5, training: bool = False, **kw: Any
) -> Any:
    """Whole channels are dropped."""
    if not (training and p):
        return x
    batch, channels, *rest = imp.shape_of(x)
    return _dropped(imp, x, p, [batch, channels, *[1] * len(rest)])[0]


_SELU_FLOOR = -1.7580993408473766
"""What selu tends to: -scale * alpha."""


def alpha_dropout(imp: Importer, x: Any, p: float = 0.5, training: bool = False, **kw: Any) -> Any:
    """Dropped elements become selu's limit, and mean and variance stay (Klambauer et al. 2017)."""
    if not (training and p):
        return x
    if p == 1:
        return imp.op.zeros_like(x)
    dtype = dtype_of(x)
    kept = _chosen(imp, imp.shape_of(x), 1.0 - p)
    held = imp.emit(imp.op.where(kept, x, imp.relax.const(_SELU_FLOOR, dtype)))
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_FLOOR**2))
    scaled = imp.emit(imp.op.multiply(held, imp.relax.const(scale, dtype)))
    return imp.op.add(scaled, imp.relax.const(-scale * p * _SELU_FLOOR, dtype))


CONVERTERS: dict[str, Converter] = {
    "rand": _of_size(random.uniform),
    "randn": _of_size(random.normal),
    "rand_like": _like(random.uniform),
    "randn_like": _like(random.normal),
    "randint": randint,
    "randint_like": randint_like,
    "randperm": randperm,
    "uniform": uniform,
    "normal": normal,
    "normal_functional": normal_functional,
    "bernoulli": bernoulli,
    "exponential": exponential,
    "multinomial": multinomial,
    "dropout": dropout,
    "native_dropout": native_dropout,
    "feature_dropout": feature_dropout,
    "alpha_dropout": alpha_dropout,
}
"""By the operator's name without namespace, overload and trailing underscore."""
