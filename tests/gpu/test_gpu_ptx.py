"""Programs bound to threads become PTX that assembles."""

from __future__ import annotations

import pytest

import relax_mlir
from relax_mlir.errors import Error
from relax_mlir.ir import IRModule
from tests.gpu.gpu_programs import plain_matmul, shared_matmul, vector_add
from tests.gpu.ptxas import ARCHS, assemble

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")


def ptx(module, arch="sm_80"):
    built = relax_mlir.build(module, target={"kind": "cuda", "arch": arch})
    return built.imports[0].inspect_source("ptx")


@pytest.mark.parametrize("arch", ARCHS)
def test_matmul_assembles(arch):
    used = assemble(ptx(shared_matmul(), arch), arch)["main_kernel"]
    assert used.spills == 0
    assert used.shared == 2 * 16 * 16 * 4


@pytest.mark.parametrize(
    "arch",
    [*(f"sm_{n}" for n in (50, 53, 61, 70, 72, 75, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)),
     "sm_90a", "sm_100f", "sm_120a"],
)  # fmt: skip
def test_every_architecture_has_its_ptx(arch):
    assert f".target {arch}" in ptx(vector_add(), arch)


@pytest.mark.parametrize("arch", ["sm_77", "sm_130", "sm_86a", "sm_", "80", "sm_90b"])
def test_unknown_architectures_are_refused(arch):
    with pytest.raises(Error, match=f"'{arch}' is no architecture of NVIDIA's GPUs"):
        ptx(vector_add(), arch)


def test_vector_add_assembles():
    text = ptx(vector_add())
    assert ".maxntid 128, 1, 1" in text
    assert assemble(text, "sm_80")["main_kernel"].spills == 0


def test_matmul_waits_twice_a_step():
    text = relax_mlir.build(shared_matmul(), target="cuda").mod.imports[0].inspect_source("mlir")
    assert text.count("gpu.barrier") == 2


def test_sources():
    kernels = relax_mlir.build(vector_add(), target="cuda").mod.imports[0]
    assert kernels.kind == "cuda"
    assert ".entry main_kernel" in kernels.inspect_source()
    assert "gpu.func @main_kernel" in kernels.inspect_source("mlir")
    with pytest.raises(Error, match="no format 'cu' here; there are mlir, ptx"):
        kernels.inspect_source("cu")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_default_matmul_keeps_its_tiles_in_registers(dtype):
    """No tile of a thread is an array in memory, whatever blocks are nested around its uses."""
    function = plain_matmul(1024, 1024, 1024, dtype, "float32")
    text = ptx(IRModule({"main": function}))
    used = assemble(text, "sm_80")["main_kernel"]
    assert (used.spills, used.stack) == (0, 0)
    assert ("mma.sync" in text) == (dtype == "float16")
    assert "cp.async" in text  # the next slice comes meanwhile
