"""Converters that pick and place elements: gather, scatter, top-k, unique."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.relax.frontend.known import Known, object_array
from relax_mlir.relax.frontend.onnx.node import Node, Row

_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def non_negative(node: Node, indices: Any, size: Any) -> Any:
    """Indices that count from the end made to count from the front."""
    ops = node.ops
    dtype = node.dtype(indices)
    extent = node.cast(node.importer.expr(Known(object_array([size], ()), "int64")), dtype)
    zero = node.const(0, dtype)
    return ops.where(ops.less(indices, zero), ops.add(indices, extent), indices)


def gather(node: Node) -> Any:
    x, indices = node.tensor(0), node.tensor(1)
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    known = node.value(1).numbers() if isinstance(node.value(1), Known) else None
    mode = "fast" if known is not None and known.size and known.min() >= 0 else "wrap"
    return node.ops.take(x, indices, axis=axis, mode=mode)


def gather_elements(node: Node) -> Any:
    x, indices = node.tensor(0), node.tensor(1)
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    indices = non_negative(node, indices, node.shape(x)[axis])
    return node.ops.gather_elements(x, indices, axis=axis)


def gather_nd(node: Node) -> Any:
    x, indices = node.tensor(0), node.tensor(1)
    batch = node.attr("batch_dims", 0)
    return node.ops.gather_nd(x, _positive_tuples(node, x, indices, batch), batch_dims=batch)


def _positive_tuples(node: Node, x: Any, indices: Any, batch: int = 0) -> Any:
    """Index tuples along the last axis, all counted from the front."""
    width = node.shape(indices)[-1]
    sizes = object_array(node.shape(x)[batch : batch + int(width)])
    extent = node.cast(node.importer.expr(Known(sizes, "int64")), node.dtype(indices))
    ops = node.ops
    negative = ops.less(indices, node.like(0, indices))
    return ops.where(negative, ops.add(indices, extent), indices)


def scatter_elements(node: Node) -> Any:
    x, indices, updates = node.tensors()
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    indices = non_negative(node, indices, node.shape(x)[axis])
    reduction = node.choice("reduction", _REDUCTIONS, "none")
    return node.ops.scatter_elements(x, indices, updates, axis=axis, reduction=reduction)


def scatter_nd(node: Node) -> Any:
    x, indices, updates = node.tensors()
    reduction = node.choice("reduction", _REDUCTIONS, "none")
    indices = _positive_tuples(node, x, indices)
    return node.ops.scatter_nd(x, indices, updates, reduction=reduction)


def tensor_scatter(node: Node) -> Any:
    """Write updates into a cache at a place along an axis of its own for each batch row."""
    cache, update = node.tensor(0), node.tensor(1)
    ops, rank = node.ops, node.rank(cache)
    axis = node.axis(node.attr("axis", -2), rank)
    shape = node.shape(update)
    length = node.shape(cache)[axis]
    row = ops.arange(0, node.importer.shape_expr([shape[axis]])[0], 1, dtype="int64")
    place = node.reshape(row, [shape[axis] if i == axis else 1 for i in range(rank)])
    if node.has(2):
        starts = node.cast(node.tensor(2), "int64")
        start = node.reshape(starts, [shape[0], *[1] * (rank - 1)])
        place = ops.add(place, start)
    if node.attr("mode", "linear") == "circular":
        extent = node.importer.expr(Known(object_array([length], ()), "int64"))
        place = ops.floor_mod(place, extent)
    place = node.broadcast(place, shape)
    return ops.scatter_elements(cache, place, update, axis=axis, reduction="update")


def non_zero(node: Node) -> Any:
    return node.ops.nonzero(node.tensor(0))


def compress(node: Node) -> Any:
    """The rows whose condition holds; known only when the program runs unless it is a constant."""
    x = node.tensor(0)
    axis = node.attr("axis")
    if axis is None:
        x, axis = node.reshape(x, [node_size(node, x)]), 0
    axis = node.axis(axis, node.rank(x))
    condition = node.value(1)
    if isinstance(condition, Known) and condition.numbers() is not None:
        index = node.const(np.flatnonzero(condition.array), "int64")
        return node.ops.take(x, index, axis=axis)
    places = node.ops.nonzero(node.tensor(1))
    return node.ops.take(x, node.ops.squeeze(places, axis=[0]), axis=axis, mode="wrap")


def node_size(node: Node, x: Any) -> Any:
    from relax_mlir.dialects import dims as dim_algebra

    return dim_algebra.product(node.shape(x))


def top_k(node: Node) -> Any:
    x = node.tensor(0)
    axis = node.axis(node.attr("axis", -1), node.rank(x))
    k = int(node.array(1, "k").reshape(-1)[0]) if node.has(1) else node.attr("k")
    result = node.ops.topk(
        x, k=k, axis=axis, ret_type="both", largest=bool(node.attr("largest", 1)), dtype="int64"
    )
    return node.fields(result)


def unique(node: Node) -> Any:
    """Distinct values (or slices along an axis); the other outputs as far as they are used."""
    x, ops = node.tensor(0), node.ops
    if not node.attr("sorted", 1):
        node.refuse("values in order of appearance have no operator")
    axis = node.attr("axis")
    result = ops.unique(
        x,
        sorted=True,
        return_index=node.wants(1),
        return_inverse=node.wants(2),
        return_counts=node.wants(3),
        axis=axis,
    )
    wanted = [node.wants(i) for i in (1, 2, 3)]
    if not any(wanted):
        return [result]
    fields = iter(node.fields(result))
    values = [next(fields), *(next(fields) if w else None for w in wanted)]
    return [values[0], *(v if v is None else node.cast(v, "int64") for v in values[1:])]


CONVERTERS: dict[str, Row] = {
    "Compress": compress,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "NonZero": non_zero,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "TopK": top_k,
    "Unique": unique,
}
"""By operator; see `node.Row`."""
