"""Running a module at compile time."""

from __future__ import annotations

import numpy as np

from relax_mlir.driver import compile as compile_module
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.relax.vm import VirtualMachine
from relax_mlir.runtime import cpu
from relax_mlir.target import Target


def evaluate_main(state: ModuleState, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Compile a legalized module for this CPU, whatever the target of the program, and run its
    `main`, which returns a tuple of tensors."""
    state.target = None
    current = Target.current()
    target = current if current is not None and current.device_type == "cpu" else "llvm"
    executable = compile_module(IRModule.from_state(state), target, relax_pipeline=None)
    outputs = VirtualMachine(executable, cpu())["main"](*arguments)
    return [output.numpy() for output in outputs]
