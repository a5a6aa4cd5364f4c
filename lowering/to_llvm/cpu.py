"""From vector, scf and memref to the llvm dialect on the CPU.

`CPU_PIPELINE` is the whole way as pipeline text, our passes and upstream's; `lower_to_llvm` runs it
on a module that is not part of a pipeline.
"""

from __future__ import annotations

from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.to_llvm.arith_guard_division import ArithGuardDivision
from relax_mlir.lowering.to_llvm.free_temporaries import FreeTemporaries
from relax_mlir.lowering.to_llvm.math_to_polynomials import MathToPolynomials
from relax_mlir.mlir import PassManager

__all__ = ["CPU_PIPELINE", "OURS", "UPSTREAM", "lower_to_llvm"]

OURS = (ArithGuardDivision(), MathToPolynomials(), FreeTemporaries())
"""The passes of ours that come first."""

_CLEAN = ("cse", "loop-invariant-code-motion")
# bf16 and f16 arithmetic is done in f32 and rounded after every operation, as numpy does it.
_NARROW_FLOATS = (
    "math-extend-to-supported-types",
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}",
)
_LOOPS_AND_MEMORY = (
    "lower-affine",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
)
# What LLVM has an intrinsic for comes first: libm's fma and floor would be calls.
_TO_LLVM = (
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-vector-to-llvm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
)

UPSTREAM = ",".join((*_CLEAN, *_NARROW_FLOATS, *_LOOPS_AND_MEMORY, *_TO_LLVM))
"""Upstream's passes that follow, as pipeline text."""

CPU_PIPELINE = ",".join((*(str(p) for p in OURS), UPSTREAM))


def lower_to_llvm(state: ModuleState) -> None:
    """Lower a module without linalg, tir and relax operations to the llvm dialect, in place."""
    with state.module.context:
        for step in OURS:
            step.run(state)
        PassManager.parse(f"builtin.module({UPSTREAM})").run(state.module.operation)
