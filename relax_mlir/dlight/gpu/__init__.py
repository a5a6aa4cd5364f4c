"""Rules for GPUs."""

from relax_mlir.dlight.gpu.fallback import Fallback
from relax_mlir.dlight.gpu.gemv import GEMV
from relax_mlir.dlight.gpu.general_reduction import GeneralReduction
from relax_mlir.dlight.gpu.low_batch_gemv import LowBatchGEMV
from relax_mlir.dlight.gpu.matmul import Matmul
from relax_mlir.dlight.gpu.reduction import Reduction
from relax_mlir.dlight.gpu.reduction_chain import ReductionChain
from relax_mlir.dlight.gpu.rmsnorm import RMSNorm
from relax_mlir.dlight.gpu.transpose import Transpose

RULES = (
    Matmul(), GEMV(), LowBatchGEMV(), Reduction(), GeneralReduction(), RMSNorm(), Transpose(),
    ReductionChain(), Fallback(),
)  # fmt: skip
"""The rules in the order in which they are tried; the last one accepts every function."""

__all__ = [
    "GEMV",
    "RULES",
    "Fallback",
    "GeneralReduction",
    "LowBatchGEMV",
    "Matmul",
    "RMSNorm",
    "Reduction",
    "ReductionChain",
    "Transpose",
]
