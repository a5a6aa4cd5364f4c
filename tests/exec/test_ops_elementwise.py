"""Unary, binary and ternary operators against numpy: special values, empty and odd shapes, and one
compiled function for every n."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.exec.operator_cases import Case, Program, random

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-30, 3e4, -3e4],
    "float32",
)
SIZES = (0, 1, 17, 64)

erf = np.vectorize(math.erf, otypes=["float64"])


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """The reference in float64, rounded to the operand's dtype."""

    def reference(*operands: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            wide = [o.astype("float64") for o in operands]
            return np.asarray(function(*wide)).astype(operands[0].dtype)

    return reference


# name: (numpy function, low, high) of random operands
FLOAT_UNARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    "abs": (np.abs, -3, 3),
    "acos": (np.arccos, -1, 1),
    "acosh": (np.arccosh, 1, 9),
    "asin": (np.arcsin, -1, 1),
    "asinh": (np.arcsinh, -5, 5),
    "atan": (np.arctan, -5, 5),
    "atanh": (np.arctanh, -0.95, 0.95),
    "ceil": (np.ceil, -5, 5),
    "cos": (np.cos, -5, 5),
    "cosh": (np.cosh, -5, 5),
    "erf": (erf, -3, 3),
    "exp": (np.exp, -5, 5),
    "floor": (np.floor, -5, 5),
    "log": (np.log, 0.01, 9),
    "negative": (np.negative, -5, 5),
    "round": (np.rint, -5, 5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -5, 5),
    "sign": (np.sign, -5, 5),
    "sin": (np.sin, -5, 5),
    "sinh": (np.sinh, -5, 5),
    "sqrt": (np.sqrt, 0, 9),
    "square": (np.square, -5, 5),
    "tan": (np.tan, -1.2, 1.2),
    "tanh": (np.tanh, -5, 5),
    "trunc": (np.trunc, -5, 5),
    "nn.relu": (lambda x: np.maximum(x, 0), -5, 5),
    "nn.relu6": (lambda x: np.clip(x, 0, 6), -9, 9),
    "nn.silu": (lambda x: x / (1 + np.exp(-x)), -5, 5),
    "nn.gelu": (lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))), -4, 4),
    "nn.gelu_tanh": (
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), -4, 4
    ),
    "nn.selu": (
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), -4, 4
    ),
    "nn.softplus": (lambda x: np.log1p(np.exp(x)), -5, 5),
    "nn.leakyrelu": (lambda x: np.where(x > 0, x, 0.01 * x), -5, 5),
}  # fmt: skip

# Where the operand is special: the ranges in which numpy's result is what TVM's definition says.
SPECIAL_OPERATORS = (
    "abs acos asin atan ceil cos exp floor log negative rsqrt sigmoid sign sin sqrt square tanh "
    "trunc round erf cosh sinh asinh nn.relu"
).split()


def _unary_cases() -> list[Case]:
    cases = []
    for name, (function, low, high) in FLOAT_UNARY.items():
        dynamic = [random((n, 5), "float32", low, high) for n in SIZES]
        cases.append(
            Case(
                name,
                [dynamic[2]],
                _wide(function),
                dims={0: ("n", 5)},
                calls=[[x] for x in dynamic],
            )
        )
        cases.append(Case(name, [random((3, 1, 7), "float32", low, high)], _wide(function)))
        cases.append(Case(name, [random((), "float32", low, high)], _wide(function)))
        cases.append(
            Case(name, [random((33,), "float64", low, high)], _wide(function), tolerance=1e-6)
        )
        cases.append(
            Case(name, [random((19,), "float16", low, high)], _wide(function), tolerance=2e-2)
        )
        if name in SPECIAL_OPERATORS:
            cases.append(Case(name, [SPECIAL], _wide(function)))
    for name in ("abs", "negative", "sign", "square"):
        function = FLOAT_UNARY[name][0]
        cases.append(Case(name, [random((4, 3), "int32", -9, 9)], function))
    for name, function in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        cases.append(Case(name, [SPECIAL], function))
    cases.append(Case("bitwise_not", [random((9,), "int32", -9, 9)], np.bitwise_not))
    cases.append(Case("bitwise_not", [random((9,), "uint8", 0, 255)], np.bitwise_not))
    cases.append(Case("logical_not", [random((9,), "bool")], np.logical_not))
    clip = {"min": -1, "max": 1.5}
    cases.append(Case("clip", [SPECIAL], lambda x: np.clip(x, -1, 1.5), clip))
    cases.append(
        Case(
            "clip",
            [random((9,), "int32", -9, 9)],
            lambda x: np.clip(x, -3, 4),
            {"min": -3, "max": 4},
        )
    )
    return cases  # fmt: skip


