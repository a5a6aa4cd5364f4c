"""The importer for StableHLO, which JAX (`jax.export`), PyTorch/XLA and TensorFlow write."""

from relax_mlir.relax.frontend.stablehlo.errors import (
    StablehloError,
    UnsupportedStablehloOperatorError,
)
from relax_mlir.relax.frontend.stablehlo.program import from_stablehlo

__all__ = ["StablehloError", "UnsupportedStablehloOperatorError", "from_stablehlo"]
