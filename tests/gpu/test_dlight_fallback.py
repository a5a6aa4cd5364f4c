"""Fallback on what legalisation makes and on functions of other forms: structure and results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, mlir
from relax_mlir.dlight.base.transform import IS_SCHEDULED
from relax_mlir.errors import PassError
from relax_mlir.ir import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.target import Target
from relax_mlir.tir.schedule import nest


def schedule(mod: IRModule, *rules: dlight.ScheduleRule) -> IRModule:
    with Target("cuda"):
        return dlight.ApplyDefaultSchedule(*(rules or [dlight.gpu.Fallback()]))(mod)


def axes_of_nests(mod: IRModule, name: str = "main") -> list[dict[str, int]]:
    """For each outermost loop nest the extents of the axes it is bound to."""
    function = mod[name]
    found: list[dict[str, int]] = []
    with mlir.scope():
        for op in nest.body_of(function.operation.opview).operations:
            if op.operation.name != "tir.for":
                continue
            loops = [o for o in (op, *nest.descend(op)) if o.operation.name == "tir.for"]
            bound = {nest.thread_axis(loop): loop.extent for loop in loops}
            found.append({axis: extent for axis, extent in bound.items() if axis is not None})
    return found


def test_spatial_loops_are_spread_over_blocks_and_threads() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((40, 70), "float32"), B: T.Buffer((40, 70), "float32")):
            for i, j in T.grid(40, 70):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] + T.float32(1)

    scheduled = schedule(Module)
    assert axes_of_nests(scheduled) == [{"blockIdx.x": 3, "threadIdx.x": 1024}]
    assert scheduled["main"].attrs[IS_SCHEDULED]
    a = np.random.default_rng(0).random((40, 70), dtype="float32")
    b = relax_mlir.runtime.empty((40, 70), "float32")
    relax_mlir.build(scheduled, "llvm")(relax_mlir.runtime.tensor(a), b)
    np.testing.assert_allclose(b.numpy(), a + 1)


def test_statements_outside_of_blocks_run_in_one_thread() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
            B[0] = A[0]
            for i in range(8):
                B[i + 1] = B[i] + A[i + 1]

    scheduled = schedule(Module)
    assert axes_of_nests(scheduled) == [{"blockIdx.x": 1, "threadIdx.x": 1}]
    a = np.random.default_rng(1).random(9, dtype="float32")
    b = relax_mlir.runtime.empty((9,), "float32")
    relax_mlir.build(scheduled, "llvm")(relax_mlir.runtime.tensor(a), b)
    np.testing.assert_allclose(b.numpy(), np.cumsum(a), rtol=1e-6)


def test_a_block_in_order_runs_in_one_thread() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((9,), "float32"), I_: T.Buffer((9,), "int32"),
                 B: T.Buffer((4,), "float32")):  # fmt: skip
            for i in range(9):
                with T.sblock("scatter"):
                    vi = T.axis.spatial(9, i)
                    B[I_[vi]] = A[vi]

    assert axes_of_nests(schedule(Module)) == [{"blockIdx.x": 1, "threadIdx.x": 1}]


def test_blocks_that_share_loops_and_functions_bound_already() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def shared(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"),
                   C: T.Buffer((8, 8), "float32")):  # fmt: skip
            for i, j in T.grid(8, 8):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * T.float32(2)
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj] + A[vi, vj]

        @T.prim_func
        def bound(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            for i in T.thread_binding(8, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi = T.axis.spatial(8, i)
                    B[vi] = A[vi]

    scheduled = schedule(Module)
    assert axes_of_nests(scheduled, "shared") == [{"blockIdx.x": 1, "threadIdx.x": 1024}]
    assert axes_of_nests(scheduled, "bound") == [{"threadIdx.x": 8}]


def test_symbolic_sizes() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n, 4), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i, k in T.grid(n, 4):
                with T.sblock("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] += A[vi, vk]

    scheduled = schedule(Module)
    a = np.random.default_rng(2).random((1030, 4), dtype="float32")
    b = relax_mlir.runtime.empty((1030,), "float32")
    relax_mlir.build(scheduled, "llvm")(relax_mlir.runtime.tensor(a), b)
    np.testing.assert_allclose(b.numpy(), a.sum(1), rtol=1e-6)


def test_the_pass_says_what_it_lacks() -> None:
    mod = IRModule({})
    rule: Any = dlight.gpu.Fallback  # the class in place of a rule
    with pytest.raises(TypeError, match="ScheduleRules, not ABCMeta"):
        dlight.ApplyDefaultSchedule(rule)
    assert len(schedule(mod)) == 0

    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        A[0] = T.float32(0)

    with pytest.raises(PassError, match="no target"):
        dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(IRModule({"main": main}))


def test_names_of_other_versions() -> None:
    from relax_mlir.s_tir import dlight as today
    from relax_mlir.s_tir.dlight.gpu import Fallback

    assert today is dlight and Fallback is dlight.gpu.Fallback


def test_the_default_pipeline_of_a_gpu_schedules() -> None:
    from relax_mlir import relax
    from relax_mlir.script import relax as R

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 70), "float32")) -> R.Tensor((4, 70), "float32"):
            y = R.nn.softmax(x)
            return R.add(y, y)

    target = Target("cuda")
    with target:
        scheduled = relax.get_default_pipeline(target)(Module)
        assert relax.get_default_pipeline().info.name == "default_gpu"
    assert relax.get_default_pipeline("llvm").info.name == "default_build"
    kernels = [v.name_hint for v in scheduled.get_global_vars() if v.name_hint != "main"]
    assert kernels and all("blockIdx.x" in axes_of_nests(scheduled, k)[0] for k in kernels)
    x = np.random.default_rng(3).random((4, 70), dtype="float32")
    device = relax_mlir.device("cuda-emu")
    built = relax_mlir.compile(scheduled, target, relax_pipeline=None)
    out = relax.VirtualMachine(built, device)["main"](relax_mlir.runtime.tensor(x, device))
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), 2 * e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("shape", [(2, 512, 512), (12, 128, 128), (512, 12, 64), (3, 5, 7)])
def test_sums_are_spread_where_splits_do_not_divide_each_other(shape: tuple[int, ...]) -> None:
    """No sum is left to one thread, however the loops that were fused come apart: at places that
    divide the number of threads (a power of two), or not."""

    @T.prim_func
    def main(A: T.Buffer((*shape, 4), "float32"), C: T.Buffer(shape, "float32")):
        for i, j, k, r in T.grid(*shape, 4):
            with T.block("C"):
                vi, vj, vk, vr = T.axis.remap("SSSR", [i, j, k, r])
                with T.init():
                    C[vi, vj, vk] = T.float32(0)
                C[vi, vj, vk] += A[vi, vj, vk, vr]

    blocks = -(-int(np.prod(shape)) // 1024)
    (axes,) = axes_of_nests(schedule(IRModule({"main": main})))
    assert axes == {"blockIdx.x": blocks, "threadIdx.x": 1024}
