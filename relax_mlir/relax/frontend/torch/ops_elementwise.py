"""Converters for elementwise operators."""

from __future__ import annotations

import math
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend import formulas
from relax_mlir.relax.frontend.torch.importer import (
    Converter,
    Importer,
    dtype_name,
    dtype_of,
    is_float,
)


def _unary(name: str) -> Converter:
    def convert(imp: Importer, x: Any) -> Any:
        return getattr(imp.op, name)(x)

    return convert


def _rounding(name: str) -> Converter:
    """Rounding, and signs, leave integers as they are."""

    def convert(imp: Importer, x: Any) -> Any:
        return getattr(imp.op, name)(x) if is_float(dtype_of(x)) else x

    return convert


def _float_unary(name: str) -> Converter:
    """PyTorch computes these on integers too, in float32."""

    def convert(imp: Importer, x: Any) -> Any:
        return getattr(imp.op, name)(imp.floating(x))

    return convert


def _binary(name: str) -> Converter:
    def convert(imp: Importer, lhs: Any, rhs: Any) -> Any:
        return getattr(imp.op, name)(*imp.pair(lhs, rhs))

    return convert


def _logical(name: str) -> Converter:
    """Logic on numbers: what is not zero is true."""

    def convert(imp: Importer, *operands: Any) -> Any:
        return getattr(imp.op, name)(*(imp.cast(x, "bool") for x in operands))

    return convert


def _bitwise(name: str, logical: str) -> Converter:
    def convert(imp: Importer, lhs: Any, rhs: Any) -> Any:
        lhs, rhs = imp.pair(lhs, rhs)
        return getattr(imp.op, logical if dtype_of(lhs) == "bool" else name)(lhs, rhs)

    return convert


def bitwise_not(imp: Importer, x: Any) -> Any:
    return imp.op.logical_not(x) if dtype_of(x) == "bool" else imp.op.bitwise_not(x)


def _scaled(name: str, on_bool: str) -> Converter:
    """add and sub: `lhs + alpha * rhs`."""

    def convert(imp: Importer, lhs: Any, rhs: Any, alpha: float = 1) -> Any:
        lhs, rhs = imp.pair(lhs, rhs)
        if dtype_of(lhs) == "bool":
            return getattr(imp.op, on_bool)(lhs, rhs)
        if alpha != 1:
            rhs = imp.emit(imp.op.multiply(rhs, imp.scalar_like(alpha, rhs)))
        return getattr(imp.op, name)(lhs, rhs)

    return convert


def mul(imp: Importer, lhs: Any, rhs: Any) -> Any:
    lhs, rhs = imp.pair(lhs, rhs)
    return (imp.op.logical_and if dtype_of(lhs) == "bool" else imp.op.multiply)(lhs, rhs)


def rsub(imp: Importer, lhs: Any, rhs: Any, alpha: float = 1) -> Any:
    return _scaled("subtract", "logical_xor")(imp, rhs, lhs, alpha)


def div(imp: Importer, lhs: Any, rhs: Any, rounding_mode: str | None = None) -> Any:
    lhs, rhs = imp.pair(lhs, rhs)
    if rounding_mode == "floor":
        return imp.op.floor_divide(lhs, rhs)
    if rounding_mode == "trunc" and not is_float(dtype_of(lhs)):
        return imp.op.divide(lhs, rhs)
    quotient = imp.op.divide(imp.floating(lhs), imp.floating(rhs))
    return imp.op.trunc(imp.emit(quotient)) if rounding_mode == "trunc" else quotient


def power(imp: Importer, base: Any, exponent: Any) -> Any:
    """Small integer exponents are products."""
    if imp.is_tensor(base) and not imp.is_tensor(exponent) and is_float(dtype_of(base)):
        if exponent == 2:
            return imp.op.multiply(base, base)
        if exponent == 3:
            return imp.op.multiply(imp.emit(imp.op.multiply(base, base)), base)
        if exponent == 0.5:
            return imp.op.sqrt(base)
    return imp.op.power(*imp.pair(base, exponent))


def sign(imp: Importer, x: Any) -> Any:
    """(x > 0) - (x < 0): zero for NaN, as PyTorch has it."""
    zero = imp.scalar_like(0, x)
    above, below = (imp.emit(compare(x, zero)) for compare in (imp.op.greater, imp.op.less))
    return imp.op.subtract(imp.cast(above, dtype_of(x)), imp.cast(below, dtype_of(x)))


def reciprocal(imp: Importer, x: Any) -> Any:
    x = imp.floating(x)
    return imp.op.divide(imp.scalar_like(1.0, x), x)


def clamp(
    imp: Importer, x: Any, low: float | None = None, high: float | None = None, **kw: Any
) -> Any:
    low, high = kw.get("min", low), kw.get("max", high)
    if low is not None:
        x = imp.emit(imp.op.maximum(*imp.pair(x, low)))
    return x if high is None else imp.op.minimum(*imp.pair(x, high))


def clamp_max(imp: Importer, x: Any, high: Any) -> Any:
    return clamp(imp, x, None, high)


