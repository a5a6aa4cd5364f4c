"""Operators that rearrange elements without looking at their values: reshape, concat, split ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]


def _permute_dims(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    axes = attributes["axes"]
    if axes is not None and info.ndim not in (-1, len(axes)):
        raise InferError(
            f"axes {list(axes)} name {len(axes)} dimensions, got {types.describe(kinds[0])}"
        )
    if info.dims is None:
        return info.with_dims(None, info.ndim if axes is None else len(axes)).to_type()
    order = reversed(range(info.ndim)) if axes is None else infer.normalize_axes(axes, info.ndim)
    return info.with_dims(info.dims[a] for a in order).to_type()


def resolve_reshape(source: Sequence[Dim], target: Sequence[Dim]) -> tuple[Dim, ...]:
    """The target shape with 0 replaced by the source's dimension and -1 by what is left over.

    Raises InferError when the number of elements provably differs.
    """
    empty = dim_algebra.product(source) == 0
    dims = [
        source[i] if dim == 0 and i < len(source) and not empty else dim
        for i, dim in enumerate(target)
    ]
    if dims.count(-1) > 1:
        raise InferError(f"shape {_show(target)} leaves more than one dimension open")
    total = dim_algebra.product(source)
    rest = dim_algebra.product(d for d in dims if d != -1)
    if -1 in dims:
        open_axis = dims.index(-1)
        if rest == 0:
            raise InferError(f"shape {_show(target)} does not say the size left open")
        dims[open_axis] = dim_algebra.exact_divide(total, rest)
        if isinstance(total, int) and isinstance(rest, int) and total % rest:
            raise InferError(f"{total} elements cannot be reshaped to {_show(target)}")
    elif dim_algebra.differ(total, rest):
        raise InferError(f"{total} elements cannot be reshaped to {_show(target)} of {rest}")
    return tuple(dims)


def _show(dims: Sequence[Dim]) -> str:
    return f"({', '.join(map(str, dims))})"


def _reshape(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info, shape = infer.tensor(kinds[0]), infer.shape_dims(kinds[1])
    if shape.dims is None:
        return info.with_dims(None, shape.ndim).to_type()
    if info.dims is not None:
        try:
            return info.with_dims(resolve_reshape(info.dims, shape.dims)).to_type()
        except InferError as error:
            raise InferError(f"{error}: {types.describe(kinds[0])}") from None
    if any(dim in (0, -1) for dim in shape.dims):
        return info.with_dims(None, shape.ndim).to_type()
    return info.with_dims(shape.dims).to_type()


def _flatten(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    if info.dims is None:
        return info.with_dims(None, 1).to_type()
    return info.with_dims([dim_algebra.product(info.dims)]).to_type()


def _batch_flatten(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    if info.dims is None:
        return info.with_dims(None, 2).to_type()
    if not info.dims:
        raise InferError(f"needs a batch dimension, got {types.describe(kinds[0])}")
    return info.with_dims([info.dims[0], dim_algebra.product(info.dims[1:])]).to_type()


def _expand_dims(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    axis = attributes["axis"]
    count = 1 if isinstance(axis, int) else len(axis)
    if info.ndim < 0:
        return info.to_type()
    ndim = info.ndim + count
    axes = infer.normalize_axes(axis, ndim)
    if info.dims is None:
        return info.with_dims(None, ndim).to_type()
    old = iter(info.dims)
    return info.with_dims([1 if i in axes else next(old) for i in range(ndim)]).to_type()


def squeezed_axes(dims: Sequence[Dim], axis: object) -> tuple[int, ...]:
    """The dimensions that squeeze drops: those named by `axis` that may have size one."""
    named = infer.normalize_axes(axis, len(dims))
    return tuple(a for a in named if not isinstance(dims[a], int) or dims[a] == 1)


def _squeeze(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    axis = attributes["axis"]
    if info.dims is None:
        if axis is not None and info.ndim >= 0:
            infer.normalize_axes(axis, info.ndim)
        return info.with_dims(None).to_type()
    if axis is None and any(not isinstance(dim, int) for dim in info.dims):
        return info.with_dims(None).to_type()
    dropped = squeezed_axes(info.dims, axis)
    return info.with_dims(d for i, d in enumerate(info.dims) if i not in dropped).to_type()


def _broadcast_to(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info, shape = infer.tensor(kinds[0]), infer.shape_dims(kinds[1])
    if shape.ndim >= 0 and info.ndim > shape.ndim:
        raise InferError(f"{types.describe(kinds[0])} has more dimensions than the target shape")
    if info.dims is not None and shape.dims is not None:
        for i in range(1, info.ndim + 1):
            if info.dims[-i] != 1 and dim_algebra.differ(info.dims[-i], shape.dims[-i]):
                raise InferError(
                    f"{types.describe(kinds[0])} does not broadcast to {types.describe(kinds[1])}, "
                    f"dimension {-i} is {info.dims[-i]} and {shape.dims[-i]}"
                )
    return info.with_dims(shape.dims, shape.ndim).to_type()


def _tensors(kinds: Kinds) -> tuple[list[TensorInfo], str | None, int]:
    """Operands of one dtype and rank; rank -1 when it is unknown."""
    if not kinds:
        raise InferError("needs at least one tensor")
    infos = [infer.tensor(kind) for kind in kinds]
    dtype = infer.same_dtype(infos, kinds)
    known = [(info.ndim, kind) for info, kind in zip(infos, kinds, strict=True) if info.ndim >= 0]
    for ndim, kind in known[1:]:
        if ndim != known[0][0]:
            raise InferError(
                f"ranks differ: {types.describe(known[0][1])} and {types.describe(kind)}"
            )
    return infos, dtype, known[0][0] if known else -1


def _concat(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infos, dtype, ndim = _tensors(kinds)
    axis = attributes["axis"]
    if axis is None:
        if ndim not in (-1, 1):
            raise InferError(f"without an axis needs vectors, got {types.describe(kinds[0])}")
        axis, ndim = 0, 1
    if ndim < 0:
        return TensorInfo(None, dtype).to_type()
    axis = infer.normalize_axis(axis, ndim)
    known = [(info.dims, kind) for info, kind in zip(infos, kinds, strict=True) if info.dims]
    for dims, kind in known[1:]:
        first, other = (d[:axis] + d[axis + 1 :] for d in (known[0][0], dims))
        infer.require_same_dims(first, other, [known[0][1], kind])
    if len(known) < len(infos):
        return TensorInfo(None, dtype, ndim).to_type()
    result = list(known[0][0])
    result[axis] = 0
    for dims, _ in known:
        result[axis] = dim_algebra.add(result[axis], dims[axis])
    return TensorInfo(tuple(result), dtype).to_type()


def _stack(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infos, dtype, ndim = _tensors(kinds)
    if ndim < 0:
        return TensorInfo(None, dtype).to_type()
    axis = infer.normalize_axis(attributes["axis"] or 0, ndim + 1)
    known = [
        (info.dims, kind) for info, kind in zip(infos, kinds, strict=True) if info.dims is not None
    ]
    for dims, kind in known[1:]:
        infer.require_same_dims(known[0][0], dims, [known[0][1], kind])
    if not known:
        return TensorInfo(None, dtype, ndim + 1).to_type()
    first = known[0][0]
    return TensorInfo((*first[:axis], len(infos), *first[axis:]), dtype).to_type()


_MOST_SECTIONS = 1 << 16


def split_points(size: Dim, indices_or_sections: Any) -> list[Dim]:
    """The size of every piece that a dimension of this size is split into."""
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1:
            raise InferError(f"needs at least one section, got {count}")
        each = dim_algebra.ceildiv(size, count)
        if isinstance(size, int):
            return [max(min(int(each), size - i * int(each)), 0) for i in range(count)]
        last = dim_algebra.subtract(size, dim_algebra.multiply(each, count - 1))
        return [each] * (count - 1) + [last]
    points = [0, *indices_or_sections]
    if any(b < a for a, b in pairwise(points)):
        raise InferError(f"indices {list(indices_or_sections)} must not decrease")
    if isinstance(size, int):
        points = [min(p, size) for p in points]
    sizes: list[Dim] = [b - a for a, b in pairwise(points)]
    return [*sizes, dim_algebra.subtract(size, points[-1])]


def _split(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    sections = attributes["indices_or_sections"]
    count = sections if isinstance(sections, int) else len(sections) + 1
    if count > _MOST_SECTIONS:
        raise InferError(f"gives at most {_MOST_SECTIONS} parts, {count} were asked for")
    axis = infer.normalize_axis(attributes["axis"], info.ndim) if info.ndim >= 0 else 0
    if info.dims is None:
        return types.tuple_type([info.to_type()] * count)
    return types.tuple_type(
        [
            info.with_dims((*info.dims[:axis], size, *info.dims[axis + 1 :])).to_type()
            for size in split_points(info.dims[axis], sections)
        ]
    )


def _repeat(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    repeats, axis = attributes["repeats"], attributes["axis"]
    if axis is None:
        size = None if info.dims is None else [dim_algebra.product((*info.dims, repeats))]
        return info.with_dims(size, 1).to_type()
    if info.ndim >= 0:
        axis = infer.normalize_axis(axis, info.ndim)
    if info.dims is None:
        return info.to_type()
    grown = dim_algebra.multiply(info.dims[axis], repeats)
    return info.with_dims((*info.dims[:axis], grown, *info.dims[axis + 1 :])).to_type()


def _tile(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    repeats = attributes["repeats"]
    repeats = [repeats] if isinstance(repeats, int) else list(repeats)
    if info.ndim < 0:
        return info.to_type()
    ndim = max(info.ndim, len(repeats))
    if info.dims is None:
        return info.with_dims(None, ndim).to_type()
    dims = [*[1] * (ndim - info.ndim), *info.dims]
    counts = [*[1] * (ndim - len(repeats)), *repeats]
    return info.with_dims(
        dim_algebra.multiply(d, r) for d, r in zip(dims, counts, strict=True)
    ).to_type()


def _same(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    if info.ndim >= 0 and "axis" in attributes:
        infer.normalize_axis(attributes["axis"], info.ndim)
    return info.to_type()


def _reverse_sequence(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info, lengths = infer.tensor(kinds[0], "data"), infer.tensor(kinds[1], "seq_lengths")
    infer.require_rank(lengths, 1, kinds[1], "seq_lengths")
    infer.require_integer(lengths, kinds[1], "seq_lengths")
    if info.ndim >= 0:
        infer.normalize_axis(attributes["seq_axis"], info.ndim, "seq_axis")
        infer.normalize_axis(attributes["batch_axis"], info.ndim, "batch_axis")
    return info.to_type()


def _meshgrid(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infos, dtype, ndim = _tensors(kinds)
    if ndim not in (-1, 1):
        raise InferError(f"needs vectors, got {types.describe(kinds[0])}")
    if attributes["indexing"] not in (None, "ij", "xy"):
        raise InferError(f"indexing is 'ij' or 'xy', not '{attributes['indexing']}'")
    if any(info.dims is None for info in infos):
        return types.tuple_type([TensorInfo(None, dtype, len(infos)).to_type()] * len(infos))
    dims = [dim for info in infos for dim in info.dims or ()]
    if attributes["indexing"] == "xy" and len(dims) > 1:
        dims[0], dims[1] = dims[1], dims[0]
    return types.tuple_type([TensorInfo(tuple(dims), dtype).to_type()] * len(infos))


def _collapse_sum_to(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return _collapse(kinds, infer.shape_dims(kinds[1]))


def _collapse_sum_like(kinds: Kinds, attributes: Attributes) -> ir.Type:
    target = infer.tensor(kinds[1], "collapse_target")
    return _collapse(kinds, types.ShapeInfo(target.dims, target.ndim))


def _collapse(kinds: Kinds, shape: types.ShapeInfo) -> ir.Type:
    info = infer.tensor(kinds[0], "data")
    if info.dims is not None and shape.dims is not None:
        wider = infer.broadcast_dims(info.dims, shape.dims, kinds)
        if wider is not None and wider != info.dims:
            raise InferError(
                f"{types.describe(kinds[0])} cannot be summed to {types.describe(kinds[1])}"
            )
    return info.with_dims(shape.dims, shape.ndim).to_type()


_SHAPE = {"shape": "shape"}

define("permute_dims", ["x"], _permute_dims, {"axes": None}, doc="Reorder the dimensions.")
define("reshape", ["x", "shape"], _reshape, kinds=_SHAPE, doc="The elements in another shape.")
define("flatten", ["x"], _flatten, doc="The elements as a vector.")
define("nn.batch_flatten", ["data"], _batch_flatten, doc="Flatten all dimensions but the first.")
define("expand_dims", ["x"], _expand_dims, {"axis": REQUIRED}, doc="Insert size-one dimensions.")
define("squeeze", ["x"], _squeeze, {"axis": None}, doc="Drop dimensions of size one.")
define(
    "broadcast_to", ["x", "shape"], _broadcast_to, kinds=_SHAPE, doc="Repeat size-one dimensions."
)
define("concat", ["*tensors"], _concat, {"axis": 0}, doc="Join tensors along a dimension.")
define("stack", ["*tensors"], _stack, {"axis": 0}, doc="Join tensors along a new dimension.")
define(
    "split",
    ["x"],
    _split,
    {"indices_or_sections": REQUIRED, "axis": 0},
    doc="Cut a dimension into equal sections (the last may be smaller) or at indices.",
)
define("repeat", ["data"], _repeat, {"repeats": REQUIRED, "axis": None}, doc="Repeat elements.")
define("tile", ["data"], _tile, {"repeats": REQUIRED}, doc="Repeat the whole tensor.")
define("flip", ["data"], _same, {"axis": REQUIRED}, doc="Reverse the order along a dimension.")
define(
    "reverse_sequence",
    ["data", "seq_lengths"],
    _reverse_sequence,
    {"seq_axis": 1, "batch_axis": 0},
    doc="Reverse the first seq_lengths[i] elements of every batch entry i.",
)
define(
    "meshgrid", ["*tensors"], _meshgrid, {"indexing": "ij"}, doc="Coordinate grids from vectors."
)
define(
    "collapse_sum_to",
    ["data", "shape"],
    _collapse_sum_to,
    kinds=_SHAPE,
    doc="Sum over the dimensions that broadcasting `shape` to `data` would repeat.",
)
define(
    "collapse_sum_like",
    ["data", "collapse_target"],
    _collapse_sum_like,
    doc="collapse_sum_to with the shape of a tensor.",
)
