"""Converters for normalisation, losses and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch import ops_random
from relax_mlir.relax.frontend.torch.importer import (
    Converter,
    Importer,
    Unavailable,
    dtype_of,
)
from relax_mlir.relax.frontend.torch.ops_shape import expand, product, transpose

# -- normalisation -----------------------------------------------------------------------------


def _scale_and_shift(imp: Importer, sizes: Any, dtype: str, weight: Any, bias: Any) -> Any:
    """Absent ones are ones and zeros."""
    weight = imp.relax.const(np.ones(sizes, dtype)) if weight is None else weight
    return weight, imp.relax.const(np.zeros(sizes, dtype)) if bias is None else bias


def layer_norm(
    imp: Importer,
    x: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *unused: Any,
) -> Any:
    sizes = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    weight, bias = _scale_and_shift(imp, sizes, dtype_of(x), weight, bias)
    axes = list(range(-len(sizes), 0))
    return imp.op.nn.layer_norm(x, weight, bias, axes=axes, epsilon=eps)


_STATISTICS = [Unavailable("the statistics that training keeps")] * 3


def first_result(converter: Converter) -> Converter:
    """The native_* operators also return what training keeps; inference reads the first."""

    def convert(imp: Importer, *args: Any, **kwargs: Any) -> Any:
        return [imp.bind(converter(imp, *args, **kwargs)), *_STATISTICS]

    return convert


def _statistics(imp: Importer, x: Any, axes: Sequence[int], eps: float) -> list[Any]:
    """The mean and the reciprocal deviation over `axes`, where the program reads them."""
    if not imp.reads_results(1, 2):
        return _STATISTICS[:2]
    mean = imp.emit(imp.op.mean(x, axis=list(axes), keepdims=True))
    variance = imp.emit(imp.op.variance(x, axis=list(axes), keepdims=True))
    padded = imp.emit(imp.op.add(variance, imp.scalar_like(eps, x)))
    return [mean, imp.emit(imp.op.rsqrt(padded))]


def native_layer_norm(
    imp: Importer, x: Any, sizes: Sequence[int], weight: Any, bias: Any, eps: float
) -> Any:
    """(the result, the mean, the reciprocal deviation)"""
    result = imp.emit(layer_norm(imp, x, sizes, weight, bias, eps))
    return [result, *_statistics(imp, x, range(-len(sizes), 0), eps)]


def weight_norm(imp: Importer, v: Any, g: Any, dim: int = 0) -> Any:
    """(the weight, the norm) of a direction `v` and lengths `g` along `dim`."""
    axes = [axis for axis in range(imp.ndim(v)) if dim == -1 or axis != dim % imp.ndim(v)]
    squares = imp.emit(imp.op.sum(imp.emit(imp.op.multiply(v, v)), axes, keepdims=True))
    norm = imp.emit(imp.op.sqrt(squares))
    return [imp.emit(imp.op.multiply(v, imp.emit(imp.op.divide(g, norm)))), norm]


def rms_norm(
    imp: Importer, x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    import torch

    sizes = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    epsilon = torch.finfo(getattr(torch, dtype_of(x))).eps if eps is None else eps
    weight = imp.relax.const(np.ones(sizes, dtype_of(x))) if weight is None else weight
    axes = list(range(-len(sizes), 0))
    return imp.op.nn.rms_norm(x, weight, axes=axes, epsilon=epsilon)


def group_norm(
    imp: Importer,
    x: Any,
    groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *unused: Any,
) -> Any:
    channels = imp.shape_of(x)[1]
    weight, bias = _scale_and_shift(imp, [channels], dtype_of(x), weight, bias)
    axes = list(range(2, imp.ndim(x)))
    return imp.op.nn.group_norm(
        x, weight, bias, num_groups=groups, channel_axis=1, axes=axes, epsilon=eps
    )


def native_group_norm(
    imp: Importer,
    x: Any,
    weight: Any,
    bias: Any,
    batch: Any,
    channels: int,
    size: Any,
    groups: int,
    eps: float,
) -> Any:
    """(the result, the mean and the reciprocal deviation of each group)"""
    result = imp.emit(group_norm(imp, x, groups, weight, bias, eps))
    if not imp.reads_results(1, 2):
        return [result, *_STATISTICS[:2]]
    apart = imp.emit(imp.op.reshape(x, [batch, groups, -1]))
    flat = [imp.op.reshape(value, [batch, groups]) for value in _statistics(imp, apart, [2], eps)]
    return [result, *map(imp.emit, flat)]


def instance_norm(
    imp: Importer,
    x: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    var: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *unused: Any,
) -> Any:
    if not use_input_stats:
        return batch_norm(imp, x, weight, bias, mean, var, False, momentum, eps)
    weight, bias = _scale_and_shift(imp, [imp.shape_of(x)[1]], dtype_of(x), weight, bias)
    axes = list(range(2, imp.ndim(x)))
    return imp.op.nn.instance_norm(x, weight, bias, channel_axis=1, axes=axes, epsilon=eps)


def batch_norm(
    imp: Importer,
    x: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    var: Any,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *unused: Any,
) -> Any:
    sizes = [imp.shape_of(x)[1]]
    weight, bias = _scale_and_shift(imp, sizes, dtype_of(x), weight, bias)
    if mean is None or var is None:
        var, mean = _scale_and_shift(imp, sizes, dtype_of(x), var, mean)
    result = imp.op.nn.batch_norm(
        x, weight, bias, mean, var, axis=1, epsilon=eps, momentum=momentum, training=training
    )
    return imp.fields(result)[0]


def _batch_norm_inference(imp: Importer, *args: Any) -> Any:
    x, weight, bias, mean, var, momentum, eps = args
    return [batch_norm(imp, x, weight, bias, mean, var, False, momentum, eps), *_STATISTICS]


def _batch_norm_no_stats(imp: Importer, *args: Any) -> Any:
    x, weight, bias, training, momentum, eps = args
    return [batch_norm(imp, x, weight, bias, None, None, training, momentum, eps), *_STATISTICS]


def _batch_norm_functional(imp: Importer, *args: Any) -> Any:
    x, weight, bias, mean, var, training, momentum, eps = args
    return [batch_norm(imp, x, weight, bias, mean, var, training, momentum, eps), *_STATISTICS]


def local_response_norm(
    imp: Importer, x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """x / (k + alpha * mean of the squares of `size` neighbouring channels)^beta."""
    batch, channels, *rest = imp.shape_of(x)
    squares = imp.emit(imp.op.multiply(x, x))
    image = imp.emit(imp.op.reshape(squares, [batch, 1, channels, product(rest)]))
    mean = imp.op.nn.avg_pool2d(
        image,
        (size, 1),
        (1, 1),
        (size // 2, 0, (size - 1) // 2, 0),
        count_include_pad=True,
    )
    mean = imp.emit(imp.op.reshape(imp.emit(mean), [batch, channels, *rest]))
    base = imp.chain(
        mean,
        lambda v: imp.op.multiply(v, imp.scalar_like(alpha, x)),
        lambda v: imp.op.add(v, imp.scalar_like(k, x)),
        lambda v: imp.op.power(v, imp.scalar_like(beta, x)),
    )
    return imp.op.divide(x, base)


# -- losses ------------------------------------------------------------------------------------

_LOSS_REDUCTIONS = ("none", "mean", "sum")


def _reduction_name(reduction: Any) -> str:
    return reduction if isinstance(reduction, str) else _LOSS_REDUCTIONS[reduction]


def _reduced(imp: Importer, loss: Any, reduction: Any) -> Any:
    name = _reduction_name(reduction)
    return loss if name == "none" else getattr(imp.op, name)(imp.emit(loss))


def nll_loss(
    imp: Importer,
    x: Any,
    target: Any,
    weight: Any = None,
    reduction: Any = 1,
    ignore_index: int = -100,
) -> Any:
    name = _reduction_name(reduction)
    return imp.op.nn.nll_loss(x, target, weight, reduction=name, ignore_index=ignore_index)


def cross_entropy(
    imp: Importer,
    x: Any,
    target: Any,
    weight: Any = None,
    reduction: Any = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    if label_smoothing or is_distribution(imp, x, target):
        raise Error("cross_entropy_loss is imported for class indices without label smoothing")
    axis = 1 if imp.ndim(x) > 1 else 0
    logs = imp.emit(imp.op.nn.log_softmax(x, axis=axis))
    return nll_loss(imp, logs, target, weight, reduction, ignore_index)


def is_distribution(imp: Importer, x: Any, target: Any) -> bool:
    return imp.ndim(x) == imp.ndim(target)


def mse_loss(imp: Importer, x: Any, target: Any, reduction: Any = 1) -> Any:
    difference = imp.emit(imp.op.subtract(x, target))
    return _reduced(imp, imp.op.multiply(difference, difference), reduction)


def l1_loss(imp: Importer, x: Any, target: Any, reduction: Any = 1) -> Any:
    return _reduced(imp, imp.op.abs(imp.emit(imp.op.subtract(x, target))), reduction)


# -- attention ---------------------------------------------------------------------------------


def attention(
    imp: Importer,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    **ignored: Any,
) -> Any:
    """Scaled dot-product attention: `nn.attention` on (batch, length, heads, size) if it has these
    four axes and drops nothing, else written out."""
    mask, is_causal = _known_mask(imp, mask, is_causal)
    if enable_gqa:
        key, value = (_repeat_heads(imp, query, x) for x in (key, value))
    if dropout or imp.ndim(query) != 4 or imp.ndim(key) != 4:
        return _plain_attention(imp, query, key, value, mask, is_causal, scale, dropout)
    key, value = (_shared_heads(imp, query, x) for x in (key, value))
    turned = [transpose(imp, x, 1, 2) for x in (query, key, value)]
    bias = None if mask is None else _bias(imp, mask, query)
    causal = "TopLeft" if is_causal else None
    result = imp.op.nn.attention(*turned, bias=bias, scale=scale, causal_mask=causal)
    return transpose(imp, imp.emit(result), 1, 2)


def _shared_heads(imp: Importer, query: Any, x: Any) -> Any:
    """Keys or values that all heads, or all of the batch, have in common."""
    outer, own = imp.shape_of(query)[:2], imp.shape_of(x)
    if not any(size == 1 != whole for size, whole in zip(own, outer, strict=False)):
        return x
    shape = [whole if size == 1 else size for size, whole in zip(own, outer, strict=False)]
    return imp.emit(imp.op.broadcast_to(x, [*shape, *own[2:]]))


def _known_mask(imp: Importer, mask: Any, is_causal: bool) -> tuple[Any, bool]:
    """A mask without an input behind it may be all true, or the causal one."""
    value = None if mask is None else imp.static(mask)
    if value is None or value.dtype.is_floating_point:
        return mask, is_causal
    if bool(value.all()):
        return None, is_causal
    rows, columns = value.shape[-2:]
    triangle = value.new_ones(rows, columns).tril()
    if rows == columns and bool((value == triangle).all()):
        return None, True
    return mask, is_causal


def _bias(imp: Importer, mask: Any, query: Any) -> Any:
    """A mask as what is added to the scores, with four axes."""
    rank = imp.ndim(mask)
    if rank < 4:
        mask = imp.emit(imp.op.reshape(mask, [*[1] * (4 - rank), *imp.shape_of(mask)]))
    if dtype_of(mask) != "bool":
        return imp.cast(mask, dtype_of(query))
    zero, low = (imp.scalar_like(value, query) for value in (0.0, -math.inf))
    return imp.emit(imp.op.where(mask, zero, low))


def _repeat_heads(imp: Importer, query: Any, x: Any) -> Any:
    heads, own = imp.shape_of(query)[-3], imp.shape_of(x)[-3]
    return x if heads == own else imp.emit(imp.op.repeat(x, heads // own, axis=imp.ndim(x) - 3))


def _plain_attention(
    imp: Importer,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    is_causal: bool,
    scale: Any,
    dropout: float,
) -> Any:
    size = imp.shape_of(query)[-1]
    factor = scale if scale is not None else 1.0 / math.sqrt(size)
    scores = imp.emit(imp.op.matmul(query, transpose(imp, key, -1, -2)))
    scores = imp.emit(imp.op.multiply(scores, imp.scalar_like(factor, scores)))
    if is_causal:
        rows, columns = (imp.shape_of(tensor)[-2] for tensor in (query, key))
        mask = imp.relax.const(np.tril(np.ones((rows, columns), bool)))
    if mask is not None and dtype_of(mask) == "bool":
        scores = imp.emit(imp.op.where(mask, scores, imp.scalar_like(-math.inf, scores)))
    elif mask is not None:
        scores = imp.emit(imp.op.add(scores, mask))
    weights = imp.emit(imp.op.nn.softmax(scores, axis=-1))
    return imp.op.matmul(ops_random.dropout(imp, weights, dropout, training=True), value)


def cosine_similarity(imp: Importer, a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    def norm(x: Any) -> Any:
        total = imp.emit(imp.op.sum(imp.emit(imp.op.multiply(x, x)), axis=[dim]))
        return imp.emit(imp.op.maximum(imp.emit(imp.op.sqrt(total)), imp.scalar_like(eps, x)))

    dot = imp.emit(imp.op.sum(imp.emit(imp.op.multiply(a, b)), axis=[dim]))
    return imp.op.divide(dot, imp.emit(imp.op.multiply(norm(a), norm(b))))


def affine_grid(imp: Importer, theta: Any, size: Sequence[int], align_corners: bool = False) -> Any:
    """The sampling positions of `grid_sampler`: a fixed grid times the matrices."""
    batch, _, *extents = size
    axes = [_positions(extent, align_corners) for extent in extents]
    grids = np.meshgrid(*axes, indexing="ij")[::-1]
    base = np.stack([*grids, np.ones(tuple(extents))], axis=-1).reshape(1, -1, len(extents) + 1)
    points = imp.relax.const(base.astype(dtype_of(theta)))
    points = imp.bind(expand(imp, points, [batch, *imp.shape_of(points)[1:]]))
    grid = imp.emit(imp.op.matmul(points, transpose(imp, theta, 1, 2)))
    return imp.op.reshape(grid, [batch, *extents, len(extents)])


def _positions(extent: int, align_corners: bool) -> np.ndarray:
    if align_corners:
        return np.linspace(-1.0, 1.0, extent) if extent > 1 else np.zeros(1)
    return (2.0 * np.arange(extent) + 1.0) / extent - 1.0


CONVERTERS: dict[str, Converter] = {
    "_weight_norm": lambda *args: weight_norm(*args)[0],
    "_weight_norm_interface": weight_norm,
    "layer_norm": layer_norm,
    "native_layer_norm": native_layer_norm,
    "rms_norm": rms_norm,
    "_fused_rms_norm": first_result(rms_norm),
    "group_norm": group_norm,
    "native_group_norm": native_group_norm,
    "instance_norm": instance_norm,
    "batch_norm": batch_norm,
    "native_batch_norm": first_result(batch_norm),
    "_native_batch_norm_legit_no_training": _batch_norm_inference,
    "_native_batch_norm_legit": _batch_norm_functional,
    "_native_batch_norm_legit.no_stats": _batch_norm_no_stats,
    "_native_batch_norm_legit_functional": _batch_norm_functional,
    "local_response_norm": local_response_norm,
    "nll_loss": nll_loss,
    "nll_loss_nd": nll_loss,
    "nll_loss2d": nll_loss,
    "nll_loss_forward": first_result(nll_loss),
    "cross_entropy_loss": cross_entropy,
    "cross_entropy": cross_entropy,
    "mse_loss": mse_loss,
    "l1_loss": l1_loss,
    "scaled_dot_product_attention": attention,
    "cosine_similarity": cosine_similarity,
    "affine_grid_generator": affine_grid,
    "affine_grid": affine_grid,
}
"""By the operator's name without namespace, overload and trailing underscore."""
