"""The back half of the road on a GPU: kernels, and host code that launches them."""

from __future__ import annotations

from relax_mlir.driver.cpu_pipeline import HOST, compiled_code, exported_functions
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.lowering.tir_to_gpu.host_device import DEVICE_KERNELS
from relax_mlir.lowering.to_llvm.cpu import CPU_PIPELINE
from relax_mlir.lowering.to_nvvm.nvvm import split_kernels
from relax_mlir.mlir import ir
from relax_mlir.runtime.compiled_code import CompiledCode
from relax_mlir.runtime.device_code import DeviceCode

__all__ = ["GPU_HOST", "GPU_KERNELS", "lower_to_device_code"]

GPU_KERNELS = "tir-to-gpu"
GPU_HOST = f"gpu-launch-to-runtime,tir-lower-calls,memref-check-allocations,{HOST}"


def lower_to_device_code(state: ModuleState, *, opt_level: int = 2) -> CompiledCode:
    """Lower a module whose TensorIR functions are bound to threads, in place.

    The result has the host code, and in `device_code` the kernels as the device's own compiler
    takes them.  `opt_level` is LLVM's, for the host code.
    """
    functions = exported_functions(state)
    run(state, f"builtin.module({GPU_KERNELS})")
    kernels = split_kernels(state)
    run(state, f"builtin.module({GPU_HOST})")
    run(state, f"builtin.module({CPU_PIPELINE})")
    attributes = state.module.operation.attributes
    names = [ir.StringAttr(name).value for name in ir.ArrayAttr(attributes[DEVICE_KERNELS])]
    code = compiled_code(state, functions, opt_level)
    code.device_code = DeviceCode(kernels, names, state.target)
    return code
