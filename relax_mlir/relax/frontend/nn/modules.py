"""The layers of `nn`."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.nn import op
from relax_mlir.relax.frontend.nn.core import Module, Parameter, Tensor


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        return op.relu(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: Tensor) -> Tensor:
        return op.silu(x)


class GELU(Module):
    """The Gaussian error linear unit."""

    def forward(self, x: Tensor) -> Tensor:
        return op.gelu(x)


class Identity(Module):
    """Its argument, unchanged."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Linear(Module):
    """`x @ weight.T + bias`; the weight has shape (out_features, in_features).

    With `out_dtype` the product and the bias have that dtype.
    """

    def __init__(
        self,
        in_features: Any,
        out_features: Any,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ):
        self.in_features = in_features
        self.out_features = out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias

    def to(self, dtype: str | None = None) -> None:
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class LayerNorm(Module):
    """Layer normalisation over the last dimension."""

    def __init__(
        self,
        normalized_shape: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        dtype: str | None = None,
    ):
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Root-mean-square normalisation over the axes, then a weight and perhaps a bias."""

    def __init__(
        self,
        hidden_size: int,
        axes: int | list[int],
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ):
        self.epsilon = epsilon
        self.axes = axes
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        out = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return out if self.bias is None else op.add(out, self.bias)


class GroupNorm(Module):
    """Normalisation over groups of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: str | None = None,
    ):
        self.num_groups = num_groups
        self.eps = eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: list[int] | None = None) -> Tensor:
        return op.group_norm(
            x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes
        )


class Embedding(Module):
    """Rows of a table by index; the weight has shape (num, dim)."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None):
        self.num = num
        self.dim = dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, [-1]), axis=0)
        return op.reshape(rows, [*x.shape, self.weight.shape[1]])


class _Convolution(Module):
    """Base of the convolutions: the weight has shape (out, in / groups, *kernel)."""

    spatial = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | list[int],
        stride: int = 1,
        padding: Any = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str | None = None,
    ):
        sizes = [kernel_size] * self.spatial if isinstance(kernel_size, int) else list(kernel_size)
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        self.data_layout = data_layout
        self.weight = Parameter((out_channels, in_channels // groups, *sizes), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        function = getattr(op, f"conv{self.spatial}d")
        extra = {} if self.data_layout is None else {"data_layout": self.data_layout}
        return function(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            **extra,
        )


class Conv1D(_Convolution):
    """Convolution over one dimension (NCW)."""

    spatial = 1


class Conv2D(_Convolution):
    """Convolution over two dimensions."""

    spatial = 2


class Conv3D(_Convolution):
    """Convolution over three dimensions."""

    spatial = 3
