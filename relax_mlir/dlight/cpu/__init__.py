"""Rules for CPUs."""

from relax_mlir.dlight.cpu.gemv import GEMV
from relax_mlir.dlight.cpu.reduction import Reduction

RULES = (GEMV(), Reduction())
"""The rules in the order in which they are tried."""

__all__ = ["GEMV", "RULES", "Reduction"]
