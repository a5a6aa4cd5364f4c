"""Concatenation, padding, gathers of rows and argmax, whose kernels are made in pieces, against
numpy: sizes known and unknown to the compiler, empty pieces, ties, NaN and infinities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir

op: Any = relax.op
N, M = tir.Var("n", "int64"), tir.Var("m", "int64")

PROGRAMS: dict[str, tuple[Sequence[Any], Callable[..., Any]]] = {
    "cache": ([(1, 3, N, 20), (1, 3, 1, 20)], lambda x, y: op.concat([x, y], 2)),
    "rows": ([(N, 5), (M, 5), (3, 5)], lambda *xs: op.concat(list(xs), 0)),
    "columns": ([(5, N), (5, M), (5, 3)], lambda *xs: op.concat(list(xs), 1)),
    "fixed": ([(4, 40), (4, 7), (4, 600)], lambda *xs: op.concat(list(xs), 1)),
    "pad": ([(2, N, M)], lambda x: op.nn.pad(x, [0, 0, 1, 2, 3, 1], pad_value=7.0)),
    "pad fixed": ([(2, 3, 5, 6)], lambda x: op.nn.pad(x, [0, 0, 0, 0, 1, 2, 3, 1])),
}
NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "cache": lambda x, y: np.concatenate([x, y], 2),
    "rows": lambda *xs: np.concatenate(xs, 0),
    "columns": lambda *xs: np.concatenate(xs, 1),
    "fixed": lambda *xs: np.concatenate(xs, 1),
    "pad": lambda x: np.pad(x, [(0, 0), (1, 2), (3, 1)], constant_values=7.0),
    "pad fixed": lambda x: np.pad(x, [(0, 0), (0, 0), (1, 2), (3, 1)]),
}
TAKES = {"rows": ((M, 33), 0), "middle": ((4, M, N), 1), "last": ((4, N, M), 2)}
ARGS = ("float32", "float16", "int8", "int64")
ARG_SHAPES = [(7, 1), (7, 16), (3, 100), (2, 3, 129), (6, 300)]


def _sizes(shape: Sequence[Any], n: int, m: int) -> list[int]:
    return [n if size is N else m if size is M else size for size in shape]


@cache
def _machine() -> Any:
    bb = relax.BlockBuilder()

    def define(name: str, variables: list[Any], body: Callable[..., Any]) -> None:
        with bb.function(name, variables):
            bb.emit_func_output(bb.emit(body(*variables)))

    def variable(name: str, shape: Sequence[Any], dtype: str = "float32") -> Any:
        return relax.Var(name, relax.TensorStructInfo(shape, dtype))

    for name, (shapes, body) in PROGRAMS.items():
        given = [variable(f"x{i}", shape) for i, shape in enumerate(shapes)]
        define(f"piece {name}".replace(" ", "_"), given, body)
    for name, (shape, axis) in TAKES.items():
        given = [variable("w", shape), variable("i", (2, 3), "int64")]
        define(f"take_{name}", given, lambda w, i, axis=axis: op.take(w, i, axis))
    for (i, shape), dtype, kind in itertools.product(enumerate(ARG_SHAPES), ARGS, ("max", "min")):
        for axis in (-1, 0):
            define(
                f"arg{kind}_{i}_{dtype}_{axis % len(shape)}",
                [variable("x", shape, dtype)],
                lambda x, kind=kind, axis=axis: getattr(op, f"arg{kind}")(x, axis),
            )
    define("argmax_dynamic", [variable("x", (5, N))], lambda x: op.argmax(x, 1))
    return relax.VirtualMachine(relax_mlir.compile(bb.get(), "llvm"), relax_mlir.cpu())


def _run(name: str, *arrays: np.ndarray) -> np.ndarray:
    return _machine()[name](*map(relax_mlir.runtime.tensor, arrays)).numpy()


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.parametrize("sizes", [(5, 7), (1, 1), (16, 33), (0, 3), (3, 0), (0, 0), (700, 9)])
def test_pieces(name: str, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(_sizes(s, *sizes)).astype("float32") for s in PROGRAMS[name][0]]
    got = _run(f"piece {name}".replace(" ", "_"), *arrays)
    np.testing.assert_array_equal(got, NUMPY[name](*arrays))


@pytest.mark.parametrize("name", list(TAKES))
@pytest.mark.parametrize("sizes", [(5, 7), (1, 1), (33, 600), (900, 2)])
def test_take(name: str, sizes: tuple[int, int]) -> None:
    shape, axis = TAKES[name]
    rng = np.random.default_rng(2)
    table = rng.standard_normal(_sizes(shape, *sizes)).astype("float32")
    indices = rng.integers(0, table.shape[axis], (2, 3))
    np.testing.assert_array_equal(
        _run(f"take_{name}", table, indices), np.take(table, indices, axis)
    )


def _arg_input(rng: np.random.Generator, shape: Sequence[int], dtype: str, kind: str) -> Any:
    """Ties, or NaN and infinities, or the worst value everywhere."""
    x = np.round(rng.standard_normal(shape) * 3).astype(dtype)
    if dtype.startswith("float"):
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0], shape)
        where = rng.random(shape) < 0.02
        return [x, np.where(where, special, x).astype(dtype), np.full(shape, -np.inf, dtype)]
    worst = np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max
    return [x, np.full(shape, worst, dtype)]


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ARGS)
def test_arg_reduction(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    for i, shape in enumerate(ARG_SHAPES):
        for axis in (len(shape) - 1, 0):
            for x in _arg_input(rng, shape, dtype, kind):
                got = _run(f"arg{kind}_{i}_{dtype}_{axis}", x)
                np.testing.assert_array_equal(got, getattr(np, f"arg{kind}")(x, axis))


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 1000])
def test_argmax_dynamic(size: int) -> None:
    x = np.random.default_rng(size).standard_normal((5, size)).astype("float32")
    x[1] = -np.inf
    x[2, size // 2 :] = np.nan
    x[3] = np.round(x[3])  # several of the largest
    np.testing.assert_array_equal(_run("argmax_dynamic", x), x.argmax(1))


def test_a_buffer_of_no_elements_beside_unknown_sizes() -> None:
    given = {"x": (2, N, 3, 5), "gamma": (0,), "beta": (N,), "mean": (0,), "var": (N,)}
    variables = [relax.Var(k, relax.TensorStructInfo(s, "float32")) for k, s in given.items()]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(op.nn.batch_norm(*variables, axis=1))
        builder.emit_func_output(result)
    vm = relax.VirtualMachine(relax_mlir.compile(builder.get(), "llvm"), relax_mlir.cpu())
    nothing = np.zeros(0, "float32")
    normed, *_ = vm["main"](np.zeros((2, 0, 3, 5), "float32"), *[nothing] * 4)
    assert normed.numpy().shape == (2, 0, 3, 5)
