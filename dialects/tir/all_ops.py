"""Imports every file of the dialect that declares operations, so that loading registers them."""

from relax_mlir.dialects.tir import (
    blocks,
    buffers,
    calls,
    free_variables,
    loops,
    matrices,
    pointers,
    scopes,
)

__all__ = [
    "blocks", "buffers", "calls", "free_variables", "loops", "matrices", "pointers", "scopes",
]  # fmt: skip
