"""Operators that read elements at computed places: slices, gathers, selections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr, as_expr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import (
    as_int,
    broadcast_indices,
    broadcast_shapes,
    int_list,
    named,
    normalize_axis,
    product,
    unravel,
)

_MODES = ("fast", "clip", "wrap", "nan")


def take(a: Tensor, indices: Any, axis: Any = None, batch_dims: int = 0, mode: str = "fast") -> Any:
    """Elements of `a` along an axis (of the flat tensor by default) at `indices`.

    mode: "fast" trusts the indices, "clip" limits them, "wrap" takes them modulo the size, "nan"
    gives NaN outside.  Negative indices count from the end in "wrap" only, as in TVM.
    """
    if mode not in _MODES:
        raise Error(f"take: mode must be one of {', '.join(_MODES)}, given {mode!r}")
    scalar = None if isinstance(indices, Tensor) else as_expr(indices)
    index_shape: list[PrimExpr] = [] if scalar is not None else indices.shape
    rank = len(a.shape)
    along = None if axis is None else normalize_axis(axis, rank)
    batch = batch_dims % len(index_shape) if index_shape and batch_dims else 0
    size = product(a.shape) if along is None else a.shape[along]
    before = [] if along is None else a.shape[:along]
    after = [] if along is None else a.shape[along + 1 :]
    shape = [*before, *index_shape[batch:], *after]

    def body(*i: Any) -> PrimExpr:
        inner_rank = len(index_shape) - batch
        head, inner = i[: len(before)], i[len(before) : len(before) + inner_rank]
        raw = scalar if scalar is not None else indices(*head[:batch], *inner)
        index = _bounded(raw, size, mode)
        rest = i[len(before) + inner_rank :]
        where = unravel(index, a.shape) if along is None else [*head, index, *rest]
        value = a(*where)
        if mode != "nan":
            return value
        inside = O.logical_and(O.less_equal(0, raw), O.less(raw, size))
        absent = float("nan") if dtypes.is_float(a.dtype) else 0
        return I.if_then_else(inside, value, O.const(absent, a.dtype))

    return named(shape, body, "T_take", "injective")


def _bounded(index: PrimExpr, size: PrimExpr, mode: str) -> PrimExpr:
    if mode == "clip":
        return O.min(O.max(O.const(0, index.dtype), index), O.subtract(size, 1))
    if mode == "wrap":
        return O.floormod(index, size)
    return index


def _inside(index: PrimExpr, size: PrimExpr, assume_inbound: bool) -> PrimExpr:
    """An index as it is, or with negative ones counted from the end and others moved inside."""
    if assume_inbound:
        return index
    index = O.cast(size.dtype, index)
    wrapped = I.if_then_else(O.less(index, 0), O.add(index, size), index)
    return O.max(O.min(wrapped, O.subtract(size, 1)), O.const(0, size.dtype))


def gather(data: Tensor, axis: int, indices: Tensor, *, assume_inbound: bool = True) -> Tensor:
    """Element `[.., indices[i], ..]` of data along an axis, for every element of indices.

    Unless `assume_inbound`, negative indices count from the end and others are limited.
    """
    axis = normalize_axis(axis, len(data.shape))

    def body(*i: Any) -> PrimExpr:
        chosen = _inside(indices(*i), data.shape[axis], assume_inbound)
        return data(*i[:axis], chosen, *i[axis + 1 :])

    return named(indices.shape, body, "T_gather", "injective")


def gather_nd(
    a: Tensor, indices: Tensor, batch_dims: int = 0, *, assume_inbound: bool = True
) -> Tensor:
    """Slices of `a` whose leading indices are the columns of `indices` (M, ...); see gather."""
    outer = indices.shape[1:]

    def read(m: int, head: Sequence[Any]) -> PrimExpr:
        return indices(O.const(m), *head)

    return gather_slices(a, read, outer, indices.shape[0], batch_dims, assume_inbound)


def gather_slices(
    a: Tensor,
    read: Callable[[int, Sequence[Any]], PrimExpr],
    outer: Sequence[PrimExpr],
    depth: Any,
    batch_dims: int,
    assume_inbound: bool,
) -> Tensor:
    """gather_nd with `read(m, head)` for the m-th index of the slice at `head`."""
    count = as_int(depth)
    if count is None or count > len(a.shape) - batch_dims:
        raise Error(f"gather_nd: {depth} leading indices into {len(a.shape)} dimensions")
    shape = [*outer, *a.shape[batch_dims + count :]]

    def body(*i: Any) -> PrimExpr:
        head = i[: len(outer)]
        found = [
            _inside(read(m, head), a.shape[batch_dims + m], assume_inbound) for m in range(count)
        ]
        return a(*head[:batch_dims], *found, *i[len(outer) :])

    return named(shape, body, "T_gather_nd", "injective")


def strided_slice(
    a: Tensor,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[Any] | None = None,
    axes: Sequence[Any] | None = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Tensor:
    """`a[begin:end:stride]` on every axis or on `axes`.

    Negative positions count from the end.  slice_mode "size" reads `end` as sizes (-1: to the
    end).  With constant arguments and sizes positions are clipped as Python clips them; symbolic
    ones must be inside, unless `assume_inbound` is False.
    """
    if slice_mode not in ("end", "size"):
        raise Error(f'strided_slice: slice_mode must be "end" or "size", given {slice_mode!r}')
    along = list(range(len(begin))) if axes is None else [normalize_axis(x, a.ndim) for x in axes]
    steps = [1] * len(along) if strides is None else [*int_list(strides)]
    steps += [1] * (len(along) - len(steps))
    shape, starts = list(a.shape), [O.const(0, s.dtype) for s in a.shape]
    factors = [1] * a.ndim
    for position, axis in enumerate(along):
        limit = end[position] if position < len(end) else shape[axis]
        step = steps[position] if slice_mode == "end" else 1
        size = shape[axis]
        if slice_mode == "size":
            count = as_int(as_expr(limit))
            low = as_expr(begin[position])
            limit = size if count == -1 else simplify(O.add(low, limit))
        starts[axis], shape[axis] = slice_bounds(begin[position], limit, step, size, assume_inbound)
        factors[axis] = step

    name = "T_strided_slice" if axes is None else "T_strided_slice_with_axes"
    return slice_elements(a, starts, factors, shape, name)


def slice_elements(
    a: Tensor, starts: Sequence[Any], steps: Sequence[int], shape: Sequence[Any], name: str
) -> Tensor:
    """The elements from `starts` on, `steps` apart, of a slice whose shape is known."""

    def body(*i: Any) -> PrimExpr:
        entries = zip(i, steps, starts, strict=True)
        return a(*[O.add(O.multiply(x, step), start) for x, step, start in entries])

    return named(shape, body, name, "injective")


def slice_bounds(
    begin: Any, end: Any, step: int, size: PrimExpr, assume_inbound: bool = True
) -> tuple[PrimExpr, PrimExpr]:
    """The first position and the number of elements of `begin:end:step` on an axis."""
    if step == 0:
        raise Error("strided_slice: a stride of 0")
    known = as_int(size)
    first, last = as_int(begin), as_int(end)
    if known is not None and first is not None and last is not None:
        positions = range(*slice(first, _python_end(last, step, known), step).indices(known))
        return O.const(positions.start, size.dtype), O.const(len(positions), size.dtype)
    low = _from_start(as_expr(begin), size, assume_inbound)
    high = _from_start(as_expr(end), size, assume_inbound)
    if last is not None and last >= 2**31 - 1:  # the usual spelling of "to the end"
        high = size
    span = O.subtract(high, low) if step > 0 else O.subtract(low, high)
    count = O.floordiv(O.add(span, abs(step) - 1), abs(step))
    return O.cast(size.dtype, low), O.cast(size.dtype, simplify(count))


def _python_end(end: int, step: int, size: int) -> int | None:
    # A negative end below -size means "before the first element" in TVM.
    return None if step < 0 and end < -size else end


def _from_start(position: PrimExpr, size: PrimExpr, assume_inbound: bool) -> PrimExpr:
    known = as_int(position)
    if known is not None:
        moved = position if known >= 0 else O.add(size, known)
    elif assume_inbound:
        moved = position
    else:
        moved = O.select(O.less(position, 0), O.add(position, size), position)
    if assume_inbound:
        return simplify(moved)
    return O.max(O.min(moved, size), 0)


def dynamic_strided_slice(
    a: Tensor, begin: Tensor, end: Tensor, strides: Tensor, output_shape: Sequence[Any]
) -> Tensor:
    """`a[begin:end:stride]` with positions read from tensors; the output's shape is given."""
    del end

    def body(*i: Any) -> PrimExpr:
        where: list[PrimExpr] = []
        for axis, index in enumerate(i):
            step = O.cast(index.dtype, strides(O.const(axis)))
            start = O.cast(index.dtype, begin(O.const(axis)))
            size = O.cast(index.dtype, a.shape[axis])
            start = O.select(O.less(start, 0), O.add(start, size), start)
            limit = O.subtract(size, 1)
            start = O.max(O.min(start, O.select(O.less(step, 0), limit, size)), 0)
            where.append(O.add(start, O.multiply(index, step)))
        return a(*where)

    return named(list(output_shape), body, "T_strided_slice_dynamic", "injective")


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """x where the condition holds (is not zero), y elsewhere; all broadcast."""
    shapes = [t.shape for t in (condition, x, y) if isinstance(t, Tensor)]
    shape = shapes[0]
    for other in shapes[1:]:
        shape = broadcast_shapes(shape, other)

    def read(t: Any, i: Any) -> PrimExpr:
        return t(*broadcast_indices(i, t.shape, shape)) if isinstance(t, Tensor) else as_expr(t)

    def body(*i: Any) -> PrimExpr:
        held = O.cast("bool", read(condition, i))
        return O.select(held, read(x, i), read(y, i))

    return named(shape, body, "T_where", "broadcast")


