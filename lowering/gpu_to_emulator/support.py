"""The runtime of the emulator as one module in the llvm dialect, compiled once a process."""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.async_copies import (
    ASYNC_COMMIT,
    ASYNC_COPY,
    ASYNC_WAIT,
    write_async_copies,
)
from relax_mlir.lowering.gpu_to_emulator.async_proxy import (
    CHECK_FENCED,
    FENCE,
    write_async_proxy,
)
from relax_mlir.lowering.gpu_to_emulator.check_access import CHECK_ACCESS, write_check_access
from relax_mlir.lowering.gpu_to_emulator.native import NativeModule
from relax_mlir.lowering.gpu_to_emulator.run_blocks import RUN_BLOCKS, write_run_blocks
from relax_mlir.mlir import ir

__all__ = ["EMULATOR_SYMBOLS", "RUN_BLOCKS", "emulator_module"]

EMULATOR_SYMBOLS = {
    CHECK_ACCESS: 5, ASYNC_COPY: 6, ASYNC_COMMIT: 1, ASYNC_WAIT: 2, FENCE: 1, CHECK_FENCED: 4,
}  # fmt: skip
"""What kernels call, with the number of arguments; all take and return 64-bit integers."""

_C_LIBRARY = (
    ("malloc", 1, True),
    ("free", 1, False),
    ("memset", 3, True),
    ("memcpy", 3, True),
    ("memcmp", 3, True),
)


def emulator_module() -> ir.Module:
    """A fresh module with the functions of EMULATOR_SYMBOLS and RUN_BLOCKS."""
    native = NativeModule(_C_LIBRARY)
    write_check_access(native)
    write_async_copies(native)
    write_async_proxy(native)
    write_run_blocks(native)
    return native.lower()
