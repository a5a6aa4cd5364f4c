"""Elementwise operators of topi against numpy, with NaN, infinities, empty and odd shapes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relax_mlir import topi

from .te_harness import check

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-30, 1e4, 88.0]
_erf = np.vectorize(math.erf, otypes=[np.float64])

UNARY = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _erf,
    "exp": np.exp,
    "floor": np.floor,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "negative": np.negative,
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
    "abs": np.abs,
    "identity": np.copy,
}
# Arguments in which a function's condition is bad are left to its own tests.
SMALL_ARGUMENTS = {"cos", "sin", "tan", "cosh", "sinh", "exp"}


def _float_inputs(name: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(sum(map(ord, name)))
    values = (rng.standard_normal(shape) * 2).astype(dtype)
    special = [x for x in SPECIAL if name not in SMALL_ARGUMENTS or not abs(x) > 100]
    flat = values.reshape(-1)
    flat[: len(special)] = special[: flat.size]
    return values


@pytest.mark.parametrize("name", UNARY)
def test_unary_float32(name: str) -> None:
    x = _float_inputs(name, (5, 37), "float32")
    reference = UNARY[name]
    check(getattr(topi, name), lambda v: reference(v.astype("float64")), x)


@pytest.mark.parametrize("name", ["exp", "tanh", "log", "erf", "sqrt", "sigmoid"])
def test_unary_float64(name: str) -> None:
    check(getattr(topi, name), UNARY[name], _float_inputs(name, (3, 21), "float64"))


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (1, 1, 1), (2, 3, 5, 7)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype("float32")
    check(topi.exp, np.exp, x)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_unary_of_integers(dtype: str) -> None:
    x = np.random.default_rng(2).integers(-9 if dtype[0] == "i" else 0, 9, (4, 9)).astype(dtype)
    check(topi.abs, np.abs, x)
    check(topi.sign, np.sign, x)
    check(topi.bitwise_not, np.invert, x)
    check(lambda v: topi.clip(v, 2, 5), lambda v: np.clip(v, 2, 5), x)


FLOAT_BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "floor_divide": lambda a, b: np.floor(a / b),
    "mod": np.fmod,
    "floor_mod": np.mod,
    "power": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "log_add_exp": np.logaddexp,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_binary_float32(name: str) -> None:
    a = _float_inputs(name, (3, 1, 37), "float32")
    b = np.random.default_rng(3).standard_normal((5, 37)).astype("float32")
    # Powers and quotients of huge numbers only show how numpy rounds them.
    if name in ("power", "mod", "floor_mod", "floor_divide"):
        a = np.where(np.abs(a) > 50, np.float32(3.25), a)
    check(getattr(topi, name), FLOAT_BINARY[name], a, b)


INT_BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": lambda a, b: np.trunc(a / b).astype(a.dtype),
    "floor_divide": np.floor_divide,
    "mod": np.fmod,
    "floor_mod": np.mod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "less": np.less,
    "greater_equal": np.greater_equal,
}


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
@pytest.mark.parametrize("name", INT_BINARY)
def test_binary_of_integers(name: str, dtype: str) -> None:
    rng = np.random.default_rng(4)
    low = 0 if dtype == "uint8" else -20
    a = rng.integers(low, 20, (4, 9)).astype(dtype)
    b = rng.integers(1, 7, (9,)).astype(dtype)
    if dtype != "uint8":
        b[::2] *= -1
    check(getattr(topi, name), INT_BINARY[name], a, b)


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shifts(name: str) -> None:
    a = np.array([1, -8, 127, -1, 5], "int32")
    b = np.array([0, 1, 3, 2, 4], "int32")
    check(getattr(topi, name), getattr(np, name), a, b)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(name: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 2, (3, 7)).astype(bool) for _ in range(2))
    check(getattr(topi, name), getattr(np, name), a, b)
    check(topi.logical_not, np.logical_not, a)


def test_scalars_take_the_tensors_dtype() -> None:
    x = np.linspace(-1, 1, 11).astype("float16")
    check(lambda v: topi.add(v, 1.5), lambda v: v + np.float16(1.5), x)
    check(lambda v: topi.multiply(2, v), lambda v: v * np.float16(2), x)


def test_mixed_dtypes_promote() -> None:
    rng = np.random.default_rng(6)
    a = rng.standard_normal((4, 5)).astype("float32")
    b = rng.integers(-5, 5, (4, 5)).astype("int32")
    check(topi.add, lambda x, y: (x + y).astype("float32"), a, b)
    check(topi.multiply, lambda x, y: (x * y).astype("float32"), a, b)


CASTS = [
    ("float32", "int32"), ("float32", "float64"), ("float64", "float32"), ("int32", "float32"),
    ("uint8", "float32"), ("int8", "int64"), ("int64", "int8"), ("float32", "bool"),
    ("bool", "float32"), ("bool", "int32"), ("int32", "bool"), ("float32", "float16"),
    ("float16", "float32"), ("uint8", "int32"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_cast(source: str, target: str) -> None:
    x = np.array([0, 1, 2, 3, 100], "float64")
    x = x.astype(source) if source[0] in "ub" else (x * -1).astype(source)
    check(lambda v: topi.cast(v, target), lambda v: v.astype(target), x)


def test_reinterpret_keeps_bits() -> None:
    x = np.array([0.0, 1.5, -2.25, np.inf], "float32")
    check(lambda v: topi.reinterpret(v, "int32"), lambda v: v.view("int32"), x)


def test_fixed_point_multiply_rounds() -> None:
    x = np.array([0, 1, 7, -7, 1 << 20, -(1 << 20)], "int32")
    multiplier, shift = 1395864371, 2
    wanted = np.floor(x.astype("int64") * multiplier / 2.0 ** (31 - shift) + 0.5)
    check(
        lambda v: topi.fixed_point_multiply(v, multiplier, shift),
        lambda v: wanted.astype("int32"),
        x,
    )
