"""From vector, scf and memref to the llvm dialect on the CPU.

`CPU_PIPELINE` is the text of the passes; `lower_to_llvm` runs them on a module.
"""

from __future__ import annotations

from relax_mlir.mlir import PassManager, ir

__all__ = ["CPU_PIPELINE", "lower_to_llvm"]

_CLEAN = ("cse", "loop-invariant-code-motion")
# bf16 and f16 arithmetic is done in f32 and rounded after every operation, as numpy does it.
_NARROW_FLOATS = (
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}",
)
_LOOPS_AND_MEMORY = (
    "lower-affine",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
)
# What LLVM has an intrinsic for first: libm's fma and floor are calls.
_TO_LLVM = (
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-vector-to-llvm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
)

CPU_PIPELINE = "builtin.module(" + ",".join(
    (*_CLEAN, *_NARROW_FLOATS, *_LOOPS_AND_MEMORY, *_TO_LLVM)
) + ")"


def lower_to_llvm(module: ir.Module) -> None:
    """Lower a module without linalg, tir and relax operations to the llvm dialect, in place."""
    with module.context:
        PassManager.parse(CPU_PIPELINE).run(module.operation)
