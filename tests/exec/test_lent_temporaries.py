"""Kernels whose temporaries lie in the workspace of the function that calls them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax

TWICE = """
@I.ir_module
class Twice:
    @T.prim_func(private=True)
    def turn(A: T.Buffer((96, 80), "float32"), B: T.Buffer((96, 80), "float32")):
        with T.block("root"):
            kept = T.alloc_buffer((96, 80), "float32")
            for i, j in T.grid(96, 80):
                with T.block("keep"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    kept[vi, vj] = A[vi, vj] * T.float32(2)
            for i, j in T.grid(96, 80):
                with T.block("turn"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = kept[95 - vi, 79 - vj] + A[vi, vj]

    @R.function
    def main(x: R.Tensor((96, 80), "float32"), c: R.Tensor((), "bool")):
        cls = Twice
        y = R.call_tir(cls.turn, (x,), out_ty=R.Tensor((96, 80), "float32"))
        if c:
            z = R.call_tir(cls.turn, (y,), out_ty=R.Tensor((96, 80), "float32"))
        else:
            z = y
        w = R.call_tir(cls.turn, (z,), out_ty=R.Tensor((96, 80), "float32"))
        return w
"""


def _turned(x: np.ndarray) -> np.ndarray:
    return (x * np.float32(2))[::-1, ::-1] + x


def _compiled(threads: int) -> Any:
    target = relax_mlir.target.Target({"kind": "llvm", "num-cores": threads})
    return relax_mlir.compile(relax_mlir.script.from_source(TWICE), target=target)


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_results(threads: int, again: bool) -> None:
    x = np.random.default_rng(3).standard_normal((96, 80)).astype("float32")
    main = relax.VirtualMachine(_compiled(threads), relax_mlir.cpu())["main"]
    expected = _turned(_turned(_turned(x)) if again else _turned(x))
    for _ in range(2):
        got = main(relax_mlir.runtime.tensor(x), relax_mlir.runtime.tensor(np.array(again)))
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_kernel_allocates_nothing() -> None:
    text = _compiled(1).mod.inspect_source()
    kernel = text[text.index("internal @turn__kernel") :]
    assert "@malloc" not in kernel[: kernel.index("llvm.return")]
