"""Vector accesses, static and dynamic shared memory, and what the device's limits refuse."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.script import tir as T
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.gpu_programs import scheduled, shared_matmul, vector_add
from tests.gpu.ptxas import assemble

RNG = np.random.default_rng(1)


def doubled(n, dtype, lanes):
    @T.prim_func
    def main(A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype)):
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + A[vi]

    sch = scheduled(main)
    (loop,) = sch.get_loops(sch.get_block("B"))
    bx, tx, lane = sch.split(loop, [None, 32, lanes])
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    sch.vectorize(lane)
    return sch.mod


@pytest.mark.parametrize(
    "dtype, lanes, wide",
    [
        ("float32", 4, "v4.b32"),
        ("float16", 8, "v4.b32"),
        ("int8", 16, "v4.b32"),
        ("float32", 2, "v2.b32"),
        ("float64", 2, "v2.b64"),
    ],
)
def test_vectors_are_one_access(dtype, lanes, wide):
    a, b = RNG.integers(-5, 5, 1024).astype(dtype), np.zeros(1024, dtype)
    built = run_emulated(doubled(1024, dtype, lanes), a, b)
    np.testing.assert_array_equal(b, a + a)
    text = kernels(built, "ptx")
    assert text.count(f"ld.global.{wide}") == 1
    assert text.count(f"st.global.{wide}") == 1


def test_vectors_of_what_lies_between_kernels():
    """The memory that the host allocates for a buffer of the program is another's of none."""

    @T.prim_func
    def main(A: T.Buffer((256,), "float32"), C: T.Buffer((256,), "float32")):
        B = T.alloc_buffer((256,), "float32")
        for i in T.thread_binding(64, thread="threadIdx.x"):
            for v in T.vectorized(4):
                with T.block("B"):
                    vi = T.axis.spatial(256, i * 4 + v)
                    B[vi] = A[vi] + A[vi]
        for i in T.thread_binding(64, thread="threadIdx.x"):
            for v in T.vectorized(4):
                with T.block("C"):
                    vi = T.axis.spatial(256, i * 4 + v)
                    C[vi] = B[vi] * B[vi]

    a, c = RNG.integers(-5, 5, 256).astype("float32"), np.zeros(256, "float32")
    text = kernels(run_emulated(main, a, c), "ptx")
    np.testing.assert_array_equal(c, 4 * a * a)
    assert text.count("ld.global.v4") == text.count("st.global.v4") == 2


def test_kernels_say_what_must_be_aligned():
    """The host compares addresses with it: a view into a tensor may start anywhere."""
    built = relax_mlir.build(doubled(256, "float32", 4), target="cuda")
    assert kernels(built).count("llvm.align = 16 : i64") == 2
    assert "llvm.align" not in kernels(relax_mlir.build(vector_add(), target="cuda"))


def test_sums_of_products_are_fused():
    """One rounding: LLVM only fuses what is allowed to."""
    text = relax_mlir.build(shared_matmul(), target="cuda").mod.imports[0].inspect_source("ptx")
    assert text.count("fma.rn.f32") >= 16
    assert "mul.rn.f32" not in text


def test_buffers_in_shared_memory_are_aligned():
    """LLVM reads rows of a tile four floats at a time."""
    text = relax_mlir.build(shared_matmul(), target="cuda").mod.imports[0].inspect_source("ptx")
    assert "ld.shared.v4.b32" in text
    assert text.count(".shared .align 16") == 2


def two_phases(n, second="shared", threads=128):
    """B = 5 * A backwards, by way of two buffers that are used one after the other."""

    @T.prim_func
    def main(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        s = T.alloc_buffer((n,), "float32", scope="shared")
        t = T.alloc_buffer((n,), "float32", scope=second)
        for _ in T.thread_binding(1, thread="blockIdx.x"):
            for tx in T.thread_binding(threads, thread="threadIdx.x"):
                for i in range(n // threads):
                    with T.block("s"):
                        v = T.axis.spatial(n, i * threads + tx)
                        s[v] = A[v] * T.float32(2)
            for tx in T.thread_binding(threads, thread="threadIdx.x"):
                for i in range(n // threads):
                    with T.block("first"):
                        v = T.axis.spatial(n, i * threads + tx)
                        B[v] = s[n - 1 - v]
            for tx in T.thread_binding(threads, thread="threadIdx.x"):
                for i in range(n // threads):
                    with T.block("t"):
                        v = T.axis.spatial(n, i * threads + tx)
                        t[v] = A[v] * T.float32(3)
            for tx in T.thread_binding(threads, thread="threadIdx.x"):
                for i in range(n // threads):
                    with T.block("second"):
                        v = T.axis.spatial(n, i * threads + tx)
                        B[v] = B[v] + t[n - 1 - v]

    return main


@pytest.mark.parametrize("second", ["shared", "shared.dyn"])
def test_static_and_dynamic_shared_memory(second):
    """The dynamic part is external: as an internal symbol it would lie over the static one."""
    a, b = RNG.standard_normal(256).astype("f"), np.zeros(256, "f")
    built = run_emulated(two_phases(256, second), a, b)
    np.testing.assert_allclose(b, 5 * a[::-1], rtol=1e-6)
    text = kernels(built, "ptx")
    assert (".extern .shared" in text) == (second == "shared.dyn")
    static = 2048 if second == "shared" else 1024
    assert assemble(text, "sm_80")["main_kernel"].shared == static


def test_large_buffers_take_turns_in_dynamic_memory():
    n = 10_240
    a, b = RNG.standard_normal(n).astype("f"), np.zeros(n, "f")
    text = kernels(run_emulated(two_phases(n), a, b))
    np.testing.assert_allclose(b, 5 * a[::-1], rtol=1e-6)
    assert text.count("memref.view") == 1  # both have the same place
    assert text.count("gpu.barrier") == 3


def test_too_much_shared_memory():
    with pytest.raises(
        CompileError, match=r"uses 262144 bytes of shared memory .*device has 166912"
    ):
        relax_mlir.build(two_phases(65_536), target="cuda")


def test_too_many_threads():
    @T.prim_func
    def main(A: T.Buffer((2048,), "float32")):
        for i in T.thread_binding(2048, thread="threadIdx.x"):
            with T.block("A"):
                vi = T.axis.spatial(2048, i)
                A[vi] = T.float32(0)

    with pytest.raises(CompileError, match=r"threadIdx.x has 2048 threads of a block.*allows 1024"):
        relax_mlir.build(main, target="cuda")


def test_one_axis_has_one_extent():
    @T.prim_func
    def main(A: T.Buffer((64,), "float32")):
        for _ in T.thread_binding(1, thread="blockIdx.x"):
            for i in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("A"):
                    vi = T.axis.spatial(64, i)
                    A[vi] = T.float32(0)
            for j in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    vj = T.axis.spatial(32, j)
                    A[vj] = T.float32(1)

    with pytest.raises(CompileError, match=r"bound to threadIdx.x, but run 64 and 32 times"):
        relax_mlir.build(main, target="cuda")
