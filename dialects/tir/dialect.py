"""The tir dialect object: TensorIR as loops, blocks and buffers (DESIGN.md, decision 4)."""

from relax_mlir.dialects.declared import declared
from relax_mlir.mlir import ext


class Tir(ext.Dialect, name="tir"):
    """Loop-level programs on memrefs; scalar code inside is arith, math, memref and affine."""


declared(Tir.Operation)
