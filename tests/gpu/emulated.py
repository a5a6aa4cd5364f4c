"""Running compiled programs on the emulated GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import relax_mlir
from relax_mlir.runtime.emulator import options

OTHER_ORDERS = ("reverse", "random")


def run_emulated(module: Any, *arrays: np.ndarray, target: Any = "cuda", **chosen: Any) -> Any:
    """Compile a program, run its entry function on copies of the arrays on the emulated GPU, and
    copy them back; the compiled program.  `chosen` are the emulator's options.

    Unless they fix an order of threads, the result must be the same in other orders."""
    built = relax_mlir.build(module, target=target)
    results = [_run(built, arrays, chosen)]
    if "order" not in chosen:
        results += [_run(built, arrays, {**chosen, "order": o, "seed": 7}) for o in OTHER_ORDERS]
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            one, two = (np.asarray(v, np.float64) for v in (one, two))
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)  # of atomic sums
    for array, result in zip(arrays, results[0], strict=True):
        array[...] = result
    return built


def _run(built: Any, arrays: Sequence[np.ndarray], chosen: dict[str, Any]) -> list[np.ndarray]:
    device = relax_mlir.device("cuda-emu")
    tensors = [relax_mlir.runtime.tensor(array, device) for array in arrays]
    with options(**chosen):
        built(*tensors)
    return [tensor.numpy() for tensor in tensors]


def kernels(built: Any, fmt: str = "mlir") -> str:
    """The source of a compiled program's kernels."""
    return built.imports[0].inspect_source(fmt)
