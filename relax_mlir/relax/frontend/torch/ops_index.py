"""Converters that select and place elements by position."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import Converter, Importer, Unavailable, dtype_of
from relax_mlir.relax.frontend.torch.ops_shape import (
    product,
    select,
    slice_tensor,
    transpose,
    unsqueeze,
)


def embedding(imp: Importer, weight: Any, indices: Any, *unused: Any, **ignored: Any) -> Any:
    return imp.op.take(weight, indices, axis=0)


def embedding_bag(
    imp: Importer,
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_by_frequency: bool = False,
    mode: int = 0,
    sparse: bool = False,
    sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_index: int | None = -1,
) -> Any:
    """(results, bag of each index, sizes): the sum (mode 0), mean (1) or maximum (2) of the rows
    of every bag; bag i begins at `offsets[i]`.  Rows at the padding's index are left out."""
    if (imp.ndim(weight), imp.ndim(indices), imp.ndim(offsets)) != (2, 1, 1):
        raise Error("embedding_bag takes a matrix of weights, and vectors of indices and offsets")
    (count,), width = imp.shape_of(indices), imp.shape_of(weight)[1]
    bags = imp.shape_of(offsets)[0] - (1 if include_last_offset else 0)
    numbers = imp.emit(imp.op.arange(imp.relax.PrimValue(count), dtype="int64"))
    starts = imp.cast(offsets, "int64")
    after = imp.emit(imp.op.bucketize(numbers, starts, right=True))
    bag = imp.emit(imp.op.subtract(after, imp.relax.const(1, "int64")))
    places = imp.emit(imp.op.expand_dims(bag, -1))
    rows = imp.emit(imp.op.take(weight, indices, axis=0))
    if sample_weights is not None:
        rows = imp.emit(imp.op.multiply(rows, imp.emit(imp.op.expand_dims(sample_weights, -1))))
    kept = imp.emit(imp.op.not_equal(indices, imp.scalar_like(padding_index or 0, indices)))
    if padding_index is None or padding_index < 0:
        kept = imp.emit(imp.op.ones_like(indices, "bool"))
    none = imp.emit(imp.op.zeros([bags], "int64"))
    sizes = imp.emit(imp.op.scatter_nd(none, places, imp.cast(kept, "int64"), reduction="add"))
    least = -np.inf if mode == 2 else 0.0
    neutral = imp.scalar_like(least, rows)
    rows = imp.emit(imp.op.where(imp.emit(imp.op.expand_dims(kept, -1)), rows, neutral))
    start = imp.emit(imp.op.full([bags, width], neutral, dtype_of(rows)))
    reduction = "max" if mode == 2 else "add"
    result = imp.emit(imp.op.scatter_nd(start, places, rows, reduction=reduction))
    column = imp.emit(imp.op.expand_dims(sizes, -1))
    if mode == 1:
        divisor = imp.emit(imp.op.maximum(column, imp.relax.const(1, "int64")))
        result = imp.emit(imp.op.divide(result, imp.cast(divisor, dtype_of(rows))))
    if mode == 2:
        empty = imp.emit(imp.op.equal(column, imp.relax.const(0, "int64")))
        result = imp.emit(imp.op.where(empty, imp.scalar_like(0.0, rows), result))
    return [result, bag, sizes, Unavailable("the indices of the maxima of bags")]


def index_select(imp: Importer, x: Any, dim: int, index: Any) -> Any:
    return imp.op.take(x, index, axis=dim)


def take(imp: Importer, x: Any, index: Any) -> Any:
    return imp.op.take(imp.emit(imp.op.reshape(x, [-1])), index, axis=0, mode="wrap")


