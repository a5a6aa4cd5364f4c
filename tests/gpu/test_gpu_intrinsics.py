"""What programs say of threads and warps themselves: barriers, shuffles, atomic operations."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.script import tir as T
from relax_mlir.tir import Schedule
from tests.gpu.emulated import kernels, run_emulated

RNG = np.random.default_rng(5)


def test_barriers_shuffles_and_atomics():
    @T.prim_func
    def main(
        A: T.Buffer((64,), "float32"),
        B: T.Buffer((64,), "float32"),
        C: T.Buffer((1,), "float32"),
        D: T.Buffer((4,), "int32"),
    ):
        s = T.alloc_buffer((64,), "float32", scope="shared")
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(64, tx)
                T.reads(A[v])
                T.writes(s[v], B[v], C[0])
                s[v] = A[v]
                T.tvm_storage_sync("shared")
                B[v] = s[63 - v] + T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), A[v], 1, 32, 32)
                T.evaluate(T.atomic_add(T.address_of(C[0]), A[v]))
                T.evaluate(T.call_extern("int32", "atomicMax", T.address_of(D[v % 4]), v))

    a, b = RNG.integers(-5, 5, 64).astype("f"), np.zeros(64, "f")
    c, d = np.zeros(1, "f"), np.zeros(4, "int32")
    built = run_emulated(main, a, b, c, d)
    down = a.copy()
    down[:31], down[32:63] = a[1:32], a[33:64]
    np.testing.assert_array_equal(b, a[::-1] + down)
    assert c[0] == a.sum()
    assert d.tolist() == [60, 61, 62, 63]
    assert kernels(built).count("gpu.barrier") == 1
    text = kernels(built, "ptx")
    for instruction in ("bar.sync", "shfl.sync.down.b32", "atom.global.add.f32", "max.s32"):
        assert instruction in text


@pytest.mark.parametrize(
    ("call", "width", "source"),
    [
        ("tvm_warp_shuffle_xor", 32, lambda n: n ^ 3),
        ("tvm_warp_shuffle_xor", 8, lambda n: n ^ 3),
        ("tvm_warp_shuffle_up", 16, lambda n: n - 3 if n % 16 >= 3 else n),
        ("tvm_warp_shuffle", 8, lambda n: n // 8 * 8 + 3),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_shuffles(call, width, source, dtype):
    shuffle = getattr(T, call)

    @T.prim_func
    def main(A: T.Buffer((32,), dtype), B: T.Buffer((32,), dtype)):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(32, tx)
                B[v] = shuffle(T.tvm_warp_activemask(), A[v], 3, width, 32)

    a, b = RNG.permutation(32).astype(dtype), np.zeros(32, dtype)
    run_emulated(main, a, b)
    np.testing.assert_array_equal(b, a[[source(n) for n in range(32)]])


def test_blocks_cannot_wait_for_each_other():
    @T.prim_func
    def main(A: T.Buffer((32,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("A"):
                v = T.axis.spatial(32, tx)
                A[v] = T.float32(0)
                T.tvm_storage_sync("global")

    with pytest.raises(CompileError, match="threads of different blocks cannot wait"):
        relax_mlir.build(main, target="cuda")


@pytest.mark.parametrize(("first", "second"), [("int8", "int8"), ("uint8", "int8")])
def test_dot_products_of_bytes(first, second):
    @T.prim_func
    def main(
        A: T.Buffer((32, 4), first), B: T.Buffer((32, 4), second), C: T.Buffer((32,), "int32")
    ):
        for i, k in T.grid(32, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + T.cast(A[vi, vk], "int32") * T.cast(B[vi, vk], "int32")

    sch = Schedule(main)
    block = sch.get_block("C")
    loop, k = sch.get_loops(block)
    sch.bind(loop, "threadIdx.x")
    for operand in (0, 1):
        copy = sch.cache_read(block, operand, "shared")
        sch.compute_at(copy, loop)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), loop)
    sch.decompose_reduction(block, k)
    short = {"int8": "s8", "uint8": "u8"}
    sch.tensorize(k, f"dp4a_{short[first]}{short[second]}s32")
    a = RNG.integers(0, 200, (32, 4)).astype(first)
    b = RNG.integers(-100, 100, (32, 4)).astype(second)
    c = np.zeros(32, "int32")
    run_emulated(sch.mod, a, b, c)
    np.testing.assert_array_equal(c, (a.astype(int) * b.astype(int)).sum(1))
