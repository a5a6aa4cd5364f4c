"""Imports every file of the dialect that declares operations, so that loading registers them."""

from relax_mlir.dialects.relax import binary, structure, unary

__all__ = ["binary", "structure", "unary"]
