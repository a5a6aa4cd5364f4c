"""Rules for CPUs."""

from relax_mlir.dlight.cpu.gemv import GEMV
from relax_mlir.dlight.cpu.reduction import Reduction

__all__ = ["GEMV", "Reduction"]
