"""Layers of neural networks as tensor expressions (TVM's `topi.nn`)."""

from relax_mlir.topi.nn.activation import (
    gelu,
    gelu_tanh,
    leaky_relu,
    prelu,
    relu,
    relu6,
    selu,
    silu,
    softplus,
)
from relax_mlir.topi.nn.dense import batch_matmul, dense, flatten, matmul
from relax_mlir.topi.nn.norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from relax_mlir.topi.nn.pad import circular_pad, mirror_pad, pad, reflect_pad, replicate_pad
from relax_mlir.topi.nn.softmax import fast_softmax, log_softmax, softmax

__all__ = [
    "batch_matmul", "batch_norm", "circular_pad", "dense", "fast_softmax", "flatten", "gelu",
    "gelu_tanh", "group_norm", "instance_norm", "layer_norm", "leaky_relu", "log_softmax",
    "matmul", "mirror_pad", "pad", "prelu", "reflect_pad", "relu", "relu6", "replicate_pad",
    "rms_norm", "selu", "silu", "softmax", "softplus",
]  # fmt: skip
