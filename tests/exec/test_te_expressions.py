"""Scalar expressions computed by compiled code: random index arithmetic and every intrinsic."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from relax_mlir import te, tir

from .te_harness import check, run

SHAPE = (5, 7)


def random_index(rng: random.Random, i: Any, j: Any, depth: int) -> Any:
    """An integer expression over i and j; the same calls work on numbers."""
    if depth == 0:
        return rng.choice([i, j, rng.randint(-4, 9)])
    a = random_index(rng, i, j, depth - 1)
    kind = rng.choice(["+", "-", "*", "//", "%", "min", "max", "product"])
    constant = rng.choice([-3, -1, 2, 3, 4, 7])
    if kind == "*":
        return a * constant
    if kind in ("//", "%"):
        return a // constant if kind == "//" else a % constant
    b = random_index(rng, i, j, depth - 1)
    if kind in ("min", "max"):
        return pick(kind, a, b)
    return {"+": lambda: a + b, "-": lambda: a - b, "product": lambda: a * b}[kind]()


def pick(kind: str, a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if kind == "min" else max(a, b)
    return tir.min(a, b) if kind == "min" else tir.max(a, b)


@pytest.mark.parametrize("seed", range(8))
def test_random_index_arithmetic(seed: int) -> None:
    """Both as data (int32) and as an index into a table."""
    programs = list(range(seed * 6, seed * 6 + 6))
    table = te.placeholder((101,), "int32", "table")

    def data(number: int) -> te.Tensor:
        def body(i: Any, j: Any) -> Any:
            value = tir.convert(random_index(random.Random(number), i, j, 3))
            return value + table[value % 101]

        return te.compute(SHAPE, body, f"E{number}")

    numbers = np.random.default_rng(seed).integers(-99, 99, 101).astype("int32")
    results = run([data(p) for p in programs], [table], numbers)
    for number, result in zip(programs, results, strict=True):
        for i, j in np.ndindex(*SHAPE):
            value = random_index(random.Random(number), i, j, 3)
            assert result[i, j] == value + numbers[value % 101], f"program {number} at {i}, {j}"


def test_divisions_of_data_by_data() -> None:
    a = np.array([7, -7, 7, -7, 0, 2147483647, -2147483648], "int32")
    b = np.array([2, 2, -2, -2, 3, -1, -1], "int32")
    check(lambda x, y: te.compute((7,), lambda i: x[i] // y[i]), np.floor_divide, a, b)
    check(lambda x, y: te.compute((7,), lambda i: x[i] % y[i]), np.mod, a, b)
    check(
        lambda x, y: te.compute((7,), lambda i: tir.truncmod(x[i], y[i])),
        lambda x, y: np.fmod(x.astype("int64"), y).astype("int32"),
        a,
        b,
    )
    zeros = np.zeros(7, "int32")
    check(lambda x, y: te.compute((7,), lambda i: tir.truncdiv(x[i], y[i])),
          lambda x, y: np.zeros_like(x), a, zeros)  # fmt: skip


UNARY = {
    "exp2": np.exp2,
    "exp10": lambda x: 10**x,
    "fabs": np.abs,
    "nearbyint": np.round,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary_intrinsics(name: str) -> None:
    x = np.array([0.0, -0.5, 1.5, 2.5, -3.25, 10.0], "float32")
    check(
        lambda v: te.compute((6,), lambda i: getattr(te, name)(v[i])),
        lambda v: UNARY[name](v.astype("float64")),
        x,
    )


BINARY = {
    "hypot": np.hypot,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "fmod": np.fmod,
    "atan2": np.arctan2,
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_intrinsics(name: str) -> None:
    a = np.array([3.0, -3.0, 1e30, 0.0, -0.0, np.inf, np.nan, 1.0, 5e-45, -7.5], "float32")
    b = np.array([4.0, 4.0, 1e30, -1.0, 0.0, 1.0, 1.0, np.nan, 0.0, 2.0], "float32")
    check(
        lambda x, y: te.compute((10,), lambda i: getattr(te, name)(x[i], y[i])), BINARY[name], a, b
    )


def test_ldexp() -> None:
    x = np.array([1.5, -2.0, 1e-30, 3.0, 0.0], "float32")
    e = np.array([3, -2, 120, -140, 5], "int32")
    check(lambda v, k: te.compute((5,), lambda i: te.ldexp(v[i], k[i])), np.ldexp, x, e)


def test_bits() -> None:
    x = np.array([0, 1, 255, -1, 1 << 30, 12345], "int32")
    check(
        lambda v: te.compute((6,), lambda i: te.popcount(v[i])),
        lambda v: np.array([bin(int(n) & 0xFFFFFFFF).count("1") for n in v], "int32"),
        x,
    )
    check(
        lambda v: te.compute((6,), lambda i: te.clz(v[i])),
        lambda v: np.array([32 - (int(n) & 0xFFFFFFFF).bit_length() for n in v], "int32"),
        x,
    )


def test_conditions_do_not_read_what_they_exclude() -> None:
    x = np.arange(4, dtype="float32")
    check(
        lambda v: te.compute(
            (12,), lambda i: te.if_then_else(te.all(i >= 4, i < 8), v[i - 4], -1.0)
        ),
        lambda v: np.concatenate([np.full(4, -1), v, np.full(4, -1)]),
        x,
    )


def test_lets_are_computed_once() -> None:
    y = tir.Var("y", "float32")
    check(
        lambda v: te.compute((4,), lambda i: tir.Let(y, v[i] * 2.0, y * y + y)),
        lambda v: (v * 2) ** 2 + v * 2,
        np.arange(4, dtype="float32"),
    )


def test_constants_of_every_dtype() -> None:
    for dtype in ("int8", "uint8", "int64", "float16", "float32", "float64", "bool"):
        low, high = (te.compute((2,), lambda i, f=f, d=dtype: f(d)) for f in
                     (tir.min_value, tir.max_value))  # fmt: skip
        results = run([low, high], [])
        if dtype == "bool":
            limits = [False, True]
        else:
            info = np.finfo(dtype) if dtype[0] == "f" else np.iinfo(dtype)
            limits = [info.min, info.max]
        for result, limit in zip(results, limits, strict=True):
            np.testing.assert_array_equal(result, np.full(2, limit, dtype))
    assert math.isinf(run(te.compute((1,), lambda i: te.infinity("float32")), [])[0])
