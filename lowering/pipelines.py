"""The named pipelines: each a name and the text of its passes, which `relax-opt` also takes as a
flag (`--relax-zero`)."""

from __future__ import annotations

from relax_mlir.errors import PassError

_PIPELINES: dict[str, str] = {
    # TVM's "zero" pipeline: operators to TensorIR functions, fused by their pattern.
    "relax-zero": (
        "relax-remove-vdevice,relax-legalize-ops,relax-annotate-tir-op-pattern,"
        "relax-fold-constant,"
        "relax-fuse-ops,relax-fuse-tir"
    ),
    # What compiling runs: nothing twice or in vain, code outside dataflow blocks fused too,
    # images with their channels last, what scales channels folded into weights, constant weights
    # laid out for the kernels, transposed operands of matmuls read in place, and attention and
    # chains of image operations in one kernel each.
    "relax-default": (
        "relax-remove-vdevice,relax-lambda-lift,relax-resolve-closures,"
        "relax-remove-redundant-reshape,relax-dead-code-elimination,"
        "relax-eliminate-common-subexpr,relax-convert-to-dataflow,"
        "relax-quantized-to-integer,relax-choose-layout,relax-fold-scale-axis,"
        "relax-convolution-to-matmul,"
        "relax-reorder-pool-before-matmul,relax-scale-matmul-weights,"
        "relax-transposed-convolution-to-convolution,relax-split-grouped-convolution,"
        "relax-transform-convolution-weights,"
        "relax-pack-constant-weights,relax-pack-narrow-weights,"
        "relax-fold-constant{moves-only=true},relax-zero,"
        "relax-fuse-transpose-matmul,relax-fuse-tir,"
        "relax-fuse-attention,relax-fuse-image-chains,relax-fuse-tir,"
        "relax-rewrite-dataflow-reshape"
    ),
    # The same for GPUs, whose kernels schedules make: no layouts and kernels of the CPU's.
    # Constants are folded by functions that the CPU runs.
    "relax-gpu-default": (
        "relax-remove-vdevice,relax-lambda-lift,relax-resolve-closures,"
        "relax-remove-redundant-reshape,relax-dead-code-elimination,"
        "relax-eliminate-common-subexpr,relax-convert-to-dataflow,"
        "relax-fold-constant,relax-legalize-ops{on-gpu=true},relax-annotate-tir-op-pattern,"
        "relax-fold-constant,relax-fuse-ops,relax-fuse-tir"
    ),
    # From thread-bound TensorIR to kernels with flat arguments and their launches.
    "tir-to-gpu": (
        "tir-check-bounds,tir-bool-to-byte,tir-lower-gpu-intrinsics,"
        "tir-lower-cross-thread-reduction,tir-lower-warp-memory,tir-lower-tensor-cores,"
        "tir-decompose-reduction,"
        "tir-plan-buffer-allocation,tir-unify-thread-binding,tir-inject-virtual-thread,"
        "tir-compact-buffer-allocation,tir-align-buffer-dims,tir-inject-software-pipeline,"
        "tir-to-gpu-launch,tir-to-scf,scf-promote-accumulators,gpu-async-copies,"
        "gpu-plan-shared-memory,gpu-insert-barriers,gpu-swizzle-shared-memory,"
        "gpu-outline-kernels,canonicalize,cse,"
        "gpu-align-vectors,gpu-flatten-kernel-arguments"
    ),
}


def register_pipeline(name: str, text: str) -> None:
    """File a pipeline under a name; raises PassError when the name is taken."""
    if name in _PIPELINES:
        raise PassError(f"pipeline '{name}' is registered already")
    _PIPELINES[name] = text


def find_pipeline(name: str) -> str | None:
    """The text of a named pipeline, or None."""
    return _PIPELINES.get(name)


def pipeline_names() -> list[str]:
    return sorted(_PIPELINES)