def one_hot(
    indices: Tensor, on_value: Any, off_value: Any, depth: int, axis: int, dtype: object
) -> Tensor:
    """`on_value` where the new axis equals the index, `off_value` elsewhere."""
    rank = len(indices.shape) + 1
    axis = normalize_axis(axis, rank)
    shape = list(indices.shape)
    shape.insert(axis, O.const(depth, shape[0].dtype if shape else "int32"))
    on, off = O.cast(dtype, as_expr(on_value)), O.cast(dtype, as_expr(off_value))

    def body(*i: Any) -> PrimExpr:
        index = indices(*i[:axis], *i[axis + 1 :])
        return O.select(O.equal(index, O.cast(index.dtype, i[axis])), on, off)

    return named(shape, body, "T_one_hot", "injective")


def sequence_mask(
    data: Tensor, valid_length: Tensor, mask_value: float = 0, axis: int = 0
) -> Tensor:
    """data with `mask_value` from position `valid_length[batch]` on, along axis 0 or 1."""
    axis = normalize_axis(axis, len(data.shape))
    if axis > 1:
        raise Error(f"sequence_mask: axis must be 0 or 1, given {axis}")
    masked = O.const(mask_value, data.dtype)

    def body(*i: Any) -> PrimExpr:
        length = valid_length(i[1 - axis])
        outside = O.less_equal(length, O.cast(length.dtype, i[axis]))
        return I.if_then_else(outside, masked, data(*i))

    return named(data.shape, body, "T_sequence_mask", "injective")


def index_tensor(data: Tensor, indices: Sequence[Tensor], *, assume_inbound: bool = True) -> Tensor:
    """numpy's `data[i0, i1, ...]` with index tensors, which broadcast; negative ones wrap.  Unless
    `assume_inbound`, what is outside still is limited."""
    tensors = list(indices)
    if len(tensors) > len(data.shape):
        raise Error(f"{len(tensors)} index tensors into {len(data.shape)} dimensions")
    outer = tensors[0].shape
    for tensor in tensors[1:]:
        outer = broadcast_shapes(outer, tensor.shape)
    shape = [*outer, *data.shape[len(tensors) :]]

    def body(*i: Any) -> PrimExpr:
        head = i[: len(outer)]
        found: list[PrimExpr] = []
        for axis, tensor in enumerate(tensors):
            index = tensor(*broadcast_indices(head, tensor.shape, outer))
            if assume_inbound:
                wrapped = O.add(index, O.cast(index.dtype, data.shape[axis]))
                found.append(O.select(O.less(index, 0), wrapped, index))
            else:
                found.append(_inside(index, data.shape[axis], False))
        return data(*found, *i[len(outer) :])

    return named(shape, body, "advanced_index", "injective")


adv_index = index_tensor
