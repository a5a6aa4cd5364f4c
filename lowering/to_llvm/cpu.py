"""From vector, scf and memref to the llvm dialect on the CPU.

`cpu_pipeline` is the whole way as pipeline text, our passes and upstream's; `lower_to_llvm` runs it
on a module that is not part of a pipeline.
"""

from __future__ import annotations

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.lowering.to_llvm.arith_guard_division import ArithGuardDivision
from relax_mlir.lowering.to_llvm.assert_to_error import CfAssertToError
from relax_mlir.lowering.to_llvm.free_temporaries import FreeTemporaries
from relax_mlir.lowering.to_llvm.math_to_polynomials import MathToPolynomials
from relax_mlir.lowering.to_llvm.num_threads import ALL_CORES
from relax_mlir.lowering.to_llvm.omp_private_allocations import OmpPrivateAllocations

__all__ = ["CPU_PIPELINE", "cpu_pipeline", "lower_to_llvm"]

_OURS = (str(ArithGuardDivision()), str(MathToPolynomials()), str(FreeTemporaries()))
# On one core, so that the temporaries of a parallel loop are allocated once.
_ONE_AFTER_THE_OTHER = ("scf-parallel-for-to-nested-fors",)
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
    str(CfAssertToError()),
)
# What LLVM has an intrinsic for comes first: libm's fma and floor would be calls.
_TO_LLVM = (
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-vector-to-llvm",
    "convert-to-llvm",
)
_FINISH = ("reconcile-unrealized-casts",)


def _openmp(threads: int) -> tuple[str, ...]:
    """Parallel loops on the threads of LLVM's OpenMP runtime (symbols `__kmpc_*`).

    Canonicalization takes the allocation scopes away that the conversion leaves around loop bodies.
    """
    convert = "convert-scf-to-openmp"
    if threads != ALL_CORES:
        convert += f"{{num-threads={threads}}}"
    return convert, str(OmpPrivateAllocations()), "canonicalize"


def cpu_pipeline(num_threads: int = 1) -> str:
    """The way from vector, scf and memref to the llvm dialect, as pipeline text.

    num_threads: parallel loops run one iteration after the other (1), on so many threads, or on
    ALL_CORES.
    """
    serial = num_threads == 1
    steps = (
        *(_ONE_AFTER_THE_OTHER if serial else ()),
        *_OURS,
        *_CLEAN,
        *_NARROW_FLOATS,
        *(() if serial else _openmp(num_threads)),
        *_LOOPS_AND_MEMORY,
        *_TO_LLVM,
        *(() if serial else ("convert-openmp-to-llvm",)),
        *_FINISH,
    )
    return ",".join(steps)


CPU_PIPELINE = cpu_pipeline()
"""The pipeline for one core."""


def lower_to_llvm(state: ModuleState, num_threads: int = 1) -> None:
    """Lower a module without linalg, tir and relax operations to the llvm dialect, in place."""
    run(state, cpu_pipeline(num_threads))