FLOAT_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "floor_divide": np.floor_divide,
    "mod": np.fmod,
    "floor_mod": np.mod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "log_add_exp": np.logaddexp,
}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
}


def _truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.trunc(x.astype("float64") / y).astype(x.dtype)


def _binary_cases() -> list[Case]:
    cases = []
    for name, function in FLOAT_BINARY.items():
        rows = [[random((n, 4), "float32", -3, 3), random((4,), "float32", 0.5, 3)] for n in SIZES]
        cases.append(Case(name, rows[2], _wide(function), dims={0: ("n", 4)}, calls=rows))
        broadcast = [random((3, 1, 5), "float32"), random((2, 1), "float32", 0.5, 2)]
        cases.append(Case(name, broadcast, _wide(function)))
        cases.append(
            Case(
                name,
                [random((7,), "float64"), random((), "float64", 1, 2)],
                _wide(function),
                tolerance=1e-9,
            )
        )
    positive = [random((5, 3), "float32", 0.1, 3), random((5, 3), "float32", -2, 2)]
    cases.append(Case("power", positive, _wide(np.power)))
    for name in ("add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "floor_mod"):
        signed = [random((6, 5), "int32", -20, 20), random((6, 5), "int32", 1, 7)]
        cases.append(Case(name, signed, FLOAT_BINARY[name]))
        negative = [random((6, 5), "int64", -20, 20), random((5,), "int64", -7, -1)]
        cases.append(Case(name, negative, FLOAT_BINARY[name]))
        unsigned = [random((6, 5), "uint8", 0, 255), random((5,), "uint8", 1, 200)]
        cases.append(Case(name, unsigned, FLOAT_BINARY[name]))
    ints = [random((6, 5), "int32", -20, 20), random((6, 5), "int32", 1, 7)]
    cases.append(Case("divide", ints, _truncated))
    cases.append(Case("mod", ints, np.fmod))
    for name, function in COMPARISONS.items():
        cases.append(Case(name, [SPECIAL, SPECIAL[::-1].copy()], function))
        whole = [random((4, 3), "int32", -1, 1), random((3,), "int32", -1, 1)]
        cases.append(Case(name, whole, function))
        high = np.array([1, 200, 255], "uint8")
        cases.append(Case(name, [high, high[::-1].copy()], function))
    for name in ("and", "or", "xor"):
        truth = [random((9,), "bool"), random((1,), "bool")]
        cases.append(Case(f"logical_{name}", truth, getattr(np, f"logical_{name}")))
        whole = [random((9,), "int32", -99, 99), random((9,), "int32", -50, 50)]
        cases.append(Case(f"bitwise_{name}", whole, getattr(np, f"bitwise_{name}")))
    shifts = [random((9,), "int32", -99, 99), random((9,), "int32", 0, 7)]
    cases.append(Case("left_shift", shifts, np.left_shift))
    cases.append(Case("right_shift", shifts, np.right_shift))
    cases.append(Case("maximum", [SPECIAL, np.full_like(SPECIAL, 0.25)], np.maximum))
    cases.append(Case("minimum", [SPECIAL, np.full_like(SPECIAL, 0.25)], np.minimum))
    cases.append(Case("add", [random((4,)), np.array(2.5, "float32")], np.add, constants=[1]))
    cases.append(
        Case("subtract", [np.array(2.5, "float32"), random((4,))], np.subtract, constants=[0])
    )
    cases.append(
        Case(
            "ewise_fma", [random((4, 3)), random((4, 3)), random((4, 3))], lambda a, b, c: a * b + c
        )
    )
    return cases  # fmt: skip


def _cast_cases() -> list[Case]:
    cases = []
    kinds = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool")
    for source in kinds:
        for target in kinds:
            x = random((3, 5), source, 0, 9)
            cases.append(Case("astype", [x], lambda x, t=target: x.astype(t), {"dtype": target}))
    return cases


UNARY = Program(_unary_cases())
BINARY = Program(_binary_cases())
CAST = Program(_cast_cases())


@pytest.mark.parametrize("case", UNARY.cases, ids=repr)
def test_unary(case: Case) -> None:
    UNARY.check(case)


@pytest.mark.parametrize("case", BINARY.cases, ids=repr)
def test_binary(case: Case) -> None:
    BINARY.check(case)


@pytest.mark.parametrize("case", CAST.cases, ids=repr)
def test_cast(case: Case) -> None:
    CAST.check(case)
