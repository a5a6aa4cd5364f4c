"""Reductions whose loops are bound to threads."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir.errors import CompileError
from relax_mlir.script import tir as T
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.gpu_programs import scheduled

RNG = np.random.default_rng(0)


def row_sum(n, m, dtype="float32"):
    @T.prim_func
    def main(A: T.Buffer((n, m), dtype), B: T.Buffer((n,), dtype)):
        for i, k in T.grid(n, m):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.cast(0, dtype)
                B[vi] = B[vi] + A[vi, vk]

    return main


def bound_row_sum(n, m, threads, dtype="float32"):
    sch = scheduled(row_sum(n, m, dtype))
    block = sch.get_block("B")
    i, k = sch.get_loops(block)
    _, inner = sch.split(k, [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return sch.mod


# Within a warp, a power of two of warps, and what goes through shared memory alone.
@pytest.mark.parametrize(
    "n, m, threads",
    [(8, 128, 32), (3, 100, 32), (2, 256, 128), (2, 96, 96), (3, 30, 10), (2, 77, 7), (1, 5, 1)],
)
def test_row_sum(n, m, threads):
    a, b = RNG.standard_normal((n, m)).astype("f"), np.zeros(n, "f")
    run_emulated(bound_row_sum(n, m, threads), a, b)
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads, shuffles, barriers", [(32, 5, 0), (128, 7, 1), (96, 0, 7)])
def test_ways_of_combining(threads, shuffles, barriers):
    a, b = np.ones((2, 256), "f"), np.zeros(2, "f")
    text = kernels(run_emulated(bound_row_sum(2, 256, threads), a, b))
    assert text.count("gpu.shuffle") == shuffles
    assert text.count("gpu.barrier") == barriers
    assert b.tolist() == [256, 256]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64", "int8"])
def test_dtypes(dtype):
    a, b = RNG.integers(-3, 4, (2, 64)).astype(dtype), np.zeros(2, dtype)
    run_emulated(bound_row_sum(2, 64, 32, dtype), a, b)
    np.testing.assert_array_equal(b, a.sum(1, dtype=dtype))


def test_decomposed():
    """A block without initialisation adds to what is there."""
    sch = scheduled(row_sum(4, 64))
    block = sch.get_block("B")
    i, k = sch.get_loops(block)
    sch.decompose_reduction(block, k)
    _, inner = sch.split(sch.get_loops(block)[-1], [None, 32])
    sch.bind(inner, "threadIdx.x")
    sch.bind(i, "blockIdx.x")
    a, b = RNG.standard_normal((4, 64)).astype("f"), np.zeros(4, "f")
    run_emulated(sch.mod, a, b)
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5, atol=1e-5)


def test_rfactor():
    sch = scheduled(row_sum(4, 96))
    block = sch.get_block("B")
    _, k = sch.get_loops(block)
    _, inner = sch.split(k, [None, 32])
    partial = sch.rfactor(inner, 0)
    i, j = sch.get_loops(block)
    sch.compute_at(partial, i)
    sch.set_scope(partial, 0, "local")
    sch.bind(sch.get_loops(partial)[1], "threadIdx.x")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    a, b = RNG.standard_normal((4, 96)).astype("f"), np.zeros(4, "f")
    text = kernels(run_emulated(sch.mod, a, b))
    assert "workgroup" not in text
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5, atol=1e-5)


def softmax(n, m):
    @T.prim_func
    def main(A: T.Buffer((n, m), "float32"), B: T.Buffer((n, m), "float32")):
        largest = T.alloc_buffer((n,), "float32")
        total = T.alloc_buffer((n,), "float32")
        for i, k in T.grid(n, m):
            with T.block("largest"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    largest[vi] = T.min_value("float32")
                largest[vi] = T.max(largest[vi], A[vi, vk])
        for i, k in T.grid(n, m):
            with T.block("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + T.exp(A[vi, vk] - largest[vi])
        for i, j in T.grid(n, m):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj] - largest[vi]) / total[vi]

    return main


@pytest.mark.parametrize("m, threads", [(100, 32), (64, 64), (50, 20)])
def test_softmax_in_one_kernel(m, threads):
    sch = scheduled(softmax(5, m))
    total, largest, out = (sch.get_block(name) for name in ("total", "largest", "B"))
    row, _ = sch.get_loops(out)
    for block in (total, largest):
        sch.compute_at(block, row)
        sch.set_scope(block, 0, "shared")
    for block in (total, largest, out):
        _, inner = sch.split(sch.get_loops(block)[-1], [None, threads])
        sch.bind(inner, "threadIdx.x")
    sch.bind(row, "blockIdx.x")
    a, b = RNG.standard_normal((5, m)).astype("f"), np.zeros((5, m), "f")
    run_emulated(sch.mod, a, b)
    e = np.exp(a - a.max(1, keepdims=True))
    np.testing.assert_allclose(b, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)


def test_column_sums_walk_over_outputs_in_x():
    """The reduction is over threadIdx.y: threads of a group do not follow each other."""

    @T.prim_func
    def main(A: T.Buffer((40, 24), "float32"), B: T.Buffer((24,), "float32")):
        for i, k in T.grid(24, 40):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vk, vi]

    sch = scheduled(main)
    i, k = sch.get_loops(sch.get_block("B"))
    bx, tx = sch.split(i, [None, 16])
    r, ty = sch.split(k, [None, 8])
    sch.reorder(bx, tx, ty, r)
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    sch.bind(ty, "threadIdx.y")
    a, b = RNG.standard_normal((40, 24)).astype("f"), np.zeros(24, "f")
    run_emulated(sch.mod, a, b)
    np.testing.assert_allclose(b, a.sum(0), rtol=1e-5, atol=1e-5)


def test_argmax():
    @T.prim_func
    def main(
        A: T.Buffer((3, 70), "float32"),
        best: T.Buffer((3,), "float32"),
        place: T.Buffer((3,), "int32"),
    ):
        for i, k in T.grid(3, 70):
            with T.block("argmax"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(place[vi], best[vi])
                with T.init():
                    place[vi] = -1
                    best[vi] = T.min_value("float32")
                p: T.int32 = T.Select(best[vi] >= A[vi, vk], place[vi], vk)
                b: T.float32 = T.Select(best[vi] >= A[vi, vk], best[vi], A[vi, vk])
                place[vi] = p
                best[vi] = b

    sch = scheduled(main)
    i, k = sch.get_loops(sch.get_block("argmax"))
    _, inner = sch.split(k, [None, 32])
    sch.bind(i, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    a = RNG.permutation(210).reshape(3, 70).astype("f")
    best, place = np.zeros(3, "f"), np.zeros(3, "int32")
    run_emulated(sch.mod, a, best, place)
    np.testing.assert_array_equal(best, a.max(1))
    np.testing.assert_array_equal(place, a.argmax(1))


def test_refused_across_blocks():
    sch = scheduled(row_sum(4, 64))
    block = sch.get_block("B")
    with pytest.raises(Exception, match="reduction"):
        sch.bind(sch.get_loops(block)[1], "blockIdx.x")


def test_refused_when_the_start_is_no_identity():
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
        for i in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.reduce(64, i)
                with T.init():
                    B[0] = T.float32(3)
                B[0] = B[0] + A[vi]

    with pytest.raises(CompileError, match="block B cannot be reduced across threads"):
        run_emulated(main, np.zeros(64, "f"), np.zeros(1, "f"))
