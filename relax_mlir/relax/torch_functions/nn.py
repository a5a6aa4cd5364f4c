"""Activations, normalisations, losses, attention and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from relax_mlir.relax.torch_functions.rearrange import axes_of

__all__ = ["NN"]

Axes = int | Sequence[int]


def _along(values: Tensor, axes: Sequence[int], ndim: int) -> Tensor:
    """A parameter of some dimensions, in a shape that broadcasts over all."""
    shape = [1] * ndim
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)


def _standardized(x: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    mean = x.mean(list(axes), keepdim=True)
    variance = x.var(list(axes), correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + epsilon)


def _scaled_and_shifted(
    x: Tensor, gamma: Tensor, beta: Tensor, axes: Axes, center: bool, scale: bool
) -> Tensor:
    """`x * gamma + beta`, as far as the operator has them, with parameters along `axes`."""
    over = axes_of(axes, x.ndim)
    x = x * _along(gamma, over, x.ndim) if scale else x
    return x + _along(beta, over, x.ndim) if center else x


def _layer_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, *, axes: Axes, epsilon: float, center: bool, scale: bool
) -> Tensor:
    even = _standardized(x, axes_of(axes, x.ndim), epsilon)
    return _scaled_and_shifted(even, gamma, beta, axes, center, scale)


def _rms_norm(x: Tensor, weight: Tensor, *, axes: Axes, epsilon: float) -> Tensor:
    over = axes_of(axes, x.ndim)
    wide = x.to(torch.float32) if x.itemsize < 4 else x
    size = torch.rsqrt(wide.square().mean(over, keepdim=True) + epsilon)
    return wide * size * _along(weight, over, x.ndim)


def _instance_norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    *,
    channel_axis: int,
    axes: Axes,
    epsilon: float,
    center: bool,
    scale: bool,
) -> Tensor:
    even = _standardized(x, axes_of(axes, x.ndim), epsilon)
    return _scaled_and_shifted(even, gamma, beta, channel_axis, center, scale)


def _group_norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    *,
    num_groups: int,
    channel_axis: int,
    axes: Axes,
    epsilon: float,
    center: bool,
    scale: bool,
) -> Tensor:
    (channel,) = axes_of(channel_axis, x.ndim)
    grouped = x.unflatten(channel, (num_groups, x.shape[channel] // num_groups))
    # Dimensions behind the channels move by one; each group's own channels are averaged over too.
    over = [a if a < channel else a + 1 for a in axes_of(axes, x.ndim)]
    even = _standardized(grouped, [channel + 1, *over], epsilon).reshape(x.shape)
    return _scaled_and_shifted(even, gamma, beta, channel_axis, center, scale)


def _batch_norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    *,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
    training: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """In training the batch's own statistics are used, and the moving ones follow them."""
    (channel,) = axes_of(axis, x.ndim)
    mean, variance = moving_mean, moving_var
    if training:
        rest = [a for a in range(x.ndim) if a != channel]
        mean, variance = x.mean(rest), x.var(rest, correction=0)
        moving_mean = (1 - momentum) * moving_mean + momentum * mean
        moving_var = (1 - momentum) * moving_var + momentum * variance
    middle, spread = (_along(values, [channel], x.ndim) for values in (mean, variance))
    even = (x - middle) / torch.sqrt(spread + epsilon)
    made = _scaled_and_shifted(even, gamma, beta, axis, center, scale)
    return made, moving_mean, moving_var


def _cross_entropy(predictions: Tensor, labels: Tensor) -> Tensor:
    total = -(predictions * labels).sum()
    return total / predictions.shape[0] if predictions.ndim > 1 else total


def _nll_loss(
    predictions: Tensor,
    targets: Tensor,
    weights: Tensor | None,
    *,
    reduction: str,
    ignore_index: int,
) -> Tensor:
    return F.nll_loss(
        predictions,
        targets.to(torch.int64),
        weights,
        ignore_index=ignore_index,
        reduction=reduction,
    )


PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "replicate",
             "edge": "replicate", "circular": "circular"}  # fmt: skip


def _pad(x: Tensor, *, pad_width: Sequence[int], pad_mode: str, pad_value: float) -> Tensor:
    """torch lists the last dimension first, and pads only inner ones but with constants."""
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    backward = [width for pair in reversed(pairs) for width in pair]
    if pad_mode == "constant":
        return F.pad(x, backward, value=pad_value)
    for axis, (before, after) in enumerate(pairs):
        rows = x.movedim(axis, -1)
        flat = rows.reshape(1, -1, rows.shape[-1])
        padded = F.pad(flat, [before, after], PAD_MODES[pad_mode])
        x = padded.reshape(*rows.shape[:-1], padded.shape[-1]).movedim(-1, axis)
    return x


def _seen(length: int, keys: int, mask: str | None, window: int | None) -> Tensor:
    """Which keys (columns) each query (row) sees."""
    shift = keys - length if mask == "BottomRight" else 0
    last = torch.arange(length)[:, None] + shift
    key = torch.arange(keys)[None]
    seen = torch.ones(length, keys, dtype=torch.bool)
    if mask is not None:
        seen &= key <= last
    return seen if window is None else seen & (key > last - window)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    *,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
) -> Tensor:
    """Tensors are (batch, sequence, heads, head size), torch's have the heads before."""
    q, k, v = (t.transpose(1, 2) for t in (query, key, value))
    added = torch.zeros((), dtype=q.dtype) if bias is None else bias
    seen = _seen(q.shape[2], k.shape[2], causal_mask, window_size)
    masked = torch.where(seen, added, -torch.inf).to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, masked, scale=scale).transpose(1, 2)


def _attention_var_len(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    starts_q: Tensor,
    _: Tensor,
    starts_k: Tensor | None,
    __: Tensor | None,
    **attributes: Any,
) -> Tensor:
    """Each sequence by itself; a query without keys gives zeros."""
    out = torch.zeros(*queries.shape[:-1], values.shape[-1], dtype=queries.dtype)
    limits_q = starts_q.tolist()
    limits_k = limits_q if starts_k is None else starts_k.tolist()
    sequences = zip(limits_q[:-1], limits_q[1:], limits_k[:-1], limits_k[1:], strict=True)
    for low, high, first, last in sequences:
        if last > first:
            own = keys[:, first:last], values[:, first:last]
            out[:, low:high] = _attention(queries[:, low:high], *own, None, **attributes)
    return out


def _prelu(x: Tensor, alpha: Tensor, *, axis: int) -> Tensor:
    slope = alpha if alpha.numel() == 1 else _along(alpha, axes_of(axis, x.ndim), x.ndim)
    return torch.where(x > 0, x, x * slope)


NN: dict[str, Callable[..., Any]] = {
    "nn.relu": torch.relu,
    "nn.relu6": F.relu6,
    "nn.leakyrelu": lambda x, *, alpha: F.leaky_relu(x, alpha),
    "nn.gelu": F.gelu,
    "nn.gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "nn.selu": F.selu,
    "nn.silu": F.silu,
    "nn.softplus": lambda x, *, beta, threshold: F.softplus(x, beta, threshold),
    "nn.prelu": _prelu,
    "nn.softmax": lambda x, *, axis: torch.softmax(x, axis),
    "nn.log_softmax": lambda x, *, axis: torch.log_softmax(x, axis),
    "nn.layer_norm": _layer_norm,
    "nn.rms_norm": _rms_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.batch_norm": _batch_norm,
    "nn.dropout": lambda x, *, rate: (x, torch.ones_like(x)),
    "nn.cross_entropy_with_logits": _cross_entropy,
    "nn.nll_loss": _nll_loss,
    "nn.attention": _attention,
    "nn.attention_bias": _attention,
    "nn.attention_var_len": _attention_var_len,
    "nn.pad": _pad,
    "nn.pixel_shuffle": lambda x, *, upscale_factor: F.pixel_shuffle(x, upscale_factor),
}
