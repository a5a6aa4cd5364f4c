"""Operators that select or place elements by position: take, strided_slice, gather, scatter ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]
TAKE_MODES = ("fast", "wrap", "clip", "nan")
SCATTER_REDUCTIONS = ("update", "add", "mul", "mean", "max", "min")


def _indices(kind: ir.Type, what: str = "indices") -> TensorInfo:
    info = infer.tensor_or_scalar(kind, what)
    infer.require_integer(info, kind, what)
    return info


def _take(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, indices = infer.tensor(kinds[0], "x"), _indices(kinds[1])
    axis, mode = attributes["axis"], attributes["mode"]
    if mode not in TAKE_MODES:
        raise InferError(f"mode '{mode}' is none of {', '.join(TAKE_MODES)}")
    if axis is None:
        infer.require_rank(data, 1, kinds[0], "without an axis x")
        axis = 0
    if data.ndim < 0 or indices.ndim < 0:
        return data.with_dims(None).to_type()
    axis = infer.normalize_axis(axis, data.ndim)
    if data.dims is None or indices.dims is None:
        return data.with_dims(None, data.ndim - 1 + indices.ndim).to_type()
    return data.with_dims((*data.dims[:axis], *indices.dims, *data.dims[axis + 1 :])).to_type()


def slice_bounds(size: Dim, begin: Dim, end: Dim, stride: int, inbound: bool) -> tuple[Dim, Dim]:
    """Where a slice starts and how many elements it has, with Python's rules for bounds.

    `inbound` promises 0 <= begin <= end <= size, which keeps symbolic results short.
    """
    if stride == 0:
        raise InferError("a stride must not be zero")
    if isinstance(size, int) and isinstance(begin, int) and isinstance(end, int):
        chosen = range(size)[slice(begin, _open_end(end, stride, size), stride)]
        return chosen.start, len(chosen)
    if stride > 0:
        start, stop = _from_end(size, begin), _from_end(size, end)
        stop = stop if inbound else _at_most(stop, size)
        start = start if inbound else _at_least(start, 0)
        length = dim_algebra.ceildiv(dim_algebra.subtract(stop, start), stride)
    else:
        last = dim_algebra.subtract(size, 1)
        start, stop = _from_end(size, begin), _from_end(size, end)
        start = start if inbound else _at_most(start, last)
        stop = stop if inbound else _at_least(stop, -1)
        length = dim_algebra.ceildiv(dim_algebra.subtract(start, stop), -stride)
    # Where the other bound reaches over, the length is negative here and the slice is empty.
    ordered = inbound or (stride == 1 and start == 0) or length == size
    return start, length if ordered else _at_least(length, 0)


def _open_end(end: int, stride: int, size: int) -> int | None:
    # TVM spells "to the first element" of a reversed slice as an end below -size.
    return None if stride < 0 and end < -size else end


def _from_end(size: Dim, index: Dim) -> Dim:
    """Count a negative index from the end."""
    return dim_algebra.add(size, index) if isinstance(index, int) and index < 0 else index


def _at_least(value: Dim, low: int) -> Dim:
    return max(value, low) if isinstance(value, int) else dim_algebra.maximum(value, low)


def _at_most(value: Dim, high: Dim) -> Dim:
    """min(value, high), decided where the difference is a constant or the value is huge."""
    if isinstance(value, int) and value >= 2**31 - 1:
        return high
    difference = dim_algebra.subtract(high, value)
    if isinstance(difference, int):
        return value if difference >= 0 else high
    return dim_algebra.minimum(value, high)


def slice_parameters(
    axes: Sequence[Dim],
    begin: Sequence[Dim],
    end: Sequence[Dim],
    strides: Sequence[Dim] | None,
    dims: Sequence[Dim],
    inbound: bool,
) -> list[tuple[int, Dim, int, Dim]]:
    """(axis, begin, stride, length) of every sliced dimension."""
    strides = [1] * len(axes) if strides is None else strides
    if not len(axes) == len(begin) == len(end) == len(strides):
        raise InferError(
            f"axes, begin, end and strides have {len(axes)}, {len(begin)}, {len(end)} and "
            f"{len(strides)} entries"
        )
    if any(not isinstance(v, int) for v in (*axes, *strides)):
        raise InferError("axes and strides must be constants")
    rows = []
    resolved = infer.normalize_axes([int(a) for a in axes], len(dims))
    for axis, b, e, s in zip(resolved, begin, end, strides, strict=True):
        start, length = slice_bounds(dims[axis], b, e, int(s), inbound)
        rows.append((axis, start, int(s), length))
    return rows


def _strided_slice(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "x")
    names = ("axes", "begin", "end", "strides")
    shapes = [
        None if kind is None else infer.shape_dims(kind, what).dims
        for kind, what in zip(kinds[1:], names, strict=True)
    ]
    axes, begin, end = shapes[:3]
    if info.dims is None or axes is None or begin is None or end is None:
        return info.with_dims(None, info.ndim).to_type()
    inbound = bool(attributes["assume_inbound"])
    dims = list(info.dims)
    try:
        rows = slice_parameters(axes, begin, end, shapes[3], info.dims, inbound)
    except InferError as error:
        raise InferError(f"{error}: {types.describe(kinds[0])}") from None
    for axis, _, _, length in rows:
        dims[axis] = length
    return info.with_dims(dims).to_type()


def _dynamic_strided_slice(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "x")
    for kind, what in zip(kinds[1:], ("begin", "end", "strides"), strict=True):
        bound = _indices(kind, what)
        infer.require_rank(bound, 1, kind, what)
        if info.ndim >= 0 and bound.dims and dim_algebra.differ(bound.dims[0], info.ndim):
            raise InferError(
                f"{what} needs one entry a dimension: {types.describe(kind)} for "
                f"{types.describe(kinds[0])}"
            )
    return info.with_dims(None, info.ndim).to_type()


def _gather_elements(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, indices = infer.tensor(kinds[0], "data"), _indices(kinds[1])
    if data.ndim >= 0:
        infer.normalize_axis(attributes["axis"], data.ndim)
        infer.require_rank(indices, data.ndim, kinds[1], "indices")
    return indices.with_dtype(data.dtype).to_type()


def _gather_nd(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, indices = infer.tensor(kinds[0], "data"), _indices(kinds[1])
    batch = attributes["batch_dims"]
    if data.dims is None or indices.dims is None or not isinstance(indices.dims[-1], int):
        return data.with_dims(None).to_type()
    width = indices.dims[-1]
    if not 0 <= batch < indices.ndim or batch + width > data.ndim:
        raise InferError(
            f"indices {types.describe(kinds[1])} select {width} of the dimensions of "
            f"{types.describe(kinds[0])} after {batch} batch dimensions"
        )
    infer.require_same_dims(data.dims[:batch], indices.dims[:batch], kinds)
    return data.with_dims((*indices.dims[:-1], *data.dims[batch + width :])).to_type()


def _check_reduction(attributes: Attributes) -> None:
    if attributes["reduction"] not in SCATTER_REDUCTIONS:
        raise InferError(
            f"reduction '{attributes['reduction']}' is none of {', '.join(SCATTER_REDUCTIONS)}"
        )


def _scatter_elements(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, indices = infer.tensor(kinds[0], "data"), _indices(kinds[1])
    updates = infer.tensor(kinds[2], "updates")
    _check_reduction(attributes)
    infer.same_dtype([data, updates], [kinds[0], kinds[2]])
    if data.ndim >= 0:
        infer.normalize_axis(attributes["axis"], data.ndim)
        infer.require_rank(indices, data.ndim, kinds[1], "indices")
    if indices.dims is not None and updates.dims is not None:
        infer.require_same_dims(indices.dims, updates.dims, kinds[1:])
    return data.to_type()


def _scatter_nd(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, indices = infer.tensor(kinds[0], "data"), _indices(kinds[1])
    updates = infer.tensor(kinds[2], "updates")
    _check_reduction(attributes)
    infer.same_dtype([data, updates], [kinds[0], kinds[2]])
    if data.dims is None or indices.dims is None or updates.dims is None:
        return data.to_type()
    width = indices.dims[-1]
    if isinstance(width, int):
        if width > data.ndim:
            raise InferError(f"{types.describe(kinds[1])} indexes more than {data.ndim} dimensions")
        infer.require_same_dims(
            (*indices.dims[:-1], *data.dims[width:]), updates.dims, [kinds[1], kinds[2]]
        )
    return data.to_type()


def _index_shape(data: TensorInfo, kinds: Kinds) -> tuple[Dim, ...] | None:
    """The shape of data[indices] for integer index tensors that broadcast."""
    if not kinds:
        raise InferError("needs at least one index tensor")
    if data.ndim >= 0 and len(kinds) > data.ndim:
        raise InferError(f"{len(kinds)} index tensors for a tensor of rank {data.ndim}")
    chosen: tuple[Dim, ...] | None = ()
    for kind in kinds:
        info = _indices(kind)
        if chosen is None or info.dims is None:
            chosen = None
        else:
            chosen = infer.broadcast_dims(chosen, info.dims, [kinds[0], kind])
    if chosen is None or data.dims is None:
        return None
    return (*chosen, *data.dims[len(kinds) :])


def _index_tensor(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data = infer.tensor(kinds[0], "data")
    return data.with_dims(_index_shape(data, kinds[1:])).to_type()


def _index_put(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, values = infer.tensor(kinds[0], "data"), infer.tensor(kinds[-1], "values")
    infer.same_dtype([data, values], [kinds[0], kinds[-1]])
    shape = _index_shape(data, kinds[1:-1])
    if shape is not None and values.dims is not None:
        infer.broadcast_dims(shape, values.dims, [kinds[0], kinds[-1]])
    return data.to_type()


def _slice_scatter(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, source = infer.tensor(kinds[0], "input_tensor"), infer.tensor(kinds[1], "src")
    infer.same_dtype([data, source], kinds[:2])
    names = ("start", "end", "step")
    bounds = [infer.scalar_int(k, what) for k, what in zip(kinds[2:], names, strict=True)]
    if not isinstance(bounds[2], int):
        raise InferError("step must be a constant")
    if data.ndim >= 0:
        infer.normalize_axis(attributes["axis"], data.ndim)
    if data.dims is None or source.dims is None:
        return data.to_type()
    axis = infer.normalize_axis(attributes["axis"], data.ndim)
    _, length = slice_bounds(data.dims[axis], bounds[0], bounds[1], bounds[2], False)
    infer.require_same_dims(
        (*data.dims[:axis], length, *data.dims[axis + 1 :]), source.dims, kinds[:2]
    )
    return data.to_type()


def _one_hot(kinds: Kinds, attributes: Attributes) -> ir.Type:
    indices = _indices(kinds[0])
    on, off = (infer.tensor_or_scalar(kind, "on_value and off_value") for kind in kinds[1:])
    dtype = infer.same_dtype([on, off], kinds[1:])
    if on.ndim or off.ndim:
        raise InferError(f"on_value and off_value must be scalars, got {types.describe(kinds[1])}")
    if indices.ndim < 0:
        return TensorInfo(None, dtype).to_type()
    axis = infer.normalize_axis(attributes["axis"], indices.ndim + 1)
    if indices.dims is None:
        return TensorInfo(None, dtype, indices.ndim + 1).to_type()
    depth = attributes["depth"]
    return TensorInfo((*indices.dims[:axis], depth, *indices.dims[axis:]), dtype).to_type()


define(
    "take",
    ["x", "indices"],
    _take,
    {"axis": None, "mode": "fast"},
    doc="The entries of x at indices along a dimension; mode says what an index out of range does.",
)
define(
    "strided_slice",
    ["x", "axes", "begin", "end", "strides?"],
    _strided_slice,
    {"assume_inbound": False},
    kinds={"axes": "shape", "begin": "shape", "end": "shape", "strides": "shape"},
    doc="x[begin:end:strides] along some dimensions.",
)
define(
    "dynamic_strided_slice",
    ["x", "begin", "end", "strides"],
    _dynamic_strided_slice,
    doc="strided_slice with bounds known at run time only.",
)
define(
    "gather_elements",
    ["data", "indices"],
    _gather_elements,
    {"axis": 0},
    doc="data with the coordinate along a dimension replaced by indices (torch.gather).",
)
define(
    "gather_nd",
    ["data", "indices"],
    _gather_nd,
    {"batch_dims": 0},
    doc="Slices of data at coordinates held by the last dimension of indices.",
)
define(
    "scatter_elements",
    ["data", "indices", "updates"],
    _scatter_elements,
    {"axis": 0, "reduction": "update"},
    doc="A copy of data with updates placed at indices along a dimension.",
)
define(
    "scatter_nd",
    ["data", "indices", "updates"],
    _scatter_nd,
    {"reduction": "update"},
    doc="A copy of data with slices placed at coordinates held by the last dimension of indices.",
)
define("index_tensor", ["data", "*indices"], _index_tensor, doc="data[indices], as numpy.")
define(
    "index_put",
    ["data", "*indices", "values"],
    _index_put,
    {"accumulate": False},
    doc="A copy of data with data[indices] = values (+= with accumulate).",
)
define(
    "slice_scatter",
    ["input_tensor", "src", "start", "end", "step"],
    _slice_scatter,
    {"axis": 0},
    kinds={"start": "prim", "end": "prim", "step": "prim"},
    doc="A copy of the input with src placed at [start:end:step] along a dimension.",
)
define(
    "one_hot",
    ["indices", "on_value", "off_value"],
    _one_hot,
    {"depth": REQUIRED, "axis": -1},
    kinds={"on_value": "prim", "off_value": "prim"},
    doc="A new dimension of size depth that is on_value at the index and off_value elsewhere.",
)
