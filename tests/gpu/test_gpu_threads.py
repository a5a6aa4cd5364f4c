"""Threads: virtual ones, axes that a block is not bound to, kernels without any."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.script import tir as T
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.gpu_programs import plain_matmul, scheduled

RNG = np.random.default_rng(2)


def virtual_matmul(n=32, virtual=2, threads=4):
    """Tiles of 2 x 2 a virtual thread, factors copied by all threads, four floats at a time."""
    sch = scheduled(plain_matmul(n, n, n))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    bx, vx, tx, ii = sch.split(i, [None, virtual, threads, 2])
    by, vy, ty, jj = sch.split(j, [None, virtual, threads, 2])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(bx, by, vx, vy, tx, ty, k0, k1, ii, jj)
    for loop, axis in ((bx, "blockIdx.y"), (by, "blockIdx.x"), (vx, "vthread.y"),
                       (vy, "vthread.x"), (tx, "threadIdx.y"), (ty, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), ty)
    for operand in (0, 1):
        copy = sch.cache_read(block, operand, "shared")
        sch.compute_at(copy, k0)
        _, y, x, lane = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, threads, threads, 4])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lane)
    sch.decompose_reduction(block, k0)
    return sch.mod


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_virtual_threads(order):
    a, b = (RNG.standard_normal((32, 32)).astype("f") for _ in range(2))
    c = np.zeros((32, 32), "f")
    text = kernels(run_emulated(virtual_matmul(), a, b, c, order=order))
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    assert text.count("gpu.barrier") == 2  # one copy of the factors for all virtual threads
    assert "memref<16x4xf32, #gpu.address_space<workgroup>>" in text
    assert "memref<4x16xf32, #gpu.address_space<workgroup>>" in text


def test_virtual_threads_at_an_index_that_was_stored():
    @T.prim_func
    def main(
        A: T.Buffer((8,), "float32"), I: T.Buffer((4,), "int32"), B: T.Buffer((8,), "float32")
    ):
        row = T.alloc_buffer((1,), "int32", scope="local")
        for _ in T.thread_binding(1, thread="blockIdx.x"):
            for vy in T.thread_binding(2, thread="vthread"):
                for tx in T.thread_binding(4, thread="threadIdx.x"):
                    with T.block("row"):
                        v = T.axis.spatial(4, tx)
                        row[0] = I[v]
                    with T.block("B"):
                        v = T.axis.spatial(8, row[0] * 2 + vy)
                        B[v] = A[v] + T.float32(1)

    a, b = RNG.standard_normal(8).astype("f"), np.zeros(8, "f")
    run_emulated(main, a, np.array([3, 1, 0, 2], "int32"), b)
    np.testing.assert_array_equal(b, a + 1)


def test_one_thread_writes_what_all_would():
    @T.prim_func
    def main(
        A: T.Buffer((64,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((64,), "float32")
    ):
        m = T.alloc_buffer((4,), "float32", scope="shared")
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for k in range(16):
                with T.block("m"):
                    v = T.axis.spatial(4, bx)
                    r = T.axis.reduce(16, k)
                    with T.init():
                        m[v] = T.float32(0)
                    m[v] = m[v] + A[v * 16 + r]
            with T.block("B"):
                v = T.axis.spatial(4, bx)
                B[v] = B[v] + m[v]
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("C"):
                    v = T.axis.spatial(4, bx)
                    w = T.axis.spatial(16, tx)
                    C[v * 16 + w] = A[v * 16 + w] - m[v]

    a, b, c = RNG.standard_normal(64).astype("f"), np.ones(4, "f"), np.zeros(64, "f")
    run_emulated(main, a, b, c)
    total = a.reshape(4, 16).sum(1)
    np.testing.assert_allclose(b, 1 + total, rtol=1e-5)
    np.testing.assert_allclose(c, a - np.repeat(total, 16), rtol=1e-5, atol=1e-6)


def test_several_kernels_and_a_buffer_between():
    @T.prim_func
    def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        m = T.alloc_buffer((100,), "float32")
        for i in T.thread_binding(100, thread="threadIdx.x"):
            with T.block("m"):
                v = T.axis.spatial(100, i)
                m[v] = A[99 - v] * T.float32(2)
        for i in T.thread_binding(100, thread="blockIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(100, i)
                B[v] = m[99 - v] + T.float32(1)

    a, b = RNG.standard_normal(100).astype("f"), np.zeros(100, "f")
    text = kernels(run_emulated(main, a, b))
    np.testing.assert_allclose(b, 2 * a + 1, rtol=1e-6)
    assert "gpu.func @main_kernel(" in text
    assert "gpu.func @main_kernel_1(" in text


def test_exchange_through_global_memory_waits():
    """Threads of one block see each other's writes behind a barrier."""

    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        m = T.alloc_buffer((64,), "float32")
        for _ in T.thread_binding(1, thread="blockIdx.x"):
            for i in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("m"):
                    v = T.axis.spatial(64, i)
                    m[v] = A[v] * T.float32(2)
            for i in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    v = T.axis.spatial(64, i)
                    B[v] = m[63 - v]

    a, b = RNG.standard_normal(64).astype("f"), np.zeros(64, "f")
    text = kernels(run_emulated(main, a, b))
    np.testing.assert_array_equal(b, 2 * a[::-1])
    assert text.count("gpu.barrier") == 1


def test_barrier_under_a_condition_is_refused():
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        s = T.alloc_buffer((64,), "float32", scope="shared")
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(64, tx)
                T.reads(A[v])
                T.writes(B[v])
                if v < 32:
                    s[v] = A[v]
                    B[v] = s[31 - v]

    with pytest.raises(CompileError, match=r"reads s where another writes it.* under a condition"):
        relax_mlir.build(main, target="cuda")


def test_a_uniform_condition_may_hold_a_barrier():
    @T.prim_func
    def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        s = T.alloc_buffer((64,), "float32", scope="shared")
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    w = T.axis.spatial(2, bx)
                    v = T.axis.spatial(64, tx)
                    T.reads(A[w * 64 + v])
                    T.writes(B[w * 64 + v])
                    if w < 1:
                        s[v] = A[w * 64 + v]
                        B[w * 64 + v] = s[63 - v]

    a, b = RNG.standard_normal(128).astype("f"), np.zeros(128, "f")
    run_emulated(main, a, b)
    np.testing.assert_array_equal(b[:64], a[63::-1])


def test_local_buffers_of_two_kernels_are_refused():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        s = T.alloc_buffer((8,), "float32", scope="local")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("s"):
                v = T.axis.spatial(8, i)
                s[v] = A[v]
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("A"):
                v = T.axis.spatial(8, i)
                A[v] = s[v]

    with pytest.raises(CompileError, match="the buffer s of scope 'local' is used by 2 kernels"):
        relax_mlir.build(main, target="cuda")
