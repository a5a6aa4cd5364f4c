"""Converters for the layers of `torch.nn` that a traced graph calls as modules."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.torch import ops_conv, ops_index, ops_linalg, ops_norm
from relax_mlir.relax.frontend.torch.importer import Converter, Importer
from relax_mlir.relax.frontend.torch.tables import CONVERTERS


def _weights(imp: Importer, layer: Any, *names: str) -> list[Any]:
    """The layer's weights of these names; None where it has none."""
    tensors = (getattr(layer, name, None) for name in names)
    return [None if tensor is None else imp.parameter(tensor) for tensor in tensors]


def _linear(imp: Importer, layer: Any, x: Any) -> Any:
    return ops_linalg.linear(imp, x, *_weights(imp, layer, "weight", "bias"))


def _layer_norm(imp: Importer, layer: Any, x: Any) -> Any:
    weights = _weights(imp, layer, "weight", "bias")
    return ops_norm.layer_norm(imp, x, layer.normalized_shape, *weights, eps=layer.eps)


def _rms_norm(imp: Importer, layer: Any, x: Any) -> Any:
    weights = _weights(imp, layer, "weight")
    return ops_norm.rms_norm(imp, x, layer.normalized_shape, *weights, eps=layer.eps)


def _group_norm(imp: Importer, layer: Any, x: Any) -> Any:
    weights = _weights(imp, layer, "weight", "bias")
    return ops_norm.group_norm(imp, x, layer.num_groups, *weights, layer.eps)


def _batch_norm(imp: Importer, layer: Any, x: Any) -> Any:
    weights = _weights(imp, layer, "weight", "bias", "running_mean", "running_var")
    training = layer.training or layer.running_mean is None
    return ops_norm.batch_norm(imp, x, *weights, training, layer.momentum or 0.1, layer.eps)


def _instance_norm(imp: Importer, layer: Any, x: Any) -> Any:
    weights = _weights(imp, layer, "weight", "bias", "running_mean", "running_var")
    own = layer.training or layer.running_mean is None
    return ops_norm.instance_norm(imp, x, *weights, own, layer.momentum, layer.eps)


def _embedding(imp: Importer, layer: Any, x: Any) -> Any:
    return ops_index.embedding(imp, imp.parameter(layer.weight), x)


def _convolution(imp: Importer, layer: Any, x: Any) -> Any:
    return ops_conv.convolution_nd(
        imp,
        x,
        *_weights(imp, layer, "weight", "bias"),
        stride=layer.stride,
        padding=layer.padding,
        dilation=layer.dilation,
        groups=layer.groups,
    )


def _transposed_convolution(imp: Importer, layer: Any, x: Any) -> Any:
    return ops_conv.transposed_convolution_nd(
        imp,
        x,
        *_weights(imp, layer, "weight", "bias"),
        stride=layer.stride,
        padding=layer.padding,
        output_padding=layer.output_padding,
        groups=layer.groups,
        dilation=layer.dilation,
    )


def _prelu(imp: Importer, layer: Any, x: Any) -> Any:
    return CONVERTERS["prelu"](imp, x, imp.parameter(layer.weight))


def _upsample(imp: Importer, layer: Any, x: Any) -> Any:
    return ops_conv.interpolate(
        imp, x, layer.size, layer.scale_factor, layer.mode, layer.align_corners
    )


def _plain(name: str, *attributes: str) -> Converter:
    """A layer without weights: a function of the input and of some of the layer's settings."""

    def convert(imp: Importer, layer: Any, *inputs: Any) -> Any:
        return CONVERTERS[name](imp, *inputs, *(getattr(layer, a) for a in attributes))

    return convert


_DIMENSIONS = (1, 2, 3)
_MAX_POOL = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
_AVG_POOL = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

MODULES: dict[str, Converter] = {
    "Linear": _linear,
    "LayerNorm": _layer_norm,
    "RMSNorm": _rms_norm,
    "GroupNorm": _group_norm,
    **{f"BatchNorm{n}d": _batch_norm for n in _DIMENSIONS},
    **{f"InstanceNorm{n}d": _instance_norm for n in _DIMENSIONS},
    "Embedding": _embedding,
    **{f"Conv{n}d": _convolution for n in _DIMENSIONS},
    **{f"ConvTranspose{n}d": _transposed_convolution for n in _DIMENSIONS},
    **{f"MaxPool{n}d": _plain(f"max_pool{n}d", *_MAX_POOL) for n in _DIMENSIONS},
    **{f"AvgPool{n}d": _plain(f"avg_pool{n}d", *_AVG_POOL) for n in _DIMENSIONS},
    **{
        f"AdaptiveAvgPool{n}d": _plain(f"adaptive_avg_pool{n}d", "output_size") for n in _DIMENSIONS
    },
    "Upsample": _upsample,
    "PReLU": _prelu,
    "ReLU": _plain("relu"),
    "ReLU6": _plain("relu6"),
    "SiLU": _plain("silu"),
    "SELU": _plain("selu"),
    "ELU": _plain("elu", "alpha"),
    "CELU": _plain("celu", "alpha"),
    "Mish": _plain("mish"),
    "Sigmoid": _plain("sigmoid"),
    "LogSigmoid": _plain("log_sigmoid"),
    "Softplus": _plain("softplus", "beta", "threshold"),
    "Softsign": _plain("softsign"),
    "Softshrink": _plain("softshrink", "lambd"),
    "Hardshrink": _plain("hardshrink", "lambd"),
    "Tanhshrink": _plain("tanhshrink"),
    "Threshold": _plain("threshold", "threshold", "value"),
    "Tanh": _plain("tanh"),
    "GLU": _plain("glu", "dim"),
    "GELU": _plain("gelu", "approximate"),
    "LeakyReLU": _plain("leaky_relu", "negative_slope"),
    "Hardtanh": _plain("hardtanh", "min_val", "max_val"),
    "Hardsigmoid": _plain("hardsigmoid"),
    "Hardswish": _plain("hardswish"),
    "Softmax": _plain("softmax", "dim"),
    "Softmin": _plain("softmin", "dim"),
    "LogSoftmax": _plain("log_softmax", "dim"),
    "Flatten": _plain("flatten", "start_dim", "end_dim"),
    "Unflatten": _plain("unflatten", "dim", "unflattened_size"),
    "PixelShuffle": _plain("pixel_shuffle", "upscale_factor"),
    "PixelUnshuffle": _plain("pixel_unshuffle", "downscale_factor"),
    **{f"ConstantPad{n}d": _plain("constant_pad_nd", "padding", "value") for n in _DIMENSIONS},
    **{f"ZeroPad{n}d": _plain("constant_pad_nd", "padding") for n in _DIMENSIONS},
    **{f"ReflectionPad{n}d": _plain(f"reflection_pad{n}d", "padding") for n in _DIMENSIONS},
    **{f"ReplicationPad{n}d": _plain(f"replication_pad{n}d", "padding") for n in _DIMENSIONS},
    "Identity": _plain("detach"),
    **{name: _plain("detach") for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d")},
}
"""By the class name of the layer."""
