"""Reductions, products, softmax and normalisations of topi against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import relax_mlir
from relax_mlir import te, topi

from .te_harness import check


def draw(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        return rng.integers(0 if dtype[0] == "u" else -9, 9, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
AXES = [None, 0, 1, -1, (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name: str, axis: int | tuple[int, ...] | None, keepdims: bool) -> None:
    numpys = REDUCTIONS[name]
    axes = list(axis) if isinstance(axis, tuple) else axis
    check(
        lambda x: getattr(topi, name)(x, axes, keepdims),
        lambda x: numpys(x.astype("float64"), axis, keepdims=keepdims),
        draw(3, 7, 5),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_reduction_dtypes(dtype: str) -> None:
    x = draw(4, 33, dtype=dtype)
    check(lambda v: topi.sum(v, 1), lambda v: v.sum(1, dtype=dtype), x)
    check(lambda v: topi.max(v, 1), lambda v: v.max(1), x)


def test_logical_reductions() -> None:
    x = draw(4, 3, dtype="bool")
    check(lambda v: topi.all(v, 1), lambda v: v.all(1), x)
    check(lambda v: topi.any(v, 1), lambda v: v.any(1), x)


@pytest.mark.parametrize("columns", [40, 131, 700])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_last_of_equal_elements(name: str, dtype: str, columns: int) -> None:
    """Rows of one vector, and of blocks of them with a rest; all of the fourth are equal."""
    x = draw(4, columns, seed=columns).round().astype(dtype)
    x[3] = 2
    find = getattr(np, name)
    check(
        lambda v: getattr(topi, name)(v, 1, select_last_index=True),
        lambda v: (columns - 1 - find(v[:, ::-1], 1)).astype("int32"),
        x,
    )


def test_extremes_of_infinities_and_nan() -> None:
    x = np.full((3, 20), -np.inf, "float32")
    x[1, 7], x[2, 3] = 1.0, np.nan
    check(lambda v: topi.max(v, 1), lambda v: v.max(1), x)
    check(lambda v: topi.min(v, 1), lambda v: v.min(1), -x)


def test_reduction_of_nothing() -> None:
    check(lambda v: topi.sum(v, 1), lambda v: v.sum(1), np.zeros((3, 0), "float32"))
    check(lambda v: topi.sum(v, []), lambda v: v, draw(3, 4))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_arg_reduction(name: str, axis: int | None) -> None:
    x = np.round(draw(6, 17, seed=3) * 2)  # with ties
    check(
        lambda v: getattr(topi, name)(v, axis),
        lambda v: getattr(np, name)(v, axis).astype("int32"),
        x,
    )


def test_arg_reduction_takes_the_last_of_equals() -> None:
    x = np.array([[1, 3, 3, 0], [2, 2, 2, 2]], "float32")
    check(
        lambda v: topi.argmax(v, 1, select_last_index=True),
        lambda v: np.array([2, 3], "int32"),
        x,
    )


def test_arg_reduction_of_infinities() -> None:
    x = np.full((2, 5), -np.inf, "float32")
    check(lambda v: topi.argmax(v, 1), lambda v: np.zeros(2, "int32"), x)


PRODUCTS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 4), (4, 5)),
    ((1, 1), (1, 1)),
    ((33, 65), (65, 17)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4,)),
]


@pytest.mark.parametrize(("left", "right"), PRODUCTS, ids=str)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(topi.matmul, np.matmul, draw(*left), draw(*right, seed=1), tolerance=1e-4)


def test_matmul_transposed() -> None:
    a, b = draw(6, 3), draw(5, 6, seed=1)
    check(lambda x, y: topi.matmul(x, y, True, True), lambda x, y: x.T @ y.T, a, b, tolerance=1e-4)


def test_dense_and_batch_matmul() -> None:
    x, w, bias = draw(4, 6), draw(5, 6, seed=1), draw(5, seed=2)
    check(topi.nn.dense, lambda a, b, c: a @ b.T + c, x, w, bias, tolerance=1e-4)
    a, b = draw(2, 3, 6), draw(1, 4, 6, seed=1)
    check(topi.nn.batch_matmul, lambda x, y: x @ y.transpose(0, 2, 1), a, b, tolerance=1e-4)


EINSUMS = ["ij,jk->ik", "ij,jk->ki", "ij,kj->", "ij,jk", "i...,i...->..."]


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(subscripts: str) -> None:
    check(
        lambda a, b: topi.einsum(subscripts, a, b),
        lambda a, b: np.einsum(subscripts, a, b),
        draw(4, 4),
        draw(4, 4, seed=1),
        tolerance=1e-4,
    )


def test_tensordot_and_outer() -> None:
    a, b = draw(3, 4, 5), draw(4, 5, 6, seed=1)
    check(lambda x, y: topi.tensordot(x, y, 2), lambda x, y: np.tensordot(x, y, 2), a, b,
          tolerance=1e-4)  # fmt: skip
    axes = ([1, 0], [0, 1])
    c = draw(4, 3, seed=2)
    check(lambda x, y: topi.tensordot(x, y, axes), lambda x, y: np.tensordot(x, y, axes), a, c,
          tolerance=1e-4)  # fmt: skip
    check(topi.outer, np.outer, draw(3), draw(4, seed=1))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    exponent = np.exp(x - x.max(axis, keepdims=True))
    return exponent / exponent.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(axis: int) -> None:
    x = draw(3, 9, 5) * 10
    check(lambda v: topi.nn.softmax(v, axis), lambda v: softmax(v.astype("float64"), axis), x)
    check(
        lambda v: topi.nn.log_softmax(v, axis),
        lambda v: np.log(softmax(v.astype("float64"), axis)),
        x,
        tolerance=1e-4,
    )


def normalized(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    x = x.astype("float64")
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_layer_and_rms_norm() -> None:
    x, gamma, beta = draw(4, 6, 10) + 3, draw(6, 10, seed=1), draw(6, 10, seed=2)
    check(
        lambda a, g, b: topi.nn.layer_norm(a, g, b, [1, 2]),
        lambda a, g, b: normalized(a, (1, 2)) * g + b,
        x, gamma, beta, tolerance=1e-4,
    )  # fmt: skip
    check(
        lambda a, g: topi.nn.rms_norm(a, g, [-1]),
        lambda a, g: a / np.sqrt((a**2).mean(-1, keepdims=True) + 1e-5) * g,
        x, draw(10, seed=1), tolerance=1e-4,
    )  # fmt: skip


def test_layer_norm_of_float16_accumulates_in_float32() -> None:
    x = (draw(4, 64) * 30 + 100).astype("float16")
    g, b = np.ones(64, "float16"), np.zeros(64, "float16")
    check(
        lambda a, c, d: topi.nn.layer_norm(a, c, d, [1]), lambda a, c, d: normalized(a, (1,)),
        x, g, b, tolerance=5e-3,
    )  # fmt: skip


def test_group_instance_and_batch_norm() -> None:
    x, gamma, beta = draw(2, 6, 5, 4), draw(6, seed=1), draw(6, seed=2)
    by_channel = (1, 6, 1, 1)

    def group(a: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
        grouped = normalized(a.reshape(2, 3, 2, 5, 4), (2, 3, 4)).reshape(a.shape)
        return grouped * g.reshape(by_channel) + b.reshape(by_channel)

    check(
        lambda a, g, b: topi.nn.group_norm(a, g, b, 3, 1, [2, 3]),
        group, x, gamma, beta, tolerance=1e-4,
    )  # fmt: skip
    check(
        lambda a, g, b: topi.nn.instance_norm(a, g, b, 1, [2, 3]),
        lambda a, g, b: normalized(a, (2, 3)) * g.reshape(by_channel) + b.reshape(by_channel),
        x, gamma, beta, tolerance=1e-4,
    )  # fmt: skip

    def batch(a: np.ndarray, g: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        mean, var = a.mean((0, 2, 3)), a.var((0, 2, 3))
        out = normalized(a, (0, 2, 3)) * g.reshape(by_channel) + b.reshape(by_channel)
        return [out, 0.9 * np.zeros(6) + 0.1 * mean, 0.9 * np.ones(6) + 0.1 * var]

    def build(a: te.Tensor, g: te.Tensor, b: te.Tensor) -> list[te.Tensor]:
        zeros, ones = topi.full([6], "float32", 0), topi.full([6], "float32", 1)
        return topi.nn.batch_norm(a, g, b, zeros, ones, training=True)

    check(build, batch, x, gamma, beta, tolerance=1e-4)


ACTIVATIONS: dict[str, tuple[Callable[..., te.Tensor], Callable[..., np.ndarray]]] = {
    "relu": (topi.nn.relu, lambda x: np.maximum(x, 0)),
    "relu6": (topi.nn.relu6, lambda x: np.clip(x, 0, 6)),
    "leaky_relu": (lambda x: topi.nn.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
    "silu": (topi.nn.silu, lambda x: x / (1 + np.exp(-x))),
    "softplus": (topi.nn.softplus, lambda x: np.where(x > 20, x, np.log1p(np.exp(x)))),
    "gelu_tanh": (
        topi.nn.gelu_tanh,
        lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "selu": (
        topi.nn.selu,
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name: str) -> None:
    build, reference = ACTIVATIONS[name]
    x = draw(7, 13) * 8
    x[0, :2] = 30, -30
    check(build, lambda v: reference(v.astype("float64")), x)


def test_prelu() -> None:
    check(
        topi.nn.prelu,
        lambda x, s: np.where(x > 0, x, x * s.reshape(1, 4, 1)),
        draw(2, 4, 5),
        draw(4, seed=1),
    )


@pytest.mark.parametrize("shape", [(1, 13, 13, 40), (169, 40), (4000, 20)])
def test_sums_of_many_terms_are_exact(shape: tuple[int, ...]) -> None:
    """Long sums are made of blocks: those of a loop that adds one term after the other have five to
    ten times the error."""
    random = np.random.default_rng(0)
    values = (np.maximum(random.standard_normal(shape), 0) + 0.5).astype(np.float32)
    axes = tuple(range(len(shape) - 1))
    data = te.placeholder(shape, "float32", name="data")
    total = topi.sum(data, axis=axes)
    main = relax_mlir.build(te.create_prim_func([data, total]), target="llvm")
    got = np.zeros(shape[-1:], "float32")
    main["main"](values, got)
    expected = values.astype(np.float64).sum(axes)
    assert np.abs(got / expected - 1).max() < 4e-7
