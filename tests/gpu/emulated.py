"""Running compiled programs on the emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

import relax_mlir
from relax_mlir.runtime.emulator import options


def run_emulated(module: Any, *arrays: np.ndarray, target: Any = "cuda", **chosen: Any) -> Any:
    """Compile a program, run its entry function on copies of the arrays on the emulated GPU, and
    copy them back; the compiled program.  `chosen` are the emulator's options."""
    built = relax_mlir.build(module, target=target)
    device = relax_mlir.device("cuda-emu")
    tensors = [relax_mlir.runtime.tensor(array, device) for array in arrays]
    with options(**chosen):
        built(*tensors)
    for array, tensor in zip(arrays, tensors, strict=True):
        array[...] = tensor.numpy()
    return built


def kernels(built: Any, fmt: str = "mlir") -> str:
    """The source of a compiled program's kernels."""
    return built.imports[0].inspect_source(fmt)
