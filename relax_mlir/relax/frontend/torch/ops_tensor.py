"""Converters for products, reductions, shapes and normalisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relax_mlir.relax.frontend.torch.importer import Converter, Importer, dtype_name


def linear(imp: Importer, x: Any, weight: Any, bias: Any = None) -> Any:
    transposed = imp.emit(imp.op.permute_dims(weight))
    product = imp.op.matmul(x, transposed, out_dtype=x.struct_info.dtype)
    return product if bias is None else imp.op.add(imp.emit(product), bias)


def matmul(imp: Importer, lhs: Any, rhs: Any) -> Any:
    return imp.op.matmul(lhs, rhs, out_dtype=lhs.struct_info.dtype)


def addmm(imp: Importer, bias: Any, lhs: Any, rhs: Any, beta: float = 1, alpha: float = 1) -> Any:
    product = imp.emit(matmul(imp, lhs, rhs))
    if alpha != 1:
        product = imp.emit(imp.op.multiply(product, imp.scalar_like(alpha, product)))
    if beta != 1:
        bias = imp.emit(imp.op.multiply(bias, imp.scalar_like(beta, bias)))
    return imp.op.add(bias, product)


def permute(imp: Importer, x: Any, *axes: Any) -> Any:
    return imp.op.permute_dims(x, axes=_flat(axes))


def transpose(imp: Importer, x: Any, first: int, second: int) -> Any:
    axes = list(range(imp.ndim(x)))
    axes[first], axes[second] = axes[second], axes[first]
    return imp.op.permute_dims(x, axes=axes)


def t(imp: Importer, x: Any) -> Any:
    return imp.op.permute_dims(x)


def reshape(imp: Importer, x: Any, *shape: Any) -> Any:
    return imp.op.reshape(x, _flat(shape))


def flatten(imp: Importer, x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape, rank = imp.shape_of(x), imp.ndim(x)
    start, end = start_dim % max(rank, 1), end_dim % max(rank, 1)
    merged: Any = 1
    for size in shape[start : end + 1]:
        merged = merged * size
    return imp.op.reshape(x, [*shape[:start], merged, *shape[end + 1 :]])


def squeeze(imp: Importer, x: Any, dim: Any = None) -> Any:
    if dim is None:
        return imp.op.squeeze(x)
    axes = [dim] if isinstance(dim, int) else list(dim)
    shape = imp.shape_of(x)
    axes = [axis % len(shape) for axis in axes]
    kept = [axis for axis in axes if shape[axis] == 1]
    return imp.op.squeeze(x, kept) if kept else x


def unsqueeze(imp: Importer, x: Any, dim: int) -> Any:
    return imp.op.expand_dims(x, dim)


def expand(imp: Importer, x: Any, *sizes: Any) -> Any:
    wanted, shape = list(_flat(sizes)), imp.shape_of(x)
    lead = len(wanted) - len(shape)
    for i, size in enumerate(wanted):
        if isinstance(size, int) and size == -1:
            wanted[i] = shape[i - lead]
    return imp.op.broadcast_to(x, wanted)


def cat(imp: Importer, tensors: list[Any], dim: int = 0, axis: int | None = None) -> Any:
    return imp.op.concat(list(tensors), axis=dim if axis is None else axis)


def stack(imp: Importer, tensors: list[Any], dim: int = 0) -> Any:
    return imp.op.stack(list(tensors), axis=dim)


def select(imp: Importer, x: Any, dim: int, index: int) -> Any:
    return imp.op.take(x, imp.relax.const(index, "int64"), axis=dim)


def slice_tensor(
    imp: Importer, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    size = imp.shape_of(x)[dim]
    last = size if end is None or (isinstance(end, int) and end >= 2**62) else end
    return imp.op.strided_slice(
        x, axes=[dim], begin=[0 if start is None else start], end=[last], strides=[step]
    )


def embedding(imp: Importer, weight: Any, indices: Any, *unused: Any, **ignored: Any) -> Any:
    shape = imp.shape_of(indices)
    if len(shape) == 1:
        return imp.op.take(weight, indices, axis=0)
    flat = imp.emit(imp.op.reshape(indices, [-1]))
    rows = imp.emit(imp.op.take(weight, flat, axis=0))
    return imp.op.reshape(rows, [*shape, imp.shape_of(weight)[-1]])


def softmax(imp: Importer, x: Any, dim: int = -1, *unused: Any, **ignored: Any) -> Any:
    return imp.op.nn.softmax(x, axis=dim)


def log_softmax(imp: Importer, x: Any, dim: int = -1, *unused: Any, **ignored: Any) -> Any:
    return imp.op.nn.log_softmax(x, axis=dim)


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
    dtype = x.struct_info.dtype
    weight = imp.relax.const(np.ones(sizes, dtype)) if weight is None else weight
    bias = imp.relax.const(np.zeros(sizes, dtype)) if bias is None else bias
    axes = list(range(-len(sizes), 0))
    return imp.op.nn.layer_norm(x, weight, bias, axes=axes, epsilon=eps)


def native_layer_norm(imp: Importer, *args: Any) -> Any:
    return [imp.emit(layer_norm(imp, *args))]


def attention(
    imp: Importer,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **ignored: Any,
) -> Any:
    """Scaled dot-product attention on [..., heads, length, size], written out."""
    size = imp.shape_of(query)[-1]
    factor = scale if scale is not None else 1.0 / math.sqrt(size)
    axes = list(range(imp.ndim(key)))
    axes[-1], axes[-2] = axes[-2], axes[-1]
    transposed = imp.emit(imp.op.permute_dims(key, axes=axes))
    scores = imp.emit(imp.op.matmul(query, transposed))
    scores = imp.emit(imp.op.multiply(scores, imp.scalar_like(factor, scores)))
    if is_causal:
        rows, columns = (imp.shape_of(tensor)[-2] for tensor in (query, key))
        allowed = imp.relax.const(np.tril(np.ones((rows, columns), bool)))
        scores = imp.emit(imp.op.where(allowed, scores, imp.scalar_like(-math.inf, scores)))
    if mask is not None and mask.struct_info.dtype == "bool":
        scores = imp.emit(imp.op.where(mask, scores, imp.scalar_like(-math.inf, scores)))
    elif mask is not None:
        scores = imp.emit(imp.op.add(scores, mask))
    weights = imp.emit(imp.op.nn.softmax(scores, axis=-1))
    return imp.op.matmul(weights, value)


def _reduction(name: str) -> Converter:
    def convert(imp: Importer, x: Any, dim: Any = None, keepdim: bool = False, **kw: Any) -> Any:
        if kw.get("dtype") is not None:
            x = imp.emit(imp.op.astype(x, dtype_name(kw["dtype"])))
        axis = [dim] if isinstance(dim, int) else dim or None
        return getattr(imp.op, name)(x, axis=axis, keepdims=keepdim)

    return convert


def _extremum(name: str, position: str) -> Converter:
    """max and min: over everything, elementwise with a second tensor, or (values, indices)."""

    def convert(imp: Importer, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return getattr(imp.op, name)(x)
        if imp.is_tensor(dim):
            return getattr(imp.op, {"max": "maximum", "min": "minimum"}[name])(x, dim)
        values = getattr(imp.op, name)(x, axis=dim, keepdims=keepdim)
        indices = getattr(imp.op, position)(x, axis=dim, keepdims=keepdim)
        return [imp.emit(values), imp.emit(indices)]

    return convert


def _argument(name: str) -> Converter:
    def convert(imp: Importer, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        return getattr(imp.op, name)(x, axis=dim, keepdims=keepdim)

    return convert


def _filled(name: str) -> Converter:
    def convert(imp: Importer, size: Any, *unused: Any, dtype: Any = None, **ignored: Any) -> Any:
        chosen = "float32" if dtype is None else dtype_name(dtype)
        return getattr(imp.op, name)(list(size), chosen)

    return convert


def _filled_like(name: str) -> Converter:
    def convert(imp: Importer, x: Any, *unused: Any, dtype: Any = None, **ignored: Any) -> Any:
        return getattr(imp.op, name)(x, None if dtype is None else dtype_name(dtype))

    return convert


def full(imp: Importer, size: Any, value: Any, *, dtype: Any = None, **ignored: Any) -> Any:
    chosen = dtype_name(dtype) if dtype is not None else "float32"
    return imp.op.full(list(size), imp.relax.const(value, chosen), chosen)


def arange(imp: Importer, *bounds: Any, dtype: Any = None, **ignored: Any) -> Any:
    default = "float32" if any(isinstance(b, float) for b in bounds) else "int64"
    return imp.op.arange(*bounds, dtype=default if dtype is None else dtype_name(dtype))


def sym_size(imp: Importer, x: Any, dim: int) -> Any:
    return imp.shape_of(x)[dim]


def getitem(imp: Importer, value: Any, index: Any) -> Any:
    return value[index]


def _flat(values: tuple[Any, ...]) -> list[Any]:
    return (
        list(values[0]) if len(values) == 1 and isinstance(values[0], (list, tuple)) else [*values]
    )


CONVERTERS: dict[str, Converter] = {
    "linear": linear,
    "matmul": matmul,
    "mm": matmul,
    "bmm": matmul,
    "addmm": addmm,
    "permute": permute,
    "transpose": transpose,
    "t": t,
    "numpy_T": t,
    "reshape": reshape,
    "view": reshape,
    "_unsafe_view": reshape,
    "flatten": flatten,
    "squeeze": squeeze,
    "unsqueeze": unsqueeze,
    "expand": expand,
    "broadcast_to": expand,
    "cat": cat,
    "concat": cat,
    "stack": stack,
    "select": select,
    "slice": slice_tensor,
    "embedding": embedding,
    "softmax": softmax,
    "_softmax": softmax,
    "log_softmax": log_softmax,
    "_log_softmax": log_softmax,
    "layer_norm": layer_norm,
    "native_layer_norm": native_layer_norm,
    "scaled_dot_product_attention": attention,
    **{name: _reduction(name) for name in ("sum", "mean", "prod")},
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "max": _extremum("max", "argmax"),
    "min": _extremum("min", "argmin"),
    **{name: _argument(name) for name in ("argmax", "argmin")},
    **{name: _filled(name) for name in ("zeros", "ones")},
    **{name: _filled_like(name) for name in ("zeros_like", "ones_like")},
    "full": full,
    "arange": arange,
    "sym_size": sym_size,
    "getitem": getitem,
}
"""By the operator's name without namespace, overload and trailing underscore."""
