"""Converters for factors of matrices and triangular systems."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.topi import linear_systems


def cholesky(operation: Operation) -> Any:
    lower = bool(operation.attr("lower", False))
    return operation.te(linear_systems.cholesky, operation.tensor(0), lower=lower)


def triangular_solve(operation: Operation) -> Any:
    """With real elements the adjoint is the transpose."""
    options = {name: bool(operation.attr(name)) for name in ("left_side", "lower", "unit_diagonal")}
    transposed = operation.attr("transpose_a") in ("TRANSPOSE", "ADJOINT")
    return operation.te(
        linear_systems.triangular_solve, *operation.tensors(), **options, transposed=transposed
    )


CONVERTERS: dict[str, Converter] = {
    "stablehlo.cholesky": cholesky,
    "stablehlo.triangular_solve": triangular_solve,
}
"""By operation; see `operation.Converter`."""
