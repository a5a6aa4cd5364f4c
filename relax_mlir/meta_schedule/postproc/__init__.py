"""Postprocessors of schedules."""

from relax_mlir.meta_schedule.postproc.checks import DisallowDynamicLoop, VerifyGPUCode
from relax_mlir.meta_schedule.postproc.gpu_rewrites import (
    RewriteCooperativeFetch,
    RewriteUnboundBlock,
)
from relax_mlir.meta_schedule.postproc.postproc import Postproc, PyPostproc
from relax_mlir.meta_schedule.postproc.rewrite_parallel_vectorize_unroll import (
    RewriteParallelVectorizeUnroll,
)
from relax_mlir.meta_schedule.postproc.rewrite_reduction_block import RewriteReductionBlock

__all__ = [
    "DisallowDynamicLoop",
    "Postproc",
    "PyPostproc",
    "RewriteCooperativeFetch",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
    "RewriteUnboundBlock",
    "VerifyGPUCode",
    "create",
]

create = Postproc.create
