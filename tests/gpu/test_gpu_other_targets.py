"""AMD's GPUs and SPIR-V, as far as text shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir import IRModule
from relax_mlir.lowering.to_rocdl.amdgcn import emit_amdgcn_objects
from relax_mlir.script import tir as T
from relax_mlir.target import Target
from relax_mlir.testing.assemblers import ToolMissing, validate_spirv
from relax_mlir.tir import PrimFunc
from tests.compat.test_dlight_oracle import functions
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.gpu_programs import plain_matmul, scheduled, shared_matmul, vector_add
from tests.gpu.test_gpu_memory import two_phases
from tests.gpu.test_gpu_reduction import bound_row_sum

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")

AMD = {"kind": "rocm", "mcpu": "gfx90a"}
# One of each default rule; the rest of the table differs in sizes.
CHOSEN = ["matmul", "conv2d", "gemv", "sum_inner", "sum_outer", "softmax", "layer_norm",
          "rms_norm", "transpose_odd", "take"]  # fmt: skip

cases: Callable[[], dict[str, PrimFunc]] = cache(functions)


def bound_matmul() -> IRModule:
    """A matmul with an element a thread, without shared memory."""
    sch = scheduled(plain_matmul(16, 16, 16))
    i, j, _ = sch.get_loops(sch.get_block("C"))
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    return sch.mod


def default_schedule(name: str) -> IRModule:
    return IRModule({"main": cases()[name].with_attr("global_symbol", "main")})


def source(module: Any, target: Any, fmt: str) -> str:
    return kernels(relax_mlir.build(module, target=target), fmt)


def validate(text: str) -> None:
    """Fails for a text that is no SPIR-V of OpenCL, skips where that cannot be told."""
    try:
        validate_spirv(text)
    except ToolMissing as missing:
        pytest.skip(str(missing))


def machine_code(module: Any, target: dict[str, str]) -> list[bytes]:
    """AMD's machine code of a program's kernels."""
    built = relax_mlir.build(module, target=target)
    with mlir.scope():
        return emit_amdgcn_objects(built.mod.code.device_code.state, target["mcpu"])


# -- AMD ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100"])
def test_amdgcn(arch: str) -> None:
    target = {"kind": "rocm", "mcpu": arch}
    for module, wanted in (
        (vector_add(), ("v_add_f32", "global_store")),
        (bound_matmul(), ("global_load",)),
        (shared_matmul(), ("s_barrier", "ds_read")),
    ):
        text = source(module, target, "asm")
        assert f"amdgcn-amd-amdhsa--{arch}" in text
        assert "main_kernel:" in text
        (code,) = machine_code(module, target)
        assert code[:4] == b"\x7fELF" and b"main_kernel" in code
        if arch == "gfx90a":
            assert all(part in text for part in wanted)


@pytest.mark.parametrize("name", CHOSEN)
def test_default_schedules_assemble_for_amd(name: str) -> None:
    text = source(default_schedule(name), AMD, "asm")
    (code,) = machine_code(default_schedule(name), AMD)
    assert code[:4] == b"\x7fELF"
    assert ("ds_" in text) == (name != "take")  # shared memory, or shuffles through it


# -- SPIR-V ------------------------------------------------------------------------------------


def test_spirv() -> None:
    for module in (vector_add(), bound_matmul()):
        text = source(module, "opencl", "spirv")
        assert "OpMemoryModel Physical64 OpenCL" in text
        assert "OpEntryPoint Kernel" in text
        assert "OpFMul" in text or "OpFAdd" in text or "fma" in text
        assert not re.search(r"\bWorkgroup\b", text)
        validate(text)


def test_spirv_of_shared_memory() -> None:
    text = source(shared_matmul(), "opencl", "spirv")
    # A step of the tiles waits twice, and what is stored and loaded lies in the group's memory.
    assert text.count("OpControlBarrier") == 2
    variables = [x for x in text.splitlines() if re.search(r"OpVariable .*\bWorkgroup\b", x)]
    assert len(variables) == 2
    validate(text)


@pytest.mark.parametrize("name", CHOSEN)
def test_default_schedules_are_spirv(name: str) -> None:
    text = source(default_schedule(name), "opencl", "spirv")
    assert ("OpControlBarrier" in text) == (name != "take")
    assert "GroupNonUniform" not in text  # no OpenCL device has to have shuffles
    validate(text)


def test_a_private_array_is_not_the_devices() -> None:
    """What a thread indexes by a value it loads cannot be registers."""

    @T.prim_func
    def main(I: T.Buffer((64, 4), "int32"), O: T.Buffer((64, 4), "float32")):
        for t in T.thread_binding(64, "threadIdx.x"):
            table = T.alloc_buffer((8,), "float32", scope="local")
            for i in range(8):
                table[i] = T.cast(I[t, i % 4] * 3 + i, "float32")
            for j in range(4):
                O[t, j] = table[I[t, j] % 8]

    text = source(main, "opencl", "spirv")
    variables = [line.split()[-1] for line in text.splitlines() if "OpVariable" in line]
    assert sorted(variables) == ["Function", "Input"]
    validate(text)


def test_no_device_of_opencl_has_tensor_cores() -> None:
    from tests.gpu.test_gpu_tensor_cores import wmma

    with pytest.raises(Error):
        source(wmma(False), "opencl", "spirv")


def test_text_that_is_no_spirv_is_refused() -> None:
    text = source(vector_add(), "opencl", "spirv")
    validate(text)
    with pytest.raises(Error, match="spirv-val refuses"):
        validate(text.replace("OpCapability Int64\n", ""))


# -- on the emulator ---------------------------------------------------------------------------


def test_kernels_of_other_targets_run_on_the_emulator() -> None:
    a, b = (np.random.default_rng(0).standard_normal((16, 16)).astype("f") for _ in range(2))
    c = np.zeros((16, 16), "f")
    run_emulated(bound_matmul(), a, b, c, target=Target("rocm"))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads", [32, 128])
def test_reductions_without_shuffles(threads: int) -> None:
    """The same program, by a tree in shared memory."""
    x = np.random.default_rng(1).standard_normal((2, 2 * threads)).astype("f")
    out = np.zeros(2, "f")
    built = run_emulated(bound_row_sum(2, 2 * threads, threads), x, out, target="opencl")
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)
    assert "shuffle" not in kernels(built) and "gpu.barrier" in kernels(built)


def test_dynamic_shared_memory_is_static_where_launches_give_no_size() -> None:
    module = two_phases(256, "shared.dyn")
    assert "dynamic_shared_memory" in source(module, "cuda", "mlir")
    x, y = np.arange(256, dtype="f"), np.zeros(256, "f")
    expected = np.zeros(256, "f")
    run_emulated(module, x.copy(), expected, target="cuda")
    built = run_emulated(module, x, y, target="opencl")
    assert "dynamic_shared_memory" not in kernels(built)
    np.testing.assert_array_equal(y, expected)
    validate(kernels(built, "spirv"))
