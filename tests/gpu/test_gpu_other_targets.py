"""AMD's GPUs and SPIR-V, as far as text shows."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.target import Target
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.gpu_programs import plain_matmul, scheduled, shared_matmul, vector_add

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")


def bound_matmul():
    """A matmul with an element a thread, without shared memory."""
    sch = scheduled(plain_matmul(16, 16, 16))
    i, j, _ = sch.get_loops(sch.get_block("C"))
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    return sch.mod


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100"])
def test_amdgcn(arch):
    target = {"kind": "rocm", "mcpu": arch}
    for module, wanted in (
        (vector_add(), ("v_add_f32", "global_store")),
        (bound_matmul(), ("global_load",)),
        (shared_matmul(), ("s_barrier", "ds_read")),
    ):
        text = kernels(relax_mlir.build(module, target=target), "asm")
        assert f"amdgcn-amd-amdhsa--{arch}" in text
        assert "main_kernel:" in text
        if arch == "gfx90a":
            assert all(part in text for part in wanted)


def test_spirv():
    for module in (vector_add(), bound_matmul()):
        text = kernels(relax_mlir.build(module, target="opencl"), "spirv")
        assert "OpMemoryModel Physical64 OpenCL" in text
        assert "OpEntryPoint Kernel" in text
        assert "OpFMul" in text or "OpFAdd" in text or "fma" in text
    with pytest.raises(CompileError, match="shared memory"):
        kernels(relax_mlir.build(shared_matmul(), target="opencl"), "spirv")


def test_kernels_of_other_targets_run_on_the_emulator():
    a, b = (np.random.default_rng(0).standard_normal((16, 16)).astype("f") for _ in range(2))
    c = np.zeros((16, 16), "f")
    run_emulated(bound_matmul(), a, b, c, target=Target("rocm"))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)
