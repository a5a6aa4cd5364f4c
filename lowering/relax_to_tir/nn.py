"""Legalisation of activations, softmax, normalisation, dropout and losses."""

from __future__ import annotations

import math
from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects.attributes import integers
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row, legalize

ROWS["nn.relu"] = Row("relu", topi.nn.relu)
ROWS["nn.softmax"] = Row("softmax", topi.nn.softmax)
ROWS["nn.log_softmax"] = Row("log_softmax", topi.nn.log_softmax)
ROWS["nn.prelu"] = Row("prelu", topi.nn.prelu)


@legalize("nn.relu6")
def _relu6(x: te.Tensor) -> te.Tensor:
    return topi.clip(x, 0, 6)


@legalize("nn.leakyrelu", "leaky_relu")
def _leakyrelu(x: te.Tensor, *, alpha: float) -> te.Tensor:
    return topi.nn.leaky_relu(x, alpha)


def _erf(x: te.Tensor) -> te.Tensor:
    if x.dtype in ("float16", "bfloat16"):
        return topi.cast(topi.erf(topi.cast(x, "float32")), x.dtype)
    return topi.erf(x)


@legalize("nn.gelu")
def _gelu(x: te.Tensor) -> te.Tensor:
    half = te.const(0.5, x.dtype)
    probability = _erf(topi.multiply(x, te.const(0.5**0.5, x.dtype)))
    return topi.multiply(x, topi.add(half, topi.multiply(probability, half)))


@legalize("nn.gelu_tanh")
def _gelu_tanh(x: te.Tensor) -> te.Tensor:
    def number(value: float) -> Any:
        return te.const(value, x.dtype)

    scaled = topi.multiply(topi.multiply(number(0.044715), x), x)
    inner = topi.multiply(
        topi.multiply(number(math.sqrt(2.0 / math.pi)), x), topi.add(number(1.0), scaled)
    )
    return topi.multiply(topi.multiply(number(0.5), x), topi.add(number(1.0), topi.tanh(inner)))


@legalize("nn.selu")
def _selu(x: te.Tensor) -> te.Tensor:
    """Klambauer et al., Self-Normalizing Neural Networks, 2017."""
    alpha = te.const(1.6732632423543772848170429916717, x.dtype)
    scale = te.const(1.0507009873554804934193349852946, x.dtype)
    zero = te.const(0, x.dtype)
    grown = topi.multiply(alpha, topi.subtract(topi.exp(x), te.const(1, x.dtype)))
    parts = topi.add(topi.maximum(x, zero), topi.minimum(zero, grown))
    return topi.multiply(scale, parts)


@legalize("nn.silu")
def _silu(x: te.Tensor) -> te.Tensor:
    return topi.multiply(x, topi.sigmoid(x))


@legalize("nn.softplus")
def _softplus(x: te.Tensor, *, beta: float, threshold: float) -> te.Tensor:
    return topi.nn.softplus(x, beta, threshold)


@legalize("nn.layer_norm")
def _layer_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    *,
    axes: Any,
    epsilon: float,
    center: bool,
    scale: bool,
) -> te.Tensor:
    return topi.nn.layer_norm(data, gamma, beta, integers(axes), epsilon)


@legalize("nn.rms_norm")
def _rms_norm(data: te.Tensor, weight: te.Tensor, *, axes: Any, epsilon: float) -> te.Tensor:
    return topi.nn.rms_norm(data, weight, integers(axes), epsilon)


@legalize("nn.group_norm")
def _group_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    *,
    num_groups: int,
    channel_axis: int,
    axes: Any,
    epsilon: float,
    center: bool,
    scale: bool,
) -> te.Tensor:
    return topi.nn.group_norm(data, gamma, beta, num_groups, channel_axis, integers(axes), epsilon)


@legalize("nn.instance_norm")
def _instance_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    *,
    channel_axis: int,
    axes: Any,
    epsilon: float,
    center: bool,
    scale: bool,
) -> te.Tensor:
    return topi.nn.instance_norm(data, gamma, beta, channel_axis, integers(axes), epsilon)


@legalize("nn.batch_norm")
def _batch_norm(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
    *,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
    training: bool,
) -> list[te.Tensor]:
    return topi.nn.batch_norm(
        data, gamma, beta, moving_mean, moving_var, axis, epsilon, center, scale, training, momentum
    )


@legalize("nn.dropout")
def _dropout(x: te.Tensor, *, rate: float) -> list[te.Tensor]:
    """Inference keeps every element."""
    return [topi.identity(x), topi.full_like(x, 1.0)]


@legalize("nn.cross_entropy_with_logits")
def _cross_entropy(x: te.Tensor, y: te.Tensor) -> te.Tensor:
    total = topi.negative(topi.sum(topi.multiply(x, y)))
    return topi.divide(total, x.shape[0].astype(x.dtype)) if x.ndim > 1 else total


@legalize("nn.nll_loss")
def _nll_loss(
    predictions: te.Tensor,
    targets: te.Tensor,
    weights: te.Tensor | None,
    *,
    reduction: str,
    ignore_index: int,
) -> te.Tensor:
    return topi.nn.nll_loss(predictions, targets, weights, reduction, ignore_index)
