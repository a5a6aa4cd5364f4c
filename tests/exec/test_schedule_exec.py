"""Scheduled programs run and compute what they computed before, for the schedules people write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir.driver.build_module import build
from relax_mlir.ir import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule


@I.ir_module
class AddOne:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)


@I.ir_module
class Dense:
    @T.prim_func
    def main(
        A: T.Buffer((60, 52), "float32"),
        W: T.Buffer((52, 70), "float32"),
        Y: T.Buffer((60, 70), "float32"),
    ):
        C = T.alloc_buffer((60, 70), "float32")
        for i, j, k in T.grid(60, 70, 52):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
        for i, j in T.grid(60, 70):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(C[vi, vj], T.float32(0))


def _tile(sch: Schedule) -> tuple[Any, ...]:
    """Tiles that do not divide the sizes."""
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 16])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(i0, j0, k0, i1, k1, j1)
    return i0, j0, k0, i1, k1, j1


def _cpu(sch: Schedule) -> None:
    i0, j0, k0, _, k1, j1 = _tile(sch)
    sch.reverse_compute_at("Y", j0)
    panels = sch.fuse(i0, j0)
    sch.parallel(panels)
    sch.vectorize(j1)
    sch.unroll(k1)
    sch.decompose_reduction("C", k0)


def _staged(sch: Schedule) -> None:
    _, j0, k0, *_ = _tile(sch)
    for number, scope in enumerate(("shared", "shared")):
        sch.compute_at(sch.cache_read("C", number, scope), k0)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), j0)


def _gpu(sch: Schedule) -> None:
    i0, j0, *_ = _tile(sch)
    sch.reverse_compute_at("Y", j0)
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")


def _partial_sums(sch: Schedule) -> None:
    k0, k1 = sch.split(sch.get_loops("C")[2], [None, 4])
    block = sch.rfactor(k1, 0)
    i, j, k0, k1 = sch.get_loops(block)
    sch.reorder(k1, i, k0, j)
    sch.parallel(k1)


def _packed(sch: Schedule) -> None:
    pack = sch.cache_read("C", 1, "global")
    sch.transform_layout(pack, ("write", 0), lambda k, j: (j // 14, k, j % 14))
    i, j, k = sch.get_loops("C")
    j0, j1 = sch.split(j, [None, 14])
    sch.reorder(j0, i, k, j1)
    sch.vectorize(j1)


def _padded(sch: Schedule) -> None:
    sch.pad_einsum("C", [16, 16, 16])
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 16])
    j0, j1 = sch.split(j, [None, 16])
    k0, k1 = sch.split(k, [None, 16])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    inner = sch.blockize(i1)
    sch.decompose_reduction(inner, k0)


SCHEDULES: dict[str, Callable[[Schedule], None]] = {
    "tiles": lambda sch: (_tile(sch), None)[1],
    "cpu": _cpu,
    "staged": _staged,
    "gpu": _gpu,
    "partial_sums": _partial_sums,
    "packed": _packed,
    "padded": _padded,
    "inlined": lambda sch: sch.parallel(sch.fuse(*sch.get_loops("Y"))),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_dense_keeps_its_result(name: str) -> None:
    rng = np.random.default_rng(11)
    a = rng.standard_normal((60, 52)).astype("float32")
    w = rng.standard_normal((52, 70)).astype("float32")
    sch = Schedule(Dense, debug_mask="all")
    SCHEDULES[name](sch)
    result = np.full((60, 70), np.nan, "float32")
    build(sch.mod)["main"](a, w, result)
    np.testing.assert_allclose(result, np.maximum(a @ w, 0), rtol=1e-4, atol=1e-4)


def test_the_quick_start_runs_bound_to_threads() -> None:
    sch = Schedule(AddOne)
    (i,) = sch.get_loops("B")
    i_0, i_1, i_2 = sch.split(i, [2, 2, 2])
    sch.reorder(i_0, i_2, i_1)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_2, "threadIdx.x")
    a = np.arange(8, dtype="float32")
    a[3], a[5] = np.nan, np.inf
    b = np.zeros(8, "float32")
    build(sch.mod)["main"](a, b)
    np.testing.assert_array_equal(b, a + 1)


@I.ir_module
class Rows:
    @T.prim_func
    def main(a: T.handle, y: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 6), "float32")
        Y = T.match_buffer(y, (n, 6), "float32")
        B = T.alloc_buffer((n, 6), "float32")
        for i, j in T.grid(n, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(3)
        for i, j in T.grid(n, 6):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = B[vi, vj] + T.float32(1)


def test_one_schedule_runs_for_every_symbolic_size() -> None:
    sch = Schedule(Rows, debug_mask="all")
    i, j = sch.get_loops("Y")
    i0, i1 = sch.split(i, [None, 4])
    sch.compute_at("B", i0)
    sch.parallel(i0)
    sch.vectorize(sch.fuse(i1, j))
    run = build(sch.mod)["main"]
    rng = np.random.default_rng(5)
    for n in (0, 1, 3, 4, 5, 17):
        a = rng.standard_normal((n, 6)).astype("float32")
        y = np.zeros_like(a)
        run(a, y)
        np.testing.assert_allclose(y, a * 3 + 1, rtol=1e-6)


@I.ir_module
class RowSums:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        m, n = T.int64(), T.int64()
        A = T.match_buffer(a, (m, n), "float32")
        B = T.match_buffer(b, (m,), "float32")
        for i, k in T.grid(m, n):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


def _sum_in_steps(sch: Schedule) -> None:
    i, k = sch.get_loops("B")
    sch.parallel(i)
    sch.split(k, [None, 8])


def _sum_in_tiles(sch: Schedule) -> None:
    (i0, i1), (k0, k1) = (sch.split(loop, [None, 8]) for loop in sch.get_loops("B"))
    sch.reorder(i0, k0, i1, k1)


def _sum_steps_outermost(sch: Schedule) -> None:
    (i0, i1), (k0, k1) = (sch.split(loop, [None, 8]) for loop in sch.get_loops("B"))
    sch.reorder(k0, i0, k1, i1)
    sch.vectorize(i1)


@pytest.mark.parametrize("schedule", [_sum_in_steps, _sum_in_tiles, _sum_steps_outermost])
def test_a_sum_over_an_empty_axis_is_zero(schedule: Callable[[Schedule], None]) -> None:
    sch = Schedule(RowSums, debug_mask="all")
    schedule(sch)
    run = build(sch.mod)["main"]
    rng = np.random.default_rng(6)
    for shape in ((3, 0), (0, 3), (3, 5), (9, 17), (16, 8)):
        a = rng.standard_normal(shape).astype("float32")
        b = np.full(shape[:1], 7, "float32")
        run(a, b)
        np.testing.assert_allclose(b, a.sum(axis=1), rtol=1e-5, atol=1e-6)


def test_a_schedule_survives_both_texts() -> None:
    sch = Schedule(Dense)
    _cpu(sch)
    assert IRModule.parse(sch.mod.mlir()) == sch.mod
