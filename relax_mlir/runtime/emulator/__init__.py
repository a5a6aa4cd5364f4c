"""An emulator of GPU kernels on the CPU, with checks: for learning and debugging without a GPU.

A kernel runs with the threads, blocks, barriers, shuffles and atomics that it has on a GPU, one
thread at a time, and every access of memory is checked: a data race, a missing or divergent
barrier, an access out of bounds, misaligned, or of memory that was never written is an
`EmulatorError` that names kernel, buffer, threads and the line of the program.

    with emulator.options(checks=True, order="random", seed=3):
        mod(a, b)
"""

from relax_mlir.runtime.emulator.kernel import EmulatedKernel, compile_kernels
from relax_mlir.runtime.emulator.options import EmulatorOptions, options
from relax_mlir.runtime.emulator.report import EmulatorError, MemoryAccess

__all__ = [
    "EmulatedKernel",
    "EmulatorError",
    "EmulatorOptions",
    "MemoryAccess",
    "compile_kernels",
    "options",
]
