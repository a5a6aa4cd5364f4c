"""Nests replaced by intrinsics: what is refused, and that the results stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir.driver.build_module import build
from relax_mlir.errors import ScheduleError
from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir import TensorIntrin
from relax_mlir.tir.schedule import LoopRV, Schedule


@I.ir_module
class Bytes:
    @T.prim_func
    def main(
        A: T.Buffer((8, 32), "uint8"),
        W: T.Buffer((32, 48), "int8"),
        C: T.Buffer((8, 48), "int32"),
    ):
        for i, j, k in T.grid(8, 48, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(W[vk, vj], "int32")


@I.ir_module
class Floats:
    @T.prim_func
    def main(
        A: T.Buffer((32, 64), "float32"),
        W: T.Buffer((64, 48), "float32"),
        C: T.Buffer((32, 48), "float32"),
    ):
        for i, j, k in T.grid(32, 48, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]


def tiled(module: Any, m: int, n: int, k: int, pack: bool = False) -> tuple[Schedule, LoopRV]:
    sch = Schedule(module, debug_mask="all")
    if pack:
        sch.transform_layout("C", ("read", 1), lambda k, j: [j // 16, k // 4, j % 16, k % 4])
    i, j, k_ = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, m])
    j0, j1 = sch.split(j, [None, n])
    k0, k1 = sch.split(k_, [None, k])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    return sch, j1 if m == 1 else i1


@pytest.mark.parametrize("decompose", [False, True])
def test_vnni_dot(decompose: bool) -> None:
    if host_cpu().vector_bits != 512:
        pytest.skip("the CPU has no AVX-512")
    sch, loop = tiled(Bytes, 1, 16, 4, pack=True)
    if decompose:
        sch.decompose_reduction("C", sch.get_loops("C")[2])
    sch.tensorize(loop, "dot_16x4_vnni")
    rng = np.random.default_rng(3)
    a = rng.integers(0, 256, (8, 32)).astype("uint8")
    w = rng.integers(-128, 128, (32, 48)).astype("int8")
    packed = np.ascontiguousarray(w.reshape(8, 4, 3, 16).transpose(2, 0, 3, 1))
    result = np.zeros((8, 48), "int32")
    build(sch.mod)["main"](a, packed, result)
    np.testing.assert_array_equal(result, a.astype("int32") @ w.astype("int32"))


@pytest.mark.parametrize("name", [n for n in TensorIntrin.names() if n.startswith("matmul")])
def test_micro_kernel(name: str) -> None:
    m, n, k = map(int, name.split("_")[1].split("x"))
    sch, loop = tiled(Floats, m, n, k)
    sch.tensorize(loop, name)
    text = sch.mod.script()
    assert from_source(text, {"I": I, "T": T}).script() == text
    rng = np.random.default_rng(4)
    a, w = (rng.standard_normal(s).astype("float32") for s in ((32, 64), (64, 48)))
    result = np.zeros((32, 48), "float32")
    build(sch.mod)["main"](a, w, result)
    np.testing.assert_allclose(result, a @ w, rtol=1e-4, atol=1e-4)


def test_what_is_not_described_is_refused_and_nothing_changes() -> None:
    sch, loop = tiled(Floats, 4, 8, 4)
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match='is not what "matmul_4x4x4_f32" describes'):
        sch.tensorize(loop, "matmul_4x4x4_f32")
    with pytest.raises(ScheduleError, match='no tensor intrinsic "unknown"'):
        sch.tensorize(loop, "unknown")
    assert sch.mod.script() == before


def test_rows_apart_are_no_vector() -> None:
    sch, loop = tiled(Bytes, 1, 16, 4)
    with pytest.raises(ScheduleError, match="not what"):
        sch.tensorize(loop, "dot_16x4_vnni")


def test_registry() -> None:
    dot = TensorIntrin.get("dot_16x4_vnni")
    assert dot is not None
    with pytest.raises(ScheduleError, match="registered already"):
        TensorIntrin.register("dot_16x4_vnni", dot.desc, dot.impl)
    TensorIntrin.register("mine", dot.desc, dot.impl)
    assert TensorIntrin.get("mine") == dot
    assert TensorIntrin.get("none", allow_missing=True) is None
    other = TensorIntrin.get("matmul_4x4x4_f32")
    assert other is not None
    with pytest.raises(ScheduleError, match="same parameters"):
        TensorIntrin.register("mixed", dot.desc, other.impl)
