"""Runs StableHLO programs here and in StableHLO's reference interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import relax_mlir
from relax_mlir import mlir, relax
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax.constants import dense_array, dense_attribute
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.stablehlo import from_stablehlo
from relax_mlir.relax.frontend.stablehlo.program import parse


def tensor_type(array: np.ndarray) -> str:
    """An array's type in the text of a program."""
    with mlir.scope():
        element = dtypes.to_mlir(array.dtype.name)
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{element}>"


def program(arguments: Sequence[np.ndarray], body: str, results: Sequence[str]) -> str:
    """A program of one function: `body` computes %0, %1 ... of the types `results`.

    In the body `$a` stands for the type of the first argument, `$b` for the second's, and so on.
    """
    types = [tensor_type(array) for array in arguments]
    for letter, kind in zip("abcdefgh", types, strict=False):
        body = body.replace(f"${letter}", kind)
    formal = ", ".join(
        f"%{letter}: {kind}" for letter, kind in zip("abcdefgh", types, strict=False)
    )
    values = ", ".join(f"%r{i}" for i in range(len(results)))
    kinds = ", ".join(results)
    return f"func.func @main({formal}) -> ({kinds}) {{\n{body}\nfunc.return {values} : {kinds}\n}}"


def run(text: Any, *arguments: np.ndarray, input_info: Any = None) -> list[np.ndarray]:
    """What the imported program gives."""
    module = from_stablehlo(text, input_info)
    machine = relax.VirtualMachine(relax_mlir.compile(module), relax_mlir.cpu())
    result = machine["main"](*arguments)
    return [result.numpy()] if hasattr(result, "numpy") else [field.numpy() for field in result]


def interpreted(text: Any, *arguments: np.ndarray) -> list[np.ndarray]:
    """What StableHLO's reference interpreter gives."""
    library, context = mlir.stablehlo(), mlir.stablehlo_context()
    library.register_interpreter_dialect(context)
    module = parse(text)
    with context, ir.Location.unknown(context):
        given = [dense_attribute(np.asarray(argument)) for argument in arguments]
        return [dense_array(result) for result in library.eval_module(module, given)]


def check(text: Any, *arguments: np.ndarray, tolerance: float = 2e-6) -> list[np.ndarray]:
    """Compares both; returns our results."""
    results, expected = run(text, *arguments), interpreted(text, *arguments)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype and result.shape == wanted.shape
        if wanted.dtype.kind in "biu":
            np.testing.assert_array_equal(result, wanted)
        else:
            np.testing.assert_allclose(
                *(a.astype("float64") for a in (result, wanted)), rtol=tolerance, atol=tolerance
            )
    return results
