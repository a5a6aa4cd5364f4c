"""Tensor cores: TVM's intrinsics, by mma.sync and by WMMA, compute the product on the emulated GPU
and assemble."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.script import tir as T
from relax_mlir.tir import TensorIntrin
from relax_mlir.tir.schedule import Schedule
from relax_mlir.tir.tensor_intrin import cuda
from tests.exec.test_tensor_cores import product, scheduled
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.ptxas import assemble

RNG = np.random.default_rng(3)
DTYPES = {"bfloat16": ml_dtypes.bfloat16}


def factors(dtype, trans_a, trans_b):
    """Small whole numbers, and their product."""
    a, b = (RNG.integers(-4, 5, (64, 64)) for _ in range(2))
    wanted = (a.T if trans_a else a) @ (b.T if trans_b else b)
    kind = DTYPES.get(dtype, dtype)
    return a.astype(kind), b.astype(kind), wanted


@pytest.mark.parametrize(
    ("dtype", "sums", "k_dim", "trans_a", "trans_b", "instruction"),
    [
        ("float16", "float32", 16, False, False, "m16n8k16.row.col.f32.f16.f16.f32"),
        ("float16", "float32", 16, True, True, "m16n8k16.row.col.f32.f16.f16.f32"),
        ("float16", "float16", 16, False, True, "m16n8k16.row.col.f16.f16.f16.f16"),
        ("bfloat16", "float32", 16, False, False, "m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("float32", "float32", 8, False, True, "m16n8k8.row.col.f32.tf32.tf32.f32"),
        ("int8", "int32", 32, False, False, "m16n8k32.row.col.satfinite.s32.s8.s8.s32"),
        ("int8", "int32", 32, False, True, "m16n8k32.row.col.satfinite.s32.s8.s8.s32"),
    ],
)
def test_mma(dtype, sums, k_dim, trans_a, trans_b, instruction):
    group = cuda.get_mma_intrin_group("shared", "global", dtype, sums, trans_a, trans_b, trans_b)
    sch = scheduled(product(dtype, sums, trans_a, trans_b), k_dim, group, trans_a, trans_b)
    a, b, wanted = factors(dtype, trans_a, trans_b)
    c = np.zeros((64, 64), sums)
    built = run_emulated(sch.mod, a, b, c)
    np.testing.assert_array_equal(c, wanted)
    text = kernels(built, "ptx")
    assert f"mma.sync.aligned.{instruction}" in text
    assert assemble(text, "sm_80")["main_kernel"].spills == 0


SQUARE = (16, 16, 16)


def wmma(trans_b, dtype="float16", scope="shared", sums_dtype="float32", group=None, shape=SQUARE):
    group = group or cuda.get_wmma_intrin_group(scope, "global", dtype, sums_dtype, trans_b)
    sch = Schedule(product(dtype, sums_dtype, False, trans_b))
    block = sch.get_block("C")
    around = zip(sch.get_loops(block), shape, strict=True)
    loops = [sch.split(loop, [None, size]) for loop, size in around]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    (i0, _), (j0, _), (k0, _) = loops
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")
    sums = sch.cache_write(block, 0, "wmma.accumulator")
    sch.reverse_compute_at(sums, j0)
    fragments = []
    for number, fragment in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
        copy = sch.cache_read(block, number, scope)
        sch.compute_at(copy, k0)
        _, lane, _ = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 32, 4])
        sch.bind(lane, "threadIdx.x")
        fragments.append(sch.cache_read(block, number, fragment))
    init = sch.decompose_reduction(block, k0)
    for place, depth, kind in ((init, 2, "init"), (fragments[0], 2, "load_a"),
                               (fragments[1], 2, "load_b"), (block, 3, "compute"),
                               (sums, 2, "store")):  # fmt: skip
        sch.tensorize(sch.get_loops(place)[-depth], group[kind])
    return sch.mod


@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("scope", ["shared", "shared.dyn"])
def test_wmma(trans_b, scope):
    a, b, wanted = factors("float16", False, trans_b)
    c = np.zeros((64, 64), "f")
    built = run_emulated(wmma(trans_b, scope=scope), a, b, c)
    np.testing.assert_array_equal(c, wanted)
    text = kernels(built, "ptx")
    assert "mma.sync.aligned.m16n8k16" in text
    assert kernels(built).count("nvgpu.mma.sync") == 2
    assert assemble(text, "sm_80")["main_kernel"].spills == 0
    # A tile of each factor, and the registers of one warp's fragments.
    assert "memref<16x16xf16, #gpu.address_space<workgroup>>" in kernels(built)


@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize(
    "dtype, sums, shape",
    [
        ("int8", "int32", SQUARE),
        ("bfloat16", "float32", SQUARE),
        ("float16", "float32", (32, 8, 16)),
        ("float16", "float16", (8, 32, 16)),
        ("bfloat16", "float32", (8, 32, 16)),
    ],
)
def test_other_tiles_of_wmma(dtype, sums, shape, trans_b):
    a, b, wanted = factors(dtype, False, trans_b)
    c = np.zeros((64, 64), sums)
    group = None if dtype == "int8" else wmma_group(dtype, sums, trans_b, shape)
    module = wmma(trans_b, dtype, sums_dtype=sums, group=group, shape=shape)
    built = run_emulated(module, a, b, c)
    np.testing.assert_array_equal(c, wanted)
    text = kernels(built, "ptx")
    assert "mma.sync.aligned.m16n8k16" in text
    assert assemble(text, "sm_80")["main_kernel"].spills == 0


def wmma_group(dtype, sums, trans_b, shape):
    """Instructions that TVM has no names for."""
    makers = {
        "init": cuda.get_wmma_fill_intrin(*shape, sums),
        "load_a": cuda.get_wmma_load_intrin(*shape, dtype, "shared", False, False),
        "load_b": cuda.get_wmma_load_intrin(*shape, dtype, "shared", True, trans_b),
        "compute": cuda.get_wmma_sync_intrin(*shape, dtype, sums, trans_b),
        "store": cuda.get_wmma_store_intrin(*shape, sums, "global"),
    }
    names = {key: f"test_wmma_{key}_{dtype}_{trans_b}_{shape}" for key in makers}
    for key, pair in makers.items():
        TensorIntrin.register(names[key], *pair, override=True)
    return names


def test_other_wmma_tiles_are_refused():
    with pytest.raises(CompileError, match=r"WMMA tiles of 16 x 8 f32; those of m16n16k16"):
        relax_mlir.build(filled_tile(16, 8), target="cuda")


def filled_tile(rows, columns):
    name = f"test_wmma_fill_{rows}x{columns}"
    TensorIntrin.register(
        name, *cuda.get_wmma_fill_intrin(rows, columns, 16, "float32"), override=True
    )

    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        w = T.alloc_buffer((rows, columns), "float32", scope="wmma.accumulator")
        for _b in T.thread_binding(1, thread="blockIdx.x"):
            for i, j in T.grid(rows, columns):
                with T.block("w"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    w[vi, vj] = T.float32(0)

    sch = Schedule(main)
    sch.tensorize(sch.get_loops(sch.get_block("w"))[1], name)
    return sch.mod


def test_registers_of_other_threads_are_refused():
    @T.prim_func
    def main(A: T.Buffer((32, 8), "float32")):
        w = T.alloc_buffer((32, 8), "float32", scope="warp")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for i in range(8):
                with T.block("w"):
                    vt, vi = T.axis.remap("SS", [tx, i])
                    w[vt, vi] = A[vt, vi]
            for i in range(8):
                with T.block("A"):
                    vt, vi = T.axis.remap("SS", [tx, i])
                    A[vt, vi] = w[31 - vt, vi]

    with pytest.raises(CompileError, match="elements of w that belong to other threads"):
        relax_mlir.build(main, target="cuda")
