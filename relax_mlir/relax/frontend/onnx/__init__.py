"""Importer for ONNX models."""

from relax_mlir.relax.frontend.onnx.model import from_onnx
from relax_mlir.relax.frontend.onnx.values import (
    ConstantNeededError,
    OnnxError,
    UnsupportedDtypeError,
    UnsupportedOnnxOperatorError,
)

__all__ = [
    "ConstantNeededError",
    "OnnxError",
    "UnsupportedDtypeError",
    "UnsupportedOnnxOperatorError",
    "from_onnx",
]