def round_decimals(imp: Importer, x: Any, decimals: int = 0) -> Any:
    if not is_float(dtype_of(x)):
        return x
    if decimals == 0:
        return imp.op.round(x)
    factor = imp.scalar_like(10.0 ** abs(decimals), x)
    up, down = (imp.op.multiply, imp.op.divide)[:: 1 if decimals > 0 else -1]
    return imp.chain(x, lambda v: up(v, factor), imp.op.round, lambda v: down(v, factor))


def _log_base(base: float) -> Converter:
    def convert(imp: Importer, x: Any) -> Any:
        x = imp.floating(x)
        return imp.op.multiply(imp.emit(imp.op.log(x)), imp.scalar_like(1 / math.log(base), x))

    return convert


def exp2(imp: Importer, x: Any) -> Any:
    x = imp.floating(x)
    return imp.op.exp(imp.emit(imp.op.multiply(x, imp.scalar_like(math.log(2.0), x))))


def _floating(formula: Converter) -> Converter:
    """A formula on floating numbers, of integers too."""

    def convert(imp: Importer, x: Any) -> Any:
        return formula(imp, imp.floating(x))

    return convert


def lerp(imp: Importer, start: Any, end: Any, weight: Any) -> Any:
    span = imp.emit(imp.op.subtract(end, start))
    return imp.op.add(start, imp.emit(imp.op.multiply(*imp.pair(span, weight))))


def _combined(name: str) -> Converter:
    """addcmul and addcdiv: `x + value * (a op b)`."""

    def convert(imp: Importer, x: Any, a: Any, b: Any, value: float = 1) -> Any:
        term = imp.emit(getattr(imp.op, name)(*imp.pair(a, b)))
        if value != 1:
            term = imp.emit(imp.op.multiply(term, imp.scalar_like(value, term)))
        return imp.op.add(*imp.pair(x, term))

    return convert


def hypot(imp: Importer, a: Any, b: Any) -> Any:
    squares = [imp.emit(imp.op.multiply(v, v)) for v in imp.pair(a, b)]
    return imp.op.sqrt(imp.emit(imp.op.add(*squares)))


def frac(imp: Importer, x: Any) -> Any:
    return imp.op.subtract(x, imp.emit(imp.op.trunc(x)))


def nan_to_num(
    imp: Importer, x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None
) -> Any:
    import torch

    if not is_float(dtype_of(x)):
        return x
    limits = torch.finfo(getattr(torch, dtype_of(x)))
    zero = imp.scalar_like(0.0, x)
    infinite = imp.emit(imp.op.isinf(x))
    above = imp.emit(imp.op.logical_and(infinite, imp.emit(imp.op.greater(x, zero))))
    below = imp.emit(imp.op.logical_and(infinite, imp.emit(imp.op.less(x, zero))))
    missing = imp.emit(imp.op.isnan(x))
    for mask, given, default in (
        (missing, nan, 0.0),
        (above, posinf, limits.max),
        (below, neginf, limits.min),
    ):
        value = imp.scalar_like(float(default if given is None else given), x)
        x = imp.emit(imp.op.where(mask, value, x))
    return x


