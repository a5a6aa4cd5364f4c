"""Importer for ONNX models."""

from relax_mlir.relax.frontend.onnx.model import from_onnx
from relax_mlir.relax.frontend.onnx.values import (
    ConstantNeededError,
    OnnxError,
    UnsupportedOnnxOperatorError,
)

__all__ = ["ConstantNeededError", "OnnxError", "UnsupportedOnnxOperatorError", "from_onnx"]
