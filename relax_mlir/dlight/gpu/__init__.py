"""Rules for GPUs."""

from relax_mlir.dlight.gpu.fallback import Fallback

__all__ = ["Fallback"]
