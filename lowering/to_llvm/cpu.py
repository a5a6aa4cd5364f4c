"""From vector, scf and memref to the llvm dialect on the CPU.

`cpu_pipeline` is the whole way as pipeline text, our passes and upstream's; `lower_to_llvm` runs it
on a module that is not part of a pipeline.
"""

from __future__ import annotations

from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.to_llvm.arith_guard_division import ArithGuardDivision
from relax_mlir.lowering.to_llvm.free_temporaries import FreeTemporaries
from relax_mlir.lowering.to_llvm.math_to_polynomials import MathToPolynomials
from relax_mlir.mlir import PassManager

__all__ = ["CPU_PIPELINE", "OURS", "cpu_pipeline", "lower_to_llvm", "upstream_passes"]

OURS = (ArithGuardDivision(), MathToPolynomials(), FreeTemporaries())
"""The passes of ours that come first."""

_CLEAN = ("cse", "loop-invariant-code-motion")
# bf16 and f16 arithmetic is done in f32 and rounded after every operation, as numpy does it.
_NARROW_FLOATS = (
    "math-extend-to-supported-types",
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}",
)
# Canonicalization takes the allocation scopes away that the conversion leaves around loop bodies.
_OPENMP = ("convert-scf-to-openmp", "canonicalize")
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
)
_FINISH = ("reconcile-unrealized-casts",)


def upstream_passes(num_cores: int = 1) -> str:
    """Upstream's passes that follow ours, as pipeline text.  With more than one core, parallel
    loops run on the threads of LLVM's OpenMP runtime (symbols `__kmpc_*`), else one after the
    other."""
    threads = _OPENMP if num_cores > 1 else ()
    finish = ("convert-openmp-to-llvm", *_FINISH) if num_cores > 1 else _FINISH
    steps = (*_CLEAN, *_NARROW_FLOATS, *threads, *_LOOPS_AND_MEMORY, *_TO_LLVM, *finish)
    return ",".join(steps)


def cpu_pipeline(num_cores: int = 1) -> str:
    """The way from vector, scf and memref to the llvm dialect, as pipeline text."""
    return ",".join((*(str(step) for step in OURS), upstream_passes(num_cores)))


CPU_PIPELINE = cpu_pipeline()
"""The pipeline for one core."""


def lower_to_llvm(state: ModuleState, num_cores: int = 1) -> None:
    """Lower a module without linalg, tir and relax operations to the llvm dialect, in place."""
    with state.module.context:
        for step in OURS:
            step.run(state)
        text = f"builtin.module({upstream_passes(num_cores)})"
        PassManager.parse(text).run(state.module.operation)
