"""Import PyTorch programs, run them and compare with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax.frontend.torch import from_exported_program
from relax_mlir.relax.frontend.torch.importer import to_numpy

TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-9, 1e-9)}
"""(relative, absolute) by dtype."""


class Together(torch.nn.Module):
    """Many small programs as one, each with its own arguments; all results in one tuple."""

    def __init__(self, functions: Sequence[Any], counts: Sequence[int]):
        super().__init__()
        self.functions = list(functions)
        self.layers = torch.nn.ModuleList(f for f in functions if isinstance(f, torch.nn.Module))
        self.counts = list(counts)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results: list[torch.Tensor] = []
        at = 0
        for function, count in zip(self.functions, self.counts, strict=True):
            results += flattened(function(*inputs[at : at + count]))
            at += count
        return tuple(results)


def flattened(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, Mapping) else value
    return [tensor for item in values if item is not None for tensor in flattened(item)]


def parts_beside(tensor: torch.Tensor) -> torch.Tensor:
    """A complex tensor as programs take and give it: its parts along one more axis."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def compiled(program: Any, **options: Any) -> Any:
    """The function `main` of an imported and compiled program."""
    module = from_exported_program(program, **options)
    executable = relax_mlir.compile(module, target="llvm")
    return relax.VirtualMachine(executable, relax_mlir.cpu())["main"]


def called(main: Any, inputs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    tensors = [relax_mlir.runtime.tensor(parts_beside(x).contiguous().numpy()) for x in inputs]
    result = main(*tensors)
    return [x.numpy() for x in (result if not hasattr(result, "numpy") else [result])]


def compare(
    name: str, got: np.ndarray, expected: torch.Tensor, tolerance: tuple[float, float] | None = None
) -> str:
    """What is wrong with a result; empty if nothing is."""
    expected = parts_beside(expected)
    wanted = to_numpy(expected)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{name}: {got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
    rtol, atol = tolerance or TOLERANCES.get(expected.dtype, (0, 0))
    if wanted.dtype.kind == "V":  # numpy knows no limits for ml_dtypes'
        got, wanted = got.astype("float32"), wanted.astype("float32")
    if np.allclose(got, wanted, rtol, atol, equal_nan=True):
        return ""
    return f"{name}: {got.reshape(-1)[:8]} for {wanted.reshape(-1)[:8]}"


def check_model(
    model: torch.nn.Module,
    inputs: Sequence[torch.Tensor],
    dynamic_shapes: Any = None,
    more_inputs: Sequence[Sequence[torch.Tensor]] = (),
    tolerance: tuple[float, float] = (1e-3, 1e-4),
) -> None:
    """Export, import, compile once; compare at the example and at more inputs."""
    model = model.eval()
    program = torch.export.export(model, tuple(inputs), dynamic_shapes=dynamic_shapes)
    main = compiled(program)
    for values in (inputs, *more_inputs):
        with torch.no_grad():
            expected = flattened(model(*values))
        got = called(main, values)
        assert len(got) == len(expected)
        pairs = enumerate(zip(got, expected, strict=True))
        wrong = [compare(f"output {i}", g, e, tolerance) for i, (g, e) in pairs]
        assert not any(wrong), "\n".join(filter(None, wrong))
