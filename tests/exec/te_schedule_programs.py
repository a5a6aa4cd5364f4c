"""Running scheduled tensor expressions against numpy, and expressions that several tests use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import relax_mlir as tvm
from relax_mlir import te
from tests.exec.te_harness import TOLERANCES

RNG = np.random.default_rng(29)


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Normal numbers, of integers small ones."""
    if dtype.startswith("int"):
        return RNG.integers(-50, 50, shape, dtype)
    return RNG.standard_normal(shape).astype(dtype)


def check(
    schedule: te.Schedule,
    args: Sequence[Any],
    inputs: Sequence[np.ndarray],
    *expected: np.ndarray,
    target: str = "llvm",
) -> None:
    """The built schedule gives, in the arguments behind the inputs, what is expected."""
    built = tvm.build(schedule, list(args), target, name="scheduled")
    device = tvm.device("cpu" if target == "llvm" else "cuda-emu")
    given = [tvm.nd.array(a, device) for a in inputs]
    made = [tvm.nd.array(np.full(e.shape, 77, e.dtype), device) for e in expected]
    built(*given, *made)
    for tensor, wanted in zip(made, expected, strict=True):
        tolerance = TOLERANCES.get(str(wanted.dtype), 0)
        np.testing.assert_allclose(tensor.numpy(), wanted, tolerance * 10, tolerance * 10)


def product(m: Any, n: Any, k: Any) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """A matrix product: (A, B, C)."""
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    over = te.reduce_axis((0, k), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, over] * b[over, j], axis=over), name="C")
    return a, b, c


def row_sums(m: Any, k: Any) -> tuple[te.Tensor, te.Tensor]:
    """The sums of the rows of a matrix: (A, B)."""
    a = te.placeholder((m, k), name="A")
    over = te.reduce_axis((0, k), "k")
    return a, te.compute((m,), lambda i: te.sum(a[i, over], axis=over), name="B")


def chain(*shape: Any) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """Two elementwise operations one after the other: (A, B = A + 1, C = 2 B)."""
    a = te.placeholder(shape, name="A")
    b = te.compute(shape, lambda *i: a(*i) + 1, name="B")
    return a, b, te.compute(shape, lambda *i: b(*i) * 2, name="C")
