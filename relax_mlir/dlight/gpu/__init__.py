"""Rules for GPUs."""

from relax_mlir.dlight.gpu.fallback import Fallback
from relax_mlir.dlight.gpu.reduction import Reduction

__all__ = ["Fallback", "Reduction"]
