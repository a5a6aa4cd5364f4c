"""Factors of matrices and triangular systems of StableHLO programs, against numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.models.stablehlo_harness import program, run, tensor_type

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((1,), "float32"), ((7,), "float64"), ((2, 3, 5), "float32")]
)
def test_cholesky(lower: bool, shape: tuple[int, ...], dtype: str) -> None:
    *batch, size = shape
    x = RNG.standard_normal((*batch, size, size))
    x = (x @ x.swapaxes(-1, -2) + size * np.eye(size)).astype(dtype)
    given = np.tril(x) if lower else np.triu(x)  # the other triangle is not read
    text = f"%r0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : $a"
    (found,) = run(program([given], text, [tensor_type(x)]), given)
    expected = np.linalg.cholesky(x.astype("float64"))
    wanted = expected if lower else expected.swapaxes(-1, -2)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_what_is_not_positive_definite_has_no_factor() -> None:
    x = np.array([[1.0, 2.0], [2.0, 1.0]], "float32")
    text = "%r0 = stablehlo.cholesky %a, lower = true : $a"
    (found,) = run(program([x], text, [tensor_type(x)]), x)
    assert np.isnan(found).any()


@pytest.mark.parametrize(
    ("left", "lower", "unit"), list(itertools.product([True, False], repeat=3))
)
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
def test_triangular_solve(left: bool, lower: bool, unit: bool, transpose: str) -> None:
    size, others = 5, 3
    a = (RNG.standard_normal((2, size, size)) / 4 + 2 * np.eye(size)).astype("float32")
    b = RNG.standard_normal((2, size, others) if left else (2, others, size)).astype("float32")
    flags = ", ".join(
        f"{name} = {str(value).lower()}"
        for name, value in (("left_side", left), ("lower", lower), ("unit_diagonal", unit))
    )
    text = (
        f'%r0 = "stablehlo.triangular_solve"(%a, %b) <{{{flags}, '
        f"transpose_a = #stablehlo<transpose {transpose}>}}> : ($a, $b) -> $b"
    )
    (found,) = run(program([a, b], text, [tensor_type(b)]), a, b)
    matrix = (np.tril(a) if lower else np.triu(a)).astype("float64")
    if unit:
        matrix[:, range(size), range(size)] = 1
    if transpose == "TRANSPOSE":
        matrix = matrix.swapaxes(-1, -2)
    product = matrix @ found if left else found @ matrix
    np.testing.assert_allclose(product, b, rtol=1e-3, atol=1e-4)
