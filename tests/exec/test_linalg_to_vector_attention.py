"""Attention by blocks of rows against a direct numpy computation: layouts, masks, sizes that are no
multiple of a block or of a vector, known and unknown to the compiler, one and two threads."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir
from relax_mlir.driver.cpu_pipeline import KERNELS

op: Any = relax.op
N, M = tir.Var("n", "int64"), tir.Var("m", "int64")

# name: (batch, queries, keys, heads, width), mask, bias
STATIC: dict[str, tuple[tuple[int, ...], str | None, bool]] = {
    "square": ((2, 48, 48, 3, 16), None, False),
    "odd": ((1, 33, 50, 2, 20), None, False),
    "causal": ((1, 100, 100, 2, 8), "TopLeft", False),
    "causal_blocks": ((1, 130, 130, 1, 64), "TopLeft", False),
    "causal_long": ((1, 90, 17, 2, 16), "TopLeft", False),
    "bottom_right": ((1, 20, 45, 2, 16), "BottomRight", False),
    "bias": ((2, 17, 65, 2, 24), None, True),
    "causal_bias": ((1, 40, 40, 2, 16), "TopLeft", True),
    "one_query": ((1, 1, 70, 3, 16), None, False),
    "wide_rows": ((1, 24, 1100, 1, 16), None, False),
}

THREADED = ["square", "causal_blocks", "bias"]


def _attention(q: Any, k: Any, v: Any, mask: str | None, bias: Any = None) -> np.ndarray:
    q, k, v = (x.astype("float64").transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    rows, columns = np.indices(scores.shape[-2:])
    if mask is not None:
        shift = scores.shape[-1] - scores.shape[-2] if mask == "BottomRight" else 0
        scores = np.where(columns <= rows + shift, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


def _variable(name: str, *shape: Any) -> Any:
    return relax.Var(name, relax.TensorStructInfo(shape, "float32"))


@cache
def _machine(cores: int) -> Any:
    bb = relax.BlockBuilder()

    def define(name: str, variables: list[Any], mask: str | None) -> None:
        with bb.function(name, variables):
            bb.emit_func_output(bb.emit(op.nn.attention(*variables, causal_mask=mask)))

    for name, ((batch, rows, columns, heads, width), mask, bias) in STATIC.items():
        if cores > 1 and name not in THREADED:
            continue
        given = [_variable("q", batch, rows, heads, width)]
        given += [_variable(x, batch, columns, heads, width) for x in "kv"]
        given += [_variable("b", batch, heads, rows, columns)] if bias else []
        define(name, given, mask)
    if cores > 1:
        return _compiled(bb, cores)
    dynamic = [_variable("q", 1, N, 2, 16), *(_variable(x, 1, M, 2, 16) for x in "kv")]
    define("dynamic", dynamic, None)
    define("dynamic_causal", [_variable(x, 1, N, 2, 16) for x in "qkv"], "TopLeft")
    _define_parts(bb)
    return _compiled(bb, cores)


def _compiled(bb: Any, cores: int) -> Any:
    target = {"kind": "llvm", "num-cores": cores}
    return relax.VirtualMachine(relax_mlir.compile(bb.get(), target), relax_mlir.cpu())


def _define_parts(bb: Any) -> None:
    """Attention as importers write it, from its parts."""
    q, k, v = (_variable(x, 1, 37, 2, 16) for x in "qkv")
    mask = _variable("mask", 1, 1, 1, 37)
    with bb.function("parts", [q, k, v, mask]):
        with bb.dataflow():
            heads = [bb.emit(op.permute_dims(x, [0, 2, 1, 3])) for x in (q, k, v)]
            keys = bb.emit(op.permute_dims(heads[1], [0, 1, 3, 2]))
            scores = bb.emit(op.multiply(op.matmul(heads[0], keys), relax.const(0.25, "float32")))
            weights = bb.emit(op.nn.softmax(bb.emit(op.add(scores, mask)), -1))
            mixed = bb.emit(op.matmul(weights, heads[2]))
            result = bb.emit_output(op.permute_dims(mixed, [0, 2, 1, 3]))
        bb.emit_func_output(result)


def _check(name: str, cores: int, shape: tuple[int, ...], mask: str | None, bias: bool) -> None:
    batch, rows, columns, heads, width = shape
    rng = np.random.default_rng(rows)
    shapes = [(batch, n, heads, width) for n in (rows, columns, columns)]
    shapes += [(batch, heads, rows, columns)] if bias else []
    arrays = [rng.standard_normal(s).astype("float32") for s in shapes]
    got = _machine(cores)[name](*map(relax_mlir.runtime.tensor, arrays)).numpy()
    expected = _attention(*arrays[:3], mask, *arrays[3:])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", list(STATIC))
def test_static(name: str) -> None:
    _check(name, 1, *STATIC[name])


@pytest.mark.parametrize("name", THREADED)
def test_two_threads(name: str) -> None:
    _check(name, 2, *STATIC[name])


@pytest.mark.parametrize("rows", [1, 7, 16, 63, 64, 65, 200])
@pytest.mark.parametrize("columns", [1, 16, 31, 150])
def test_dynamic(rows: int, columns: int) -> None:
    _check("dynamic", 1, (1, rows, columns, 2, 16), None, False)


@pytest.mark.parametrize("rows", [1, 7, 16, 65, 200])
def test_dynamic_causal(rows: int) -> None:
    _check("dynamic_causal", 1, (1, rows, rows, 2, 16), "TopLeft", False)


def test_parts() -> None:
    rng = np.random.default_rng(8)
    arrays = [rng.standard_normal((1, 37, 2, 16)).astype("float32") for _ in range(3)]
    mask = np.where(rng.random((1, 1, 1, 37)) < 0.3, -1e9, 0).astype("float32")
    got = _machine(1)["parts"](*map(relax_mlir.runtime.tensor, (*arrays, mask))).numpy()
    np.testing.assert_allclose(got, _attention(*arrays, None, mask), rtol=1e-5, atol=2e-6)


def test_fully_masked_row() -> None:
    """A row that is masked away by infinite bias gives NaN, as the formula does; the others are
    not touched by it."""
    batch, rows, columns, heads, width = STATIC["bias"][0]
    rng = np.random.default_rng(5)
    q, k, v = (
        rng.standard_normal((batch, n, heads, width)).astype("float32")
        for n in (rows, columns, columns)
    )
    bias = np.zeros((batch, heads, rows, columns), "float32")
    bias[0, 1, 3] = -np.inf
    got = _machine(1)["bias"](*map(relax_mlir.runtime.tensor, (q, k, v, bias))).numpy()
    with np.errstate(invalid="ignore"):
        expected = _attention(q, k, v, None, bias)
    assert np.isnan(got[0, 3, 1]).all()
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("causal", [None, "TopLeft"])
def test_the_operator_keeps_no_matrix_of_scores(causal: str | None) -> None:
    """Its layout is (batch, row, head, column), and every stage of it is a product of one tap."""
    builder, shape = relax.BlockBuilder(), (1, 48, 2, 16)
    q, k, v = (relax.Var(name, relax.TensorStructInfo(shape, "float32")) for name in "qkv")
    with builder.function("main", [q, k, v]):
        builder.emit_func_output(builder.emit(relax.op.nn.attention(q, k, v, causal_mask=causal)))
    module = relax.get_pipeline("default")(builder.get())
    kernels = KERNELS.rpartition("linalg-to-vector")[0] + "linalg-to-vector"
    lowered = relax_mlir.transform.PassPipeline(f"builtin.module({kernels})")(module).mlir()
    assert "linalg." not in lowered
    assert not re.search(r"memref<[\dx]*48x48x", lowered)  # (1, 2, 48, 48) in any order
    assert not re.search(r"memref<1x2x48x48|memref<4608x", lowered)
