"""TensorIR functions for some values of their sizes and scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir import tir
from relax_mlir.driver import build
from relax_mlir.errors import Error
from relax_mlir.script import tir as T


@T.prim_func
def scaled(a: T.handle, b: T.handle, k: T.int64, s: T.float32):
    T.func_attr({"kept": 1})
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n * m,), "float32")
    for i, j in T.grid(n, m):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * m + vj] = A[vi, vj] * s + T.Cast("float32", k)


A = np.arange(6, dtype="float32").reshape(2, 3)


def run(function: tir.PrimFunc, *scalars: Any) -> np.ndarray:
    found = np.zeros(6, "float32")
    build(function)["scaled"](A, found, *scalars)
    return found


def test_sizes_and_scalars_get_values() -> None:
    n = scaled.buffer_map[scaled.params[0]].shape[0]
    made = scaled.specialize({n: 2, "m": 3})
    assert "T.int64()" not in made.script() and made.get_attr("kept") == 1
    np.testing.assert_array_equal(run(made, 4, 2.0), A.ravel() * 2 + 4)
    fixed = made.specialize({scaled.params[2]: 4, "s": 0.5})
    assert len(fixed.params) == 2
    np.testing.assert_array_equal(run(fixed), A.ravel() / 2 + 4)
    assert "m = T.int64()" in scaled.specialize({"n": 2}).script()


def test_a_buffer_says_the_sizes() -> None:
    made = scaled.specialize({scaled.params[0]: tir.decl_buffer((2, 3), "float32")})
    np.testing.assert_array_equal(run(made, 0, 1.0), A.ravel())


BAD = {
    "has no variable 'z'": {"z": 3},
    "has no buffer 'Z'": {"Z": tir.decl_buffer((2, 3))},
    "rank and dtype must be the same": {"A": tir.decl_buffer((2,))},
    "'m' cannot be both": {"m": 4, "A": tir.decl_buffer((2, 3))},
    "'n' is given a number": {"n": tir.Var("p", "int64")},
}


@pytest.mark.parametrize("message", BAD)
def test_values_that_do_not_fit(message: str) -> None:
    with pytest.raises(Error, match=message):
        scaled.specialize(BAD[message])
