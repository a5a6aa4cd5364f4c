"""Imports every file of the dialect that declares operations, so that loading registers them."""

from relax_mlir.dialects.relax import (
    binary,
    create,
    datatype,
    index,
    linear_algebra,
    manipulate,
    nn,
    search,
    shape,
    sorting,
    statistical,
    structure,
    ternary,
    unary,
)

__all__ = [
    "binary",
    "create",
    "datatype",
    "index",
    "linear_algebra",
    "manipulate",
    "nn",
    "search",
    "shape",
    "sorting",
    "statistical",
    "structure",
    "ternary",
    "unary",
]
