"""Imports every file of the dialect that declares operations, so that loading registers them."""

from relax_mlir.dialects.tir import blocks, buffers, calls, loops, pointers, scopes

__all__ = ["blocks", "buffers", "calls", "loops", "pointers", "scopes"]
