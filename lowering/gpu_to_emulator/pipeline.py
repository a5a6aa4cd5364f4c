"""The way of a kernel to the emulator, as pipeline text."""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.gpu_to_emulator import GpuToEmulator
from relax_mlir.lowering.gpu_to_emulator.llvm_coroutines import LLVMCoroutines
from relax_mlir.lowering.to_llvm.cpu import CPU_PIPELINE

__all__ = ["emulator_pipeline"]


def emulator_pipeline(checks: bool) -> str:
    """From GPU modules to coroutines in the llvm dialect."""
    # Transfers of several dimensions become those of one, which the checks know.
    vectors = "gpu.module(gpu.func(convert-vector-to-scf))"
    return f"{vectors},{GpuToEmulator(checks)},{CPU_PIPELINE},{LLVMCoroutines()}"
