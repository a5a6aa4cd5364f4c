"""Converters for normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.relax.frontend.onnx.attributes import dtype_name
from relax_mlir.relax.frontend.onnx.node import Node, Row


def per_channel(node: Node, value: Any, rank: int) -> Any:
    """A vector over the channels, shaped to broadcast with (N, C, ...)."""
    return node.reshape(value, [1, node.shape(value)[0], *[1] * (rank - 2)])


def batch_normalization(node: Node) -> Any:
    x, scale, bias, mean, variance = (node.tensor(i) for i in range(5))
    ops, rank = node.ops, node.rank(x)
    training = bool(node.attr("training_mode", 0))
    epsilon = node.attr("epsilon", 1e-5)
    outputs: list[Any] = []
    if training:
        momentum = node.attr("momentum", 0.9)
        axes = [i for i in range(rank) if i != 1]
        batch_mean, batch_variance = (
            getattr(ops, name)(x, axis=axes, keepdims=False) for name in ("mean", "variance")
        )
        for old, new in ((mean, batch_mean), (variance, batch_variance)):
            kept = ops.multiply(old, node.like(momentum, old))
            outputs.append(ops.add(kept, ops.multiply(new, node.like(1 - momentum, new))))
        mean, variance = batch_mean, batch_variance
    statistics = node.dtype(mean)
    root = ops.sqrt(ops.add(variance, node.like(epsilon, variance)))
    factor = ops.divide(node.cast(scale, statistics), root)
    shift = ops.subtract(node.cast(bias, statistics), ops.multiply(mean, factor))
    wide = node.cast(x, statistics)
    scaled = ops.multiply(wide, per_channel(node, factor, rank))
    result = ops.add(scaled, per_channel(node, shift, rank))
    return [node.cast(result, node.dtype(x)), *outputs]


def normalized(node: Node, x: Any, axes: Sequence[int], epsilon: float) -> tuple[Any, Any, Any]:
    """(x - mean) / sqrt(variance + epsilon), the mean and 1 / the deviation."""
    ops = node.ops
    mean = ops.mean(x, axis=list(axes), keepdims=True)
    centred = ops.subtract(x, mean)
    variance = ops.mean(ops.multiply(centred, centred), axis=list(axes), keepdims=True)
    root = ops.sqrt(ops.add(variance, node.like(epsilon, variance)))
    inverse = ops.divide(node.like(1, root), root)
    return ops.multiply(centred, inverse), mean, inverse


def instance_normalization(node: Node) -> Any:
    x, scale, bias = (node.tensor(i) for i in range(3))
    rank = node.rank(x)
    result, _, _ = normalized(node, x, range(2, rank), node.attr("epsilon", 1e-5))
    scaled = node.ops.multiply(result, per_channel(node, scale, rank))
    return node.ops.add(scaled, per_channel(node, bias, rank))


def layer_normalization(node: Node) -> Any:
    """Statistics in float32 (`stash_type`); the outputs 1 and 2 are mean and 1 / deviation."""
    x, scale, bias = node.tensor(0), node.tensor(1), node.optional(2)
    dtype, stash = node.dtype(x), dtype_name(int(node.attr("stash_type", 1)))
    rank = node.rank(x)
    axis = node.axis(node.attr("axis", -1), rank)
    axes = list(range(axis, rank))
    epsilon = node.attr("epsilon", 1e-5)
    plain = dtype == "float32" and not (node.wants(1) or node.wants(2))
    if plain and _full(node, scale, x, axis) and (bias is None or _full(node, bias, x, axis)):
        shift = node.ops.zeros_like(scale) if bias is None else bias
        return node.ops.nn.layer_norm(x, scale, shift, axes=axes, epsilon=epsilon)
    result, mean, inverse = normalized(node, node.cast(x, stash), axes, epsilon)
    result = node.ops.multiply(node.cast(result, dtype), scale)
    return [result if bias is None else node.ops.add(result, bias), mean, inverse]


def _full(node: Node, weight: Any, x: Any, axis: int) -> bool:
    """Whether a weight has exactly the shape of the normalised axes."""
    return node.shape(weight) == node.shape(x)[axis:]


def rms_normalization(node: Node) -> Any:
    x, scale = node.tensor(0), node.tensor(1)
    dtype, stash = node.dtype(x), dtype_name(int(node.attr("stash_type", 1)))
    axes = list(range(node.axis(node.attr("axis", -1), node.rank(x)), node.rank(x)))
    return node.ops.multiply(
        node.cast(rms(node, node.cast(x, stash), axes, node.attr("epsilon", 1e-5)), dtype), scale
    )


def rms(node: Node, x: Any, axes: Sequence[int], epsilon: float) -> Any:
    """x / sqrt(mean(x^2) + epsilon)."""
    ops = node.ops
    mean = ops.mean(ops.multiply(x, x), axis=list(axes), keepdims=True)
    return ops.divide(x, ops.sqrt(ops.add(mean, node.like(epsilon, x))))


def group_normalization(node: Node) -> Any:
    """Scale and bias a group (version 18) or a channel (version 21)."""
    x, scale, bias = (node.tensor(i) for i in range(3))
    ops, shape, groups = node.ops, node.shape(x), node.attr("num_groups")
    dtype = node.dtype(x)
    stash = dtype_name(int(node.attr("stash_type", 1))) if node.version >= 21 else dtype
    n, c, *rest = shape
    inner = dim_algebra.floordiv(c, groups)
    grouped = node.cast(node.reshape(x, [n, groups, inner, *rest]), stash)
    axes = range(2, node.rank(x) + 1)
    result, _, _ = normalized(node, grouped, axes, node.attr("epsilon", 1e-5))
    result = node.cast(result, dtype)
    if node.shape(scale) == [groups] and node.version < 21:
        weights = (node.reshape(v, [1, groups, *[1] * (node.rank(x) - 1)]) for v in (scale, bias))
        weight, shift = weights
        return node.reshape(ops.add(ops.multiply(result, weight), shift), shape)
    result = node.reshape(result, shape)
    scaled = ops.multiply(result, per_channel(node, scale, node.rank(x)))
    return ops.add(scaled, per_channel(node, bias, node.rank(x)))


def local_response(node: Node) -> Any:
    """x / (bias + alpha / size * sum of squares over neighbouring channels)^beta."""
    x, ops = node.tensor(0), node.ops
    size = node.attr("size")
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    channels = node.shape(x)[1]
    widths = [0, 0, before, after, *[0] * (2 * node.rank(x) - 4)]
    padded = ops.nn.pad(ops.multiply(x, x), pad_width=widths, pad_value=0.0)
    total = None
    for offset in range(size):
        part = node.slice(padded, 1, offset, dim_algebra.add(channels, offset))
        total = part if total is None else ops.add(total, part)
    scaled = ops.multiply(total, node.like(node.attr("alpha", 1e-4) / size, x))
    base = ops.add(scaled, node.like(node.attr("bias", 1.0), x))
    return ops.divide(x, ops.power(base, node.like(node.attr("beta", 0.75), x)))


def mean_variance(node: Node) -> Any:
    x = node.tensor(0)
    axes = [node.axis(a, node.rank(x)) for a in node.attr("axes", [0, 2, 3])]
    ops = node.ops
    mean = ops.mean(x, axis=axes, keepdims=True)
    square = ops.mean(ops.multiply(x, x), axis=axes, keepdims=True)
    deviation = ops.sqrt(ops.subtract(square, ops.multiply(mean, mean)))
    return ops.divide(ops.subtract(x, mean), ops.add(deviation, node.like(1e-9, x)))


def lp_normalization(node: Node) -> Any:
    """x / its norm along an axis, 0 where that is 0."""
    x, ops = node.tensor(0), node.ops
    axis, p = node.axis(node.attr("axis", -1), node.rank(x)), node.attr("p", 2)
    if p == 1:
        norm = ops.sum(ops.abs(x), axis=[axis], keepdims=True)
    else:
        norm = ops.sqrt(ops.sum(ops.multiply(x, x), axis=[axis], keepdims=True))
    empty = ops.equal(norm, node.like(0, x))
    safe = ops.where(empty, node.like(1, x), norm)
    return ops.where(empty, ops.zeros_like(x), ops.divide(x, safe))


CONVERTERS: dict[str, Row] = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": local_response,
    "LayerNormalization": layer_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance,
    "RMSNormalization": rms_normalization,
    "SimplifiedLayerNormalization": rms_normalization,
}
"""By operator; see `node.Row`."""
