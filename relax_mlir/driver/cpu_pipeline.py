"""The back half of the road on the CPU: from a legalized module to the llvm dialect."""

from __future__ import annotations

from collections.abc import Mapping

from relax_mlir.driver.asked_cores import asked_cores
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.pipeline import run, verify_stage
from relax_mlir.lowering.relax_to_host.relax_to_host import CONSTANT_TABLE
from relax_mlir.lowering.to_llvm.cpu import CPU_PIPELINE, cpu_pipeline
from relax_mlir.lowering.to_llvm.ffi_signature import argument_names, symbol_name
from relax_mlir.lowering.to_llvm.num_threads import has_parallel_loops, num_threads
from relax_mlir.mlir import ir
from relax_mlir.runtime.compiled_code import CompiledCode, FunctionInfo

__all__ = [
    "CPU_BUILD_PIPELINE",
    "HOST",
    "compiled_code",
    "exported_functions",
    "lower_to_machine_ir",
]

KERNELS = (
    "tir-check-bounds,tir-bool-to-byte,tir-lower-pointers,tir-to-linalg,tir-decompose-reduction,"
    "tir-plan-buffer-allocation,tir-compact-buffer-allocation,tir-to-scf,tir-lower-asserts,"
    "scf-promote-accumulators,tir-lower-calls,linalg-tile-image-chains,linalg-fuse-elementwise,"
    "linalg-to-vector,"
    "memref-check-allocations,memref-lift-temporaries"
)
HOST = "relax-lambda-lift,relax-resolve-closures,tir-make-packed-api,relax-to-host"
CPU_BUILD_PIPELINE = f"builtin.module({KERNELS},{HOST},{CPU_PIPELINE})"
"""The whole way for a module whose loops run on one core."""


def lower_to_machine_ir(
    state: ModuleState,
    *,
    opt_level: int = 2,
    num_cores: int | None = None,
    profile: bool = False,
) -> CompiledCode:
    """Lower a module of TensorIR functions and Relax functions that call them, in place.

    `opt_level` is LLVM's, for when the code is turned into machine code.  `num_cores` is how many
    threads parallel loops use; None leaves it to the target, the PassContext's `num-cores` and the
    environment (`num_threads`).  With `profile` host code tells how long each call takes.
    """
    functions = exported_functions(state)
    host = f"{HOST}{{profile=true}}" if profile else HOST
    run(state, f"builtin.module({KERNELS},{host})")
    verify_stage(state)
    threads = 1
    if has_parallel_loops(state.functions()):
        threads = num_threads(asked_cores(state.target) if num_cores is None else num_cores)
    run(state, f"builtin.module({cpu_pipeline(threads)})")
    verify_stage(state)
    return compiled_code(state, functions, opt_level)


def compiled_code(
    state: ModuleState, functions: Mapping[str, FunctionInfo], opt_level: int
) -> CompiledCode:
    """A module that was lowered to the llvm dialect, with the constants of its table."""
    attributes = state.module.operation.attributes
    table = list(ir.ArrayAttr(attributes[CONSTANT_TABLE])) if CONSTANT_TABLE in attributes else []
    keys = [ir.StringAttr(key).value for key in table]
    constants = [state.constants[key] for key in keys]
    return CompiledCode(
        module=state.module,
        functions=functions,
        constants=constants,
        opt_level=opt_level,
        constant_keys=keys,
    )


def exported_functions(state: ModuleState) -> dict[str, FunctionInfo]:
    """The public functions of a module, by name."""
    found: dict[str, FunctionInfo] = {}
    for op in state.functions():
        private = "sym_visibility" in op.attributes
        kind = next((k for k in ("tir", "relax") if f"{k}.attrs" in op.attributes), None)
        if kind is None or (
            private and ir.StringAttr(op.attributes["sym_visibility"]).value == "private"
        ):
            continue
        name = symbol_name(op)
        found[name] = FunctionInfo(name, kind, tuple(argument_names(op, f"{kind}.name")))
    return found
