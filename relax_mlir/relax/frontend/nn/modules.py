"""The layers of `nn`."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.nn import op
from relax_mlir.relax.frontend.nn.containers import ModuleList
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


class ConvTranspose1D(Module):
    """Transposed convolution over one dimension; the weight is (in, out / groups, size)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ):
        self.stride = stride
        self.padding = padding
        self.output_padding = output_padding
        self.dilation = dilation
        self.groups = groups
        self.weight = Parameter((in_channels, out_channels // groups, kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return op.conv1d_transpose(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.dilation,
            self.groups,
        )


class TimestepEmbedding(Module):
    """Two linear layers behind the embedding of timesteps (HF diffusers' module of that name)."""

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ):
        if act_fn != "silu" or post_act_fn not in (None, "silu"):
            raise ValueError("TimestepEmbedding knows no activation but 'silu'")
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = None
        if cond_proj_dim is not None:
            self.cond_proj = Linear(cond_proj_dim, in_channels, bias=False)
        self.act = SiLU()
        self.linear_2 = Linear(time_embed_dim, out_dim or time_embed_dim)
        self.post_act = None if post_act_fn is None else SiLU()

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        if condition is not None:
            if self.cond_proj is None:
                raise ValueError("a condition needs cond_proj_dim")
            sample = sample + self.cond_proj(condition)
        out = self.linear_2(self.act(self.linear_1(sample)))
        return out if self.post_act is None else self.post_act(out)


class Timesteps(Module):
    """The embedding of timesteps by sines and cosines."""

    def __init__(
        self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1
    ):
        self.num_channels = num_channels
        self.flip_sin_to_cos = flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        return op.get_timestep_embedding(
            x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift
        )


class Attention(Module):
    """Attention of several heads, of a sequence to itself or to `encoder_hidden_states`."""

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ):
        inner = dim_head * heads
        source = cross_attention_dim or query_dim
        self.heads = heads
        self.dim_head = dim_head
        self.scale = dim_head**-0.5 if scale_qk else 1.0
        self.to_q = Linear(query_dim, inner, bias=bias)
        self.to_k = Linear(source, inner, bias=bias)
        self.to_v = Linear(source, inner, bias=bias)
        self.group_norm = None
        if norm_num_groups is not None:
            self.group_norm = GroupNorm(norm_num_groups, query_dim)
        self.to_out = ModuleList([Linear(inner, query_dim, bias=out_bias)])

    def forward(
        self,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        source = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        query, key, value = (
            op.reshape(project(x), [x.shape[0], x.shape[1], self.heads, self.dim_head])
            for project, x in (
                (self.to_q, hidden_states),
                (self.to_k, source),
                (self.to_v, source),
            )
        )
        mixed = op.scaled_dot_product_attention(query, key, value, attention_mask, scale=self.scale)
        batch, length = hidden_states.shape[:2]
        joined = op.reshape(mixed, [batch, length, self.heads * self.dim_head])
        return self.to_out[0](joined)
