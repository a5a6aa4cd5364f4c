"""Programs from elsewhere: PyTorch (`torch`), ONNX (`onnx`), and modules written here (`nn`)."""

from relax_mlir.relax.frontend.common import attach_params, detach_params

__all__ = ["attach_params", "detach_params"]
