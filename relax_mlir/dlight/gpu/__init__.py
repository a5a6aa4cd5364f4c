"""Rules for GPUs."""

from relax_mlir.dlight.gpu.fallback import Fallback
from relax_mlir.dlight.gpu.general_reduction import GeneralReduction
from relax_mlir.dlight.gpu.reduction import Reduction
from relax_mlir.dlight.gpu.rmsnorm import RMSNorm
from relax_mlir.dlight.gpu.transpose import Transpose

__all__ = ["Fallback", "GeneralReduction", "RMSNorm", "Reduction", "Transpose"]
