"""SPIR-V of kernels, as OpenCL takes it, by LLVM's SPIR-V back end."""

from __future__ import annotations

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.lowering.tir_to_gpu.buffers import WORKGROUP
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules
from relax_mlir.lowering.to_nvvm.math_to_intrinsics import MathToIntrinsics
from relax_mlir.lowering.to_nvvm.nvvm import (
    TO_CONTROL_FLOW,
    expand_math,
    refuse_leftovers,
    split_kernels,
)
from relax_mlir.lowering.to_nvvm.ptx import assembly, llvm_binding
from relax_mlir.mlir import ir

__all__ = ["emit_spirv"]

_TRIPLE = "spirv64-unknown-unknown"
_GLOBAL = "!llvm.ptr<1>"


def emit_spirv(state: ModuleState) -> str:
    """The text of SPIR-V of all kernels of a module, which stays as it is.

    Raises CompileError when llvmlite is missing, or a kernel uses shared memory or tensor cores.
    """
    kernels = split_kernels(state)
    if WORKGROUP in kernels.module.operation.get_asm():
        raise CompileError(
            "kernels with shared memory are not translated to SPIR-V",
            hint="use schedules that keep tiles in scope 'local'",
        )
    expand_math(kernels)
    run(kernels, f"gpu.module({TO_CONTROL_FLOW})")
    kernels = _with_global_pointers(kernels)
    after = ",".join(
        (
            "convert-math-to-llvm",
            "convert-vector-to-llvm",
            "convert-gpu-to-llvm-spv{use-64bit-index=true}",
            "convert-to-llvm",
            "canonicalize",
            "cse",
            "reconcile-unrealized-casts",
        )
    )
    run(kernels, f"convert-cf-to-llvm,{MathToIntrinsics()},gpu.module({after})")
    texts: list[str] = []
    for module in kernel_modules(kernels):
        refuse_leftovers(module, ("llvm.",))
        machine = llvm_binding().Target.from_triple(_TRIPLE).create_target_machine(opt=2)
        texts.append(assembly(module, machine, _TRIPLE))
    return "".join(texts)


def _with_global_pointers(state: ModuleState) -> ModuleState:
    """The kernels with arguments that point to the device's memory by their type, as OpenCL's do:
    all pointers there are at this stage."""
    text = state.module.operation.get_asm()
    text = text.replace("!llvm.ptr", _GLOBAL).replace(
        "struct<(ptr, ptr,", "struct<(ptr<1>, ptr<1>,"
    )
    return ModuleState(ir.Module.parse(text), {}, state.target)
