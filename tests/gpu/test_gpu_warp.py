"""Buffers of scope "warp": an element in each thread's registers, which others read by shuffles."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.script import tir as T
from tests.gpu.emulated import kernels, run_emulated

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_elements_of_other_threads(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Buffer((4, 32), dtype), B: T.Buffer((4, 32), dtype)):
        for b in T.thread_binding(4, "blockIdx.x"):
            for t in T.thread_binding(32, "threadIdx.x"):
                w = T.alloc_buffer((32,), dtype, scope="warp")
                w[t] = A[b, t]
                B[b, t] = w[(t + 1) % 32] + w[31 - t]

    a = np.arange(128).reshape(4, 32).astype(dtype)
    b = np.zeros_like(a)
    built = run_emulated(main, a.copy(), b)
    np.testing.assert_array_equal(b, np.roll(a, -1, 1) + a[:, ::-1])
    text = kernels(built)
    assert "gpu.shuffle" in text and "workgroup" not in text and "gpu.barrier" not in text
    assert "shfl.sync.idx" in kernels(built, "ptx")


def test_rows_of_a_schedule() -> None:
    """`cache_read` into the warp's registers, of several rows and warps."""

    @T.prim_func
    def main(A: T.Buffer((6, 2, 32), "float32"), B: T.Buffer((6, 2, 32), "float32")):
        for y in T.thread_binding(2, "threadIdx.y"):
            for x in T.thread_binding(32, "threadIdx.x"):
                w = T.alloc_buffer((6, 32), "float32", scope="warp")
                for i in range(6):
                    with T.sblock("w"):
                        vi, vx = T.axis.remap("SS", [i, x])
                        w[vi, vx] = A[vi, y, vx]
                for i in range(6):
                    with T.sblock("B"):
                        vi, vx = T.axis.remap("SS", [i, x])
                        B[vi, y, vx] = w[vi, vx] + w[vi, vx // 4 * 4]

    a = np.random.default_rng(0).random((6, 2, 32), dtype="float32")
    b = np.zeros_like(a)
    built = run_emulated(main, a.copy(), b)
    np.testing.assert_array_equal(b, a + np.repeat(a[..., ::4], 4, -1))
    assert kernels(built).count("gpu.shuffle") == 1


def test_what_a_warp_cannot_exchange() -> None:
    @T.prim_func
    def writes(A: T.Buffer((32,), "float32")):
        for t in T.thread_binding(32, "threadIdx.x"):
            w = T.alloc_buffer((32,), "float32", scope="warp")
            w[31 - t] = A[t]
            A[t] = w[t]

    @T.prim_func
    def under_a_condition(A: T.Buffer((32,), "float32")):
        for t in T.thread_binding(32, "threadIdx.x"):
            w = T.alloc_buffer((32,), "float32", scope="warp")
            w[t] = A[t]
            if t < 5:
                A[t] = w[t + 1]

    @T.prim_func
    def half_a_warp(A: T.Buffer((2, 16), "float32")):
        for y in T.thread_binding(2, "threadIdx.y"):
            for t in T.thread_binding(16, "threadIdx.x"):
                w = T.alloc_buffer((32,), "float32", scope="warp")
                w[t] = A[y, t]
                A[y, t] = w[15 - t]

    for program, what in (
        (writes, "writes an element of w that belongs to another thread"),
        (under_a_condition, "reads, under a condition, an element of w"),
        (half_a_warp, "writes an element of w"),
    ):
        with pytest.raises(CompileError, match=what):
            relax_mlir.build(program, target="cuda")