def to_copy(imp: Importer, x: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """`to` in its forms: only a change of dtype changes the value."""
    import torch

    for argument in args:
        if type(argument) is int:
            raise Error(f"a dtype is a torch.dtype, not {argument}")
        dtype = argument if isinstance(argument, torch.dtype) else dtype
    return x if dtype is None else imp.cast(x, dtype)


def _to(dtype: str) -> Converter:
    def convert(imp: Importer, x: Any) -> Any:
        return imp.cast(x, dtype)

    return convert


def type_as(imp: Importer, x: Any, other: Any) -> Any:
    return imp.cast(x, dtype_of(other))


def to_dtype_name(imp: Importer, x: Any, dtype: Any) -> Any:
    return imp.cast(x, dtype_name(dtype))


def identity(imp: Importer, x: Any, *args: Any, **kwargs: Any) -> Any:
    return x


def where(imp: Importer, condition: Any, x: Any, y: Any) -> Any:
    if not imp.is_tensor(x) and not imp.is_tensor(y):
        x = imp.relax.const(x, "float32" if isinstance(x, float) else "int64")
    return imp.op.where(imp.cast(condition, "bool"), *imp.pair(x, y))


def masked_fill(imp: Importer, x: Any, mask: Any, value: Any) -> Any:
    if imp.is_tensor(value):
        return imp.op.where(mask, imp.cast(value, dtype_of(x)), x)
    return imp.op.where(mask, imp.scalar_like(value, x), x)


def copy(imp: Importer, target: Any, source: Any, non_blocking: bool = False) -> Any:
    """The values of `source` in the shape and dtype of `target`."""
    shape = imp.shape_of(target)
    source = imp.cast(source, dtype_of(target))
    return source if imp.shape_of(source) == shape else imp.op.broadcast_to(source, shape)


def isin(
    imp: Importer,
    elements: Any,
    tests: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Any:
    """Whether each element equals any of the tests: an outer comparison, summed."""
    elements, tests = imp.pair(elements, tests)
    column = imp.emit(imp.op.expand_dims(elements, -1))
    row = imp.emit(imp.op.reshape(tests, [-1]))
    hits = imp.cast(imp.emit(imp.op.equal(column, row)), "int32")
    count = imp.emit(imp.op.sum(hits, axis=[-1]))
    zero = imp.scalar_like(0, count)
    return imp.op.equal(count, zero) if invert else imp.op.greater(count, zero)


def _signed_infinity(comparison: str) -> Converter:
    def convert(imp: Importer, x: Any) -> Any:
        signed = imp.emit(getattr(imp.op, comparison)(x, imp.scalar_like(0.0, x)))
        return imp.op.logical_and(imp.emit(imp.op.isinf(x)), signed)

    return convert


def float_power(imp: Importer, base: Any, exponent: Any) -> Any:
    base, exponent = (imp.cast(v, "float64") if imp.is_tensor(v) else v for v in (base, exponent))
    return imp.op.power(*imp.pair(base, exponent))


_SAME = "abs negative square isnan isinf isfinite".split()
_ROUNDING = "ceil floor trunc".split()
_FLOAT = (
    "acos acosh asin asinh atan atanh cos cosh erf exp log rsqrt sigmoid sin sinh sqrt tan tanh"
).split()
_BINARY = {
    "maximum": "maximum",
    "minimum": "minimum",
    "fmod": "mod",
    "remainder": "floor_mod",
    "floor_divide": "floor_divide",
    "floordiv": "floor_divide",
    "mod": "floor_mod",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "logaddexp": "log_add_exp",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "__lshift__": "left_shift",
    "__rshift__": "right_shift",
    "atan2": "atan2",
    "arctan2": "atan2",
}
_BITWISE = {"and": "logical_and", "or": "logical_or", "xor": "logical_xor"}
_CASTS = {"float": "float32", "double": "float64", "half": "float16", "long": "int64"}

CONVERTERS: dict[str, Converter] = {
    **{name: _unary(name) for name in _SAME},
    **{name: _rounding(name) for name in _ROUNDING},
    **{name: _float_unary(name) for name in _FLOAT},
    **{f"arc{name[1:]}": _float_unary(name) for name in _FLOAT if name.startswith("a")},
    **{torch_name: _binary(name) for torch_name, name in _BINARY.items()},
    **{f"logical_{op}": _logical(f"logical_{op}") for op in ("and", "or", "xor", "not")},
    **{f"bitwise_{op}": _bitwise(f"bitwise_{op}", name) for op, name in _BITWISE.items()},
    **{f"__{op}__": _bitwise(f"bitwise_{op}", name) for op, name in _BITWISE.items()},
    **{f"{op}_": _bitwise(f"bitwise_{op}", name) for op, name in _BITWISE.items()},
    **{name: _to(dtype) for name, dtype in _CASTS.items()},
    "bool": _to("bool"),
    "int": _to("int32"),
    "bitwise_not": bitwise_not,
    "invert": bitwise_not,
    "neg": _unary("negative"),
    "absolute": _unary("abs"),
    "sign": sign,
    "sgn": sign,
    "round": round_decimals,
    "special_erf": _float_unary("erf"),
    "special_expit": _float_unary("sigmoid"),
    "add": _scaled("add", "logical_or"),
    "sub": _scaled("subtract", "logical_xor"),
    "subtract": _scaled("subtract", "logical_xor"),
    "rsub": rsub,
    "mul": mul,
    "multiply": mul,
    "div": div,
    "divide": div,
    "true_divide": div,
    "truediv": div,
    "pow": power,
    "float_power": float_power,
    "reciprocal": reciprocal,
    "clamp": clamp,
    "clip": clamp,
    "clamp_min": clamp,
    "clamp_max": clamp_max,
    "log2": _log_base(2.0),
    "log10": _log_base(10.0),
    "log1p": _floating(formulas.log1p),
    "expm1": _floating(formulas.expm1),
    "exp2": exp2,
    "erfc": _floating(formulas.erfc),
    **dict.fromkeys(("lgamma", "special_gammaln"), _floating(formulas.lgamma)),
    **dict.fromkeys(("digamma", "special_psi", "special_digamma"), _floating(formulas.digamma)),
    "lerp": lerp,
    "addcmul": _combined("multiply"),
    "addcdiv": _combined("divide"),
    "hypot": hypot,
    "frac": frac,
    "nan_to_num": nan_to_num,
    "isposinf": _signed_infinity("greater"),
    "isneginf": _signed_infinity("less"),
    "isin": isin,
    "to": to_copy,
    "_to_copy": to_copy,
    "type_as": type_as,
    "convert_element_type": to_dtype_name,
    "clone": identity,
    "contiguous": identity,
    "detach": identity,
    "alias": identity,
    "lift_fresh_copy": identity,
    "positive": identity,
    "cpu": identity,
    "copy": copy,
    "where": where,
    "masked_fill": masked_fill,
}
"""By the operator's name without namespace, overload and trailing underscore."""
