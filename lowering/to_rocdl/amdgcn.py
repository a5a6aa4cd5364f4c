"""Assembly of kernels for AMD's GPUs, by LLVM's AMDGPU back end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules
from relax_mlir.lowering.to_nvvm.math_to_intrinsics import MathToIntrinsics
from relax_mlir.lowering.to_nvvm.nvvm import (
    TO_CONTROL_FLOW,
    expand_math,
    refuse_leftovers,
    split_kernels,
)
from relax_mlir.lowering.to_nvvm.ptx import assembly, llvm_binding, machine_code
from relax_mlir.mlir import ir

__all__ = ["DEFAULT_ARCH", "amd_arch", "emit_amdgcn", "emit_amdgcn_objects"]

DEFAULT_ARCH = "gfx90a"
_TRIPLE = "amdgcn-amd-amdhsa"


def amd_arch(target: Any) -> str:
    """The architecture of a ROCm target: its `mcpu`, gfx90a when it does not say."""
    attrs = getattr(target, "attrs", {})
    return str(attrs.get("mcpu", attrs.get("arch", DEFAULT_ARCH)))


def emit_amdgcn(state: ModuleState, arch: str = DEFAULT_ARCH) -> str:
    """Assembly of all kernels of a module, which stays as it is.

    Raises CompileError when llvmlite is missing, or a kernel uses what AMD's GPUs do not have
    (tensor cores, asynchronous copies).
    """
    return "".join(assembly(*lowered, _TRIPLE) for lowered in _lowered(state, arch))


def emit_amdgcn_objects(state: ModuleState, arch: str = DEFAULT_ARCH) -> list[bytes]:
    """Machine code of the kernel modules, an ELF object each, which AMD's linker (`ld.lld -shared`)
    makes code objects of.  Errors are those of `emit_amdgcn`."""
    return [machine_code(*lowered, _TRIPLE) for lowered in _lowered(state, arch)]


def _lowered(state: ModuleState, arch: str) -> Iterator[tuple[ir.Operation, Any]]:
    """The kernel modules in the llvm dialect, with the machine that is to run them."""
    kernels = split_kernels(state)
    expand_math(kernels)
    after = ",".join(
        (
            "convert-math-to-llvm",
            "convert-vector-to-llvm",
            f"convert-gpu-to-rocdl{{chipset={arch} runtime=HIP}}",
            "canonicalize",
            "cse",
            "reconcile-unrealized-casts",
        )
    )
    run(kernels, f"gpu.module({TO_CONTROL_FLOW}),{MathToIntrinsics()},gpu.module({after})")
    target = llvm_binding().Target.from_triple(_TRIPLE)
    for module in kernel_modules(kernels):
        refuse_leftovers(module, ("llvm.", "rocdl."))
        yield module, target.create_target_machine(cpu=arch, opt=3)