def gather(imp: Importer, x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    return imp.op.gather_elements(x, index, axis=dim)


def take_along_dim(imp: Importer, x: Any, index: Any, dim: int | None = None) -> Any:
    if dim is None:
        x, index, dim = (*(imp.emit(imp.op.reshape(v, [-1])) for v in (x, index)), 0)
    return imp.op.gather_elements(x, index, axis=dim)


# -- x[i, j, ...] with tensors -----------------------------------------------------------------


def _expand_masks(imp: Importer, indices: Sequence[Any]) -> list[Any]:
    """Indices by position: a mask becomes the places where it is true."""
    result: list[Any] = []
    for index in indices:
        if index is None or dtype_of(index) != "bool":
            result.append(index)
            continue
        places = imp.emit(imp.op.nonzero(index))
        for axis in range(imp.ndim(index)):
            row = imp.emit(imp.op.take(places, imp.relax.const(axis, "int64"), axis=0))
            result.append(row)
    return result


def index(imp: Importer, x: Any, indices: Sequence[Any]) -> Any:
    """Advanced indexing as numpy has it; None leaves an axis as it is.

    The indexed axes go to the front.  If they stand side by side, their result goes back to their
    place.
    """
    given = _expand_masks(imp, indices)
    axes = [axis for axis, value in enumerate(given) if value is not None]
    chosen = [given[axis] for axis in axes]
    if len(axes) == 1 and axes[0] > 0:
        return imp.op.take(x, chosen[0], axis=axes[0], mode="wrap")
    rank = imp.ndim(x)
    rest = [axis for axis in range(rank) if axis not in axes]
    picked = imp.emit(imp.op.index_tensor(imp.permute(x, [*axes, *rest]), chosen))
    first, adjacent = axes[0], axes == list(range(axes[0], axes[0] + len(axes)))
    if first == 0 or not adjacent:
        return picked
    width = max(imp.ndim(value) for value in chosen)
    order = [*range(width, width + first), *range(width), *range(width + first, imp.ndim(picked))]
    return imp.permute(picked, order)


def index_put(
    imp: Importer, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> Any:
    if len(indices) == 1 and dtype_of(indices[0]) == "bool" and imp.ndim(values) == 0:
        return _masked_put(imp, x, indices[0], values, accumulate)
    given = _expand_masks(imp, indices)
    if any(value is None for value in given):
        given = _all_indices(imp, x, given)
    values = imp.cast(values, dtype_of(x))
    return imp.op.index_put(x, tuple(given), values, accumulate=accumulate)


def _masked_put(imp: Importer, x: Any, mask: Any, value: Any, accumulate: bool) -> Any:
    for _ in range(imp.ndim(x) - imp.ndim(mask)):
        mask = imp.emit(imp.op.expand_dims(mask, -1))
    value = imp.cast(value, dtype_of(x))
    new = imp.emit(imp.op.add(x, value)) if accumulate else value
    return imp.op.where(mask, new, x)


def _all_indices(imp: Importer, x: Any, given: Sequence[Any]) -> list[Any]:
    """Indices for every axis, so shaped that they broadcast to the shape of `x[given]`."""
    shape = imp.shape_of(x)
    given = [*given, *[None] * (len(shape) - len(given))]
    axes = [axis for axis, value in enumerate(given) if value is not None]
    width = max(imp.ndim(given[axis]) for axis in axes)
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    place = axes[0] if adjacent else 0
    rank = len(shape) - len(axes) + width
    kept = [d for d in range(rank) if not place <= d < place + width]
    result: list[Any] = []
    for axis, value in enumerate(given):
        sizes: list[Any] = [1] * rank
        if value is None:
            at, extent = kept.pop(0), shape[axis]
            sizes[at] = extent
            value = imp.emit(imp.op.arange(0, extent, 1, dtype="int64"))
        else:
            own = imp.shape_of(value)
            sizes[place + width - len(own) : place + width] = own
        result.append(imp.emit(imp.op.reshape(value, sizes)))
    return result


def masked_select(imp: Importer, x: Any, mask: Any) -> Any:
    shape = imp.shape_of(x)
    if imp.shape_of(mask) != shape:
        mask = imp.emit(imp.op.broadcast_to(mask, shape))
    return index(imp, x, [mask])


def nonzero(imp: Importer, x: Any) -> Any:
    return imp.permute(imp.emit(imp.op.nonzero(x)), [1, 0])


# -- scatter -----------------------------------------------------------------------------------

_REDUCTIONS = {
    None: "update",
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
}


def scatter(
    imp: Importer, x: Any, dim: int, index: Any, src: Any, *, reduce: str | None = None
) -> Any:
    shape = imp.shape_of(index)
    if not imp.is_tensor(src):
        filler = imp.scalar_like(src, x)
        updates = imp.emit(imp.op.full(shape, filler, dtype_of(x)))
    else:
        updates = src
        for axis, size in enumerate(shape):
            if imp.shape_of(updates)[axis] != size:
                updates = imp.bind(slice_tensor(imp, updates, axis, 0, size))
    return imp.op.scatter_elements(x, index, updates, axis=dim, reduction=_REDUCTIONS[reduce])


def scatter_add(imp: Importer, x: Any, dim: int, index: Any, src: Any) -> Any:
    return scatter(imp, x, dim, index, src, reduce="add")


def scatter_reduce(
    imp: Importer, x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if not include_self or reduce not in _REDUCTIONS:
        raise Error(f"scatter_reduce with '{reduce}', include_self={include_self} has no operator")
    return scatter(imp, x, dim, index, src, reduce=reduce)


def index_add(imp: Importer, x: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    if alpha != 1:
        source = imp.emit(imp.op.multiply(source, imp.scalar_like(alpha, source)))
    return _index_update(imp, x, dim, index, source, accumulate=True)


def index_copy(imp: Importer, x: Any, dim: int, index: Any, source: Any) -> Any:
    return _index_update(imp, x, dim, index, source, accumulate=False)


def index_fill(imp: Importer, x: Any, dim: int, index: Any, value: Any) -> Any:
    filler = imp.cast(value, dtype_of(x)) if imp.is_tensor(value) else imp.scalar_like(value, x)
    shape = imp.shape_of(x)
    shape[dim] = imp.shape_of(index)[0]
    source = imp.emit(imp.op.broadcast_to(filler, shape))
    return _index_update(imp, x, dim, index, source, accumulate=False)


def _index_update(
    imp: Importer, x: Any, dim: int, index: Any, source: Any, accumulate: bool
) -> Any:
    """Along one axis: the other axes are put in front of no one, `x` is turned for it."""
    turned = transpose(imp, x, 0, dim)
    put = imp.op.index_put(turned, (index,), transpose(imp, source, 0, dim), accumulate=accumulate)
    return transpose(imp, imp.emit(put), 0, dim)


def slice_scatter(
    imp: Importer, x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    size = imp.shape_of(x)[dim]
    whole = end is None or (isinstance(end, int) and end >= size)
    return imp.op.slice_scatter(
        x, src, 0 if start is None else start, size if whole else end, step, axis=dim
    )


def select_scatter(imp: Importer, x: Any, src: Any, dim: int, index: int) -> Any:
    size = imp.shape_of(x)[dim]
    place = size + index if index < 0 else index
    source = imp.emit(imp.op.expand_dims(src, dim))
    return imp.op.slice_scatter(x, source, place, place + 1, 1, axis=dim)


def one_hot(imp: Importer, x: Any, classes: int = -1) -> Any:
    if classes < 0:
        raise Error("one_hot needs its number of classes: it is not in the values' type")
    on, off = (imp.relax.const(value, "int64") for value in (1, 0))
    return imp.op.one_hot(x, on, off, classes, axis=-1)


def bucketize(
    imp: Importer, x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    return imp.op.bucketize(x, boundaries, out_int32=out_int32, right=right)


def searchsorted(
    imp: Importer,
    sequence: Any,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Any:
    if imp.ndim(sequence) != 1 or sorter is not None:
        raise Error("searchsorted is imported for one sorted sequence without a sorter")
    return imp.op.bucketize(x, sequence, out_int32=out_int32, right=right or side == "right")


def masked_scatter(imp: Importer, x: Any, mask: Any, source: Any) -> Any:
    """The n-th true place of the mask gets the n-th element of the source."""
    shape = imp.shape_of(x)
    if imp.shape_of(mask) != shape:
        mask = imp.emit(imp.op.broadcast_to(mask, shape))
    row = imp.cast(imp.emit(imp.op.reshape(mask, [-1])), "int64")
    counts = imp.emit(imp.op.cumsum(row, axis=0, dtype="int64"))
    place = imp.emit(imp.op.subtract(counts, imp.scalar_like(1, counts)))
    place = imp.emit(imp.op.maximum(place, imp.scalar_like(0, place)))
    picked = imp.emit(imp.op.take(imp.emit(imp.op.reshape(source, [-1])), place, axis=0))
    return imp.op.where(mask, imp.emit(imp.op.reshape(picked, shape)), x)


# -- Python's x[...] ---------------------------------------------------------------------------


def getitem(imp: Importer, value: Any, key: Any) -> Any:
    """Subscripts: a field of several results, or Python's indexing of a tensor (`torch.fx`)."""
    if not imp.is_tensor(value):
        return value[key]
    if imp.relax.is_tuple(value) if hasattr(imp.relax, "is_tuple") else False:
        return value[key]
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [k for k in keys if not imp.is_tensor(k)]:
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        given = sum(k is not None and k is not Ellipsis for k in keys)
        keys[at : at + 1] = [slice(None)] * (imp.ndim(value) - given)
    return _subscript(imp, value, keys)


def _subscript(imp: Importer, x: Any, keys: list[Any]) -> Any:
    axis = 0
    tensors: list[Any] = []
    for key in keys:
        if key is None:
            x = imp.bind(unsqueeze(imp, x, axis))
        elif isinstance(key, slice):
            x = imp.bind(slice_tensor(imp, x, axis, key.start, key.stop, key.step or 1))
        elif imp.is_tensor(key) or isinstance(key, (list, np.ndarray)):
            tensors += [None] * (axis - len(tensors))
            tensors.append(key if imp.is_tensor(key) else imp.relax.const(np.asarray(key)))
        else:
            x = imp.bind(select(imp, x, axis, key))
            continue
        axis += 1
    return index(imp, x, tensors) if tensors else x


def setitem_error(imp: Importer, *args: Any) -> Any:
    raise Error("assignment to a part of a tensor: export the model with torch.export instead")


def unique(imp: Importer, x: Any, sorted: bool = True, *rest: Any, **kw: Any) -> Any:
    result = imp.op.unique(x, sorted=True)
    return [imp.emit(result)]


def item(imp: Importer, x: Any) -> Any:
    """The scalar as a tensor: what follows computes with it as with a number."""
    size = product(imp.shape_of(x))
    if size != 1:
        raise Error(f"item of a tensor with {size} elements")
    return imp.op.reshape(x, [])


CONVERTERS: dict[Any, Converter] = {
    "embedding": embedding,
    **dict.fromkeys(
        ("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag"), embedding_bag
    ),
    "index_select": index_select,
    "take": take,
    "gather": gather,
    "take_along_dim": take_along_dim,
    "index": index,
    "_unsafe_index": index,
    "index_put": index_put,
    "_unsafe_index_put": index_put,
    "masked_select": masked_select,
    "nonzero": nonzero,
    "argwhere": nonzero,
    "scatter": scatter,
    "scatter_add": scatter_add,
    "scatter_reduce": scatter_reduce,
    "index_add": index_add,
    "index_copy": index_copy,
    "index_fill": index_fill,
    "slice_scatter": slice_scatter,
    "select_scatter": select_scatter,
    "masked_scatter": masked_scatter,
    "one_hot": one_hot,
    "bucketize": bucketize,
    "searchsorted": searchsorted,
    "unique": unique,
    "_unique2": unique,
    "item": item,
    "_local_scalar_dense": item,
    "getitem": getitem,
    "setitem": setitem_error,
    operator.getitem: getitem,
}
"""By the operator's name without namespace, overload and trailing underscore."""
