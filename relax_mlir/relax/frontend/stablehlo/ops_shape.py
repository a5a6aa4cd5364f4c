"""Converters for operations that arrange elements: broadcasts, reshapes, slices, padding, iota."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.known import Known, object_array
from relax_mlir.relax.frontend.stablehlo import fold
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.relax.frontend.stablehlo.values import Spread, equal_dims, source_of

_IOTA_LIMIT = 64
"""Elements of the longest iota that is a constant."""


# -- broadcasts ---------------------------------------------------------------------------------


def spread(operation: Operation, value: Any, axes: Sequence[int], shape: Sequence[Dim]) -> Any:
    """A value whose i-th dimension becomes dimension `axes[i]` of `shape`, the others repeat it."""
    importer = operation.importer
    whole, source = operation.dims(), source_of(value)
    own = importer.dims_of(source)
    assert own is not None  # those of `whole` are known
    shape = tuple(shape)
    if not own:
        return Spread(source, shape) if shape else source
    kept = list(axes)[len(whole) - len(own) :]  # numpy's rule: the last dimensions
    if kept != sorted(kept):
        order = sorted(range(len(kept)), key=kept.__getitem__)
        source = transposed(operation, source, order)
        own, kept = [own[i] for i in order], sorted(kept)
    placed: list[Dim] = [1] * len(shape)
    for axis, dim in zip(kept, own, strict=True):
        placed[axis] = dim
    if equal_dims(placed, shape):
        return reshaped(operation, source, placed)
    return Spread(reshaped(operation, source, placed[kept[0] :]), shape)


def broadcast_in_dim(operation: Operation) -> Any:
    axes = operation.ints("broadcast_dimensions")
    return spread(operation, operation.operands[0], axes, operation.result_shape())


def dynamic_broadcast_in_dim(operation: Operation) -> Any:
    shape = operation.known_dims(1, "the shape to broadcast to")
    axes = operation.ints("broadcast_dimensions")
    return spread(operation, operation.operands[0], axes, shape)


def broadcast(operation: Operation) -> Any:
    """New dimensions in front."""
    dims = operation.dims()
    shape = [*operation.ints("broadcast_sizes"), *dims]
    axes = range(len(shape) - len(dims), len(shape))
    return spread(operation, operation.operands[0], list(axes), shape)


# -- one tensor ---------------------------------------------------------------------------------


def reshaped(operation: Operation, value: Any, dims: Sequence[Dim]) -> Any:
    """A value in another shape; what is known stays known."""
    importer = operation.importer
    static = all(isinstance(dim, int) for dim in dims)
    if isinstance(value, Known) and static:
        if list(value.shape) == list(dims):
            return value
        return Known(value.array.reshape(dims), value.dtype if value.is_symbolic else None)
    folded = fold.rearranged(value, importer, lambda a: a.reshape(dims)) if static else None
    if folded is not None:
        return folded
    if isinstance(value, Spread) and not importer.dims_of(value.source):
        return Spread(value.source, tuple(dims)) if dims else value.source
    return importer.reshaped(importer.sized(importer.expr(value)), dims)


def reshape(operation: Operation) -> Any:
    return reshaped(operation, operation.operands[0], operation.result_shape())


def dynamic_reshape(operation: Operation) -> Any:
    dims = operation.known_dims(1, "the shape to reshape to")
    return reshaped(operation, operation.operands[0], dims)


def transposed(operation: Operation, value: Any, order: Sequence[int]) -> Any:
    """A value with its dimensions in another order."""
    if isinstance(value, Known) and not value.is_symbolic:
        return Known(np.transpose(value.array, order))
    importer = operation.importer
    if isinstance(value, Spread) and not importer.dims_of(value.source):
        return Spread(value.source, tuple(value.dims[i] for i in order))
    return operation.transpose(importer.sized(importer.expr(value)), order)


def transpose(operation: Operation) -> Any:
    return transposed(operation, operation.operands[0], operation.ints("permutation"))


def reverse(operation: Operation) -> Any:
    x = operation.tensor(0)
    for axis in operation.ints("dimensions"):
        x = operation.ops.flip(x, axis=axis)
    return x


def cut(
    operation: Operation,
    value: Any,
    begin: Sequence[Dim],
    end: Sequence[Dim],
    strides: Sequence[int],
) -> Any:
    """The elements of a value from `begin` to `end` in steps, along every dimension."""
    importer = operation.importer
    bounds = (*begin, *end)
    if all(isinstance(bound, int) for bound in bounds):
        index = tuple(map(slice, begin, end, strides))
        folded = fold.rearranged(value, importer, lambda a: a[index])
        if folded is not None:
            return folded
    dims = importer.dims_of(value)
    assert dims is not None
    whole = [
        dim_algebra.equal(b, 0) and dim_algebra.equal(e, dim) and step == 1
        for b, e, dim, step in zip(begin, end, dims, strides, strict=True)
    ]
    axes = [axis for axis, unchanged in enumerate(whole) if not unchanged]
    if not axes:
        return value
    x = importer.sized(importer.expr(value))
    parts = ([values[axis] for axis in axes] for values in (begin, end, strides))
    return operation.ops.strided_slice(x, axes, *map(importer.shape_expr, parts))


def slice_(operation: Operation) -> Any:
    begin, end = (operation.ints(f"{name}_indices") for name in ("start", "limit"))
    return cut(operation, operation.operands[0], begin, end, operation.ints("strides"))


# -- several tensors ----------------------------------------------------------------------------


def concatenate(operation: Operation) -> Any:
    axis = operation.attr("dimension")
    folded = fold.joined(operation.operands, operation.importer, axis)
    if folded is not None:
        return folded
    parts = operation.tensors()
    return parts[0] if len(parts) == 1 else operation.ops.concat(parts, axis=axis)


def padded(
    operation: Operation,
    x: Any,
    value: Any,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] = (),
) -> Any:
    """`value` (a scalar tensor) before, after and between the elements; negative widths cut."""
    interior = list(interior) or [0] * len(low)
    if not any((*low, *high, *interior)):
        return x
    number = (
        value.data.numpy().item() if isinstance(value, operation.importer.relax.Constant) else None
    )
    plain = not any(interior) and min((*low, *high)) >= 0
    if plain and isinstance(number, (int, float)) and not isinstance(number, bool):
        widths = [width for pair in zip(low, high, strict=True) for width in pair]
        if isinstance(number, float) or abs(number) < 1 << 24:
            return operation.ops.nn.pad(x, pad_width=widths, pad_value=float(number))
    return operation.te(_pad_elements, x, value, list(low), list(high), interior)


def _pad_elements(
    data: Any, value: Any, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Any:
    from relax_mlir import te, tir

    shape = [
        before + after + tir.max(size * (between + 1) - between, 0)
        for size, before, after, between in zip(data.shape, low, high, interior, strict=True)
    ]

    def element(*at: Any) -> Any:
        return padded_element(data, value(), at, list(zip(low, high, strict=True)), interior)

    return te.compute(shape, element, name="pad")


def padded_element(
    data: Any,
    value: Any,
    at: Sequence[Any],
    padding: Sequence[tuple[int, int]],
    interior: Sequence[int],
) -> Any:
    """The te element of `data` at coordinates in its padded form, `value` in the padding."""
    from relax_mlir import te

    inside, index = [], []
    rows = zip(at, padding, interior, data.shape, strict=True)
    for place, (before, after), between, size in rows:
        moved, step = place - before if before else place, between + 1
        index.append(moved // step if between else moved)
        inside += [moved >= 0] if before > 0 else []
        inside += [moved < size * step] if after > 0 or between else []
        inside += [moved % step == 0] if between else []
    element = data(*index)
    return te.if_then_else(te.all(*inside), element, value) if inside else element


def pad(operation: Operation) -> Any:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return padded(operation, *operation.tensors(), *(operation.ints(name) for name in names))


def dynamic_pad(operation: Operation) -> Any:
    widths = (operation.known_ints(i, "the widths of the padding") for i in (2, 3, 4))
    return padded(operation, *operation.tensors(0, 2), *widths)


# -- sizes and positions ------------------------------------------------------------------------


def get_dimension_size(operation: Operation) -> Any:
    dim = operation.dims()[operation.attr("dimension")]
    return Known(object_array([dim], ()), "int32")


def _positions(operation: Operation, shape: Sequence[Dim], dtype: str) -> Any:
    """The coordinate along a dimension, repeated along the others."""
    axis, importer = operation.attr("iota_dimension"), operation.importer
    size = shape[axis]
    placed: list[Dim] = [size, *[1] * (len(shape) - axis - 1)]
    if isinstance(size, int) and size <= _IOTA_LIMIT:
        from relax_mlir.dialects.relax.constants import numpy_dtype

        source: Any = Known(np.arange(size).astype(numpy_dtype(dtype)).reshape(placed))
    else:
        counted = importer.bound(importer.op.arange(importer.relax.PrimValue(size), dtype="int64"))
        source = importer.reshaped(importer.ops.astype(counted, dtype), placed)
    return source if equal_dims(placed, shape) else Spread(source, tuple(shape))


def iota(operation: Operation) -> Any:
    return _positions(operation, operation.result_shape(), operation.result_dtype())


def dynamic_iota(operation: Operation) -> Any:
    shape = operation.known_dims(0, "the shape of an iota")
    return _positions(operation, shape, operation.result_dtype())


CONVERTERS: dict[str, Converter] = {
    "stablehlo.broadcast": broadcast,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.dynamic_broadcast_in_dim": dynamic_broadcast_in_dim,
    "stablehlo.reshape": reshape,
    "stablehlo.dynamic_reshape": dynamic_reshape,
    "stablehlo.transpose": transpose,
    "stablehlo.reverse": reverse,
    "stablehlo.slice": slice_,
    "stablehlo.concatenate": concatenate,
    "stablehlo.pad": pad,
    "stablehlo.dynamic_pad": dynamic_pad,
    "stablehlo.get_dimension_size": get_dimension_size,
    "stablehlo.iota": iota,
    "stablehlo.dynamic_iota": dynamic_iota,
}
"""By operation; see `operation.Converter`."""
