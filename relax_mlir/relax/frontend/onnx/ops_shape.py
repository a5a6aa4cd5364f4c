"""Converters that rearrange, repeat and create tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.known import Known, is_non_negative, object_array, same
from relax_mlir.relax.frontend.onnx.attributes import dtype_name
from relax_mlir.relax.frontend.onnx.node import Node, Row

_TO_THE_END = 1 << 29
"""Exporters write large bounds (1e9, 2^31 - 1, 2^63 - 1) for "to the end" of an axis."""


def shape_known(node: Node) -> Any:
    """Shape and Size of a tensor whose shape is not known: asked when the program runs."""
    x = node.tensor(0)
    if node.op_type == "Size":
        return node.ops.size(x)
    if node.attr("start") is not None or node.attr("end") is not None:
        node.refuse("the shape of an input is known only when the program runs")
    return node.ops.shape_to_tensor(node.ops.shape_of(x))


def reshape(node: Node) -> Any:
    """0 keeps a size (unless `allowzero`), -1 takes what is left."""
    x = node.tensor(0)
    wanted = node.dims(1, "the shape") if node.has(1) else list(node.attr("shape", []))
    return node.reshape(x, resolved_shape(node, node.shape(x), wanted, node.attr("allowzero", 0)))


def resolved_shape(
    node: Node, shape: Sequence[Dim], wanted: Sequence[Dim], allow_zero: int = 0
) -> list[Dim]:
    if not allow_zero:
        if any(size == 0 for size in wanted[len(shape) :]):
            node.refuse(f"a 0 keeps the size of a dimension that {len(shape)} dimensions lack")
        wanted = [shape[i] if size == 0 else size for i, size in enumerate(wanted)]
    wanted = list(wanted)
    if -1 not in wanted:
        return wanted
    at = wanted.index(-1)
    rest = [*wanted[:at], *wanted[at + 1 :]]
    # Sizes on both sides cancel, so that n * 4 // n is 4 whatever n is.
    left, right = list(shape), list(rest)
    for size in rest:
        if size in left and size != 0:
            left.remove(size)
            right.remove(size)
    total, known = dim_algebra.product(left), dim_algebra.product(right)
    if known == 0:
        node.refuse(f"-1 in the shape {wanted} of an empty tensor")
    wanted[at] = dim_algebra.exact_divide(total, known)
    return wanted


def transpose(node: Node) -> Any:
    x = node.tensor(0)
    return node.permute(x, node.attr("perm") or list(reversed(range(node.rank(x)))))


def squeeze(node: Node) -> Any:
    x = node.tensor(0)
    axes = node.ints(1, "axes")
    rank = node.rank(x)
    if axes is None:
        axes = [i for i, size in enumerate(node.shape(x)) if size == 1]
    return node.ops.squeeze(x, axis=[node.axis(a, rank) for a in axes]) if axes else x


def unsqueeze(node: Node) -> Any:
    x = node.tensor(0)
    axes = node.ints(1, "axes") or []
    rank = node.rank(x) + len(axes)
    at = {node.axis(axis, rank) for axis in axes}
    rest = iter(node.shape(x))
    return node.reshape(x, [1 if i in at else next(rest) for i in range(rank)])


def concat(node: Node) -> Any:
    tensors = node.tensors()
    axis = node.axis(node.attr("axis", 1), node.rank(tensors[0]))
    return node.ops.concat(tensors, axis=axis) if len(tensors) > 1 else tensors[0]


def split(node: Node) -> Any:
    x = node.tensor(0)
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    size = node.shape(x)[axis]
    given = node.dims(1, "split") if node.has(1) else node.attr("split")
    sizes: list[Dim] = list(given or [])
    if given is None:
        count = node.attr("num_outputs") or node.output_count
        part = dim_algebra.ceildiv(size, count)
        sizes = [part] * (count - 1)
        sizes.append(dim_algebra.subtract(size, dim_algebra.multiply(part, count - 1)))
    return slices(node, x, axis, sizes)


def slices(node: Node, x: Any, axis: int, sizes: Sequence[Dim]) -> list[Any]:
    """Parts of the given sizes, one after the other."""
    parts: list[Any] = []
    start: Dim = 0
    for size in sizes:
        end = dim_algebra.add(start, size)
        parts.append(node.slice(x, axis, start, end))
        start = end
    return parts


def slice_(node: Node) -> Any:
    x = node.tensor(0)
    rank, shape = node.rank(x), node.shape(x)
    starts = _bounds(node, 1, "starts")
    ends = _bounds(node, 2, "ends")
    axes = node.ints(3, "axes") or list(range(len(starts)))
    steps = node.ints(4) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        counts = f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes, {len(steps)} steps"
        node.refuse(f"needs as many of each: {counts}")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = node.axis(axis, rank)
        x = _slice_axis(node, x, axis, shape[axis], start, end, step)
    return x


def _bounds(node: Node, index: int, name: str) -> list[Dim]:
    return node.dims(index, name) if node.has(index) else list(node.attr(name))


def _slice_axis(node: Node, x: Any, axis: int, size: Dim, start: Dim, end: Dim, step: int) -> Any:
    """One axis; bounds count from the end when negative, and are cut to the size."""
    if step < 0:
        if not (isinstance(size, int) and isinstance(start, int) and isinstance(end, int)):
            if (start, step) == (-1, -1) and isinstance(end, int) and end <= -_TO_THE_END:
                return node.ops.flip(x, axis=axis)
            node.refuse("a negative step over a symbolic size")
        index = list(range(*slice(start, end, step).indices(size)))
        if end < -size:
            index = list(range(*slice(start, None, step).indices(size)))
        return node.ops.take(x, node.const(np.array(index, "int64")), axis=axis)
    begin, stop = (_cut(node, bound, size) for bound in (start, end))
    if begin == 0 and stop == size and step == 1:
        return x
    if isinstance(begin, int) and isinstance(stop, int):
        stop = max(begin, stop)
    return node.slice(x, axis, begin, stop, step)


def _cut(node: Node, bound: Dim, size: Dim) -> Dim:
    """A bound as an offset within 0..size."""
    if isinstance(bound, int) and bound >= _TO_THE_END:
        return size
    if not is_non_negative(bound):
        if isinstance(bound, int) or is_non_negative(dim_algebra.subtract(-1, bound)):
            bound = dim_algebra.add(size, bound)
            if isinstance(bound, int):
                return max(bound, 0)
            return bound if is_non_negative(bound) else dim_algebra.maximum(bound, 0)
        node.refuse(f"the bound {bound} may be negative or not")
    if is_non_negative(dim_algebra.subtract(bound, size)):
        return size
    if is_non_negative(dim_algebra.subtract(size, bound)):
        return bound
    return dim_algebra.minimum(bound, size)


def expand(node: Node) -> Any:
    x = node.tensor(0)
    return node.broadcast(x, broadcast_dims(node, node.shape(x), node.dims(1, "the shape")))


def broadcast_dims(node: Node, a: Sequence[Dim], b: Sequence[Dim]) -> list[Dim]:
    """The shape two shapes broadcast to.  Refuses sizes of which it is not known."""
    rank = max(len(a), len(b))
    left = [*[1] * (rank - len(a)), *a]
    right = [*[1] * (rank - len(b)), *b]
    result: list[Dim] = []
    for x, y in zip(left, right, strict=True):
        if y == 1 or same(x, y):
            result.append(x)
        elif x == 1 or (same(x, y) is None and _share_a_symbol(x, y)):
            result.append(y)
        else:
            node.refuse(f"{x} and {y} do not broadcast, or not for all values of the symbols")
    return result


def _share_a_symbol(a: Dim, b: Dim) -> bool:
    """Sizes such as n and min(512, n), which are compared when the program runs."""
    return bool({*dim_algebra.symbols(a)} & {*dim_algebra.symbols(b)})


def agreeing(node: Node, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands, of whose sizes n and min(512, n) are compared when the program runs."""
    shapes = [node.importer.dims_of(value) for value in (x, y)]
    if shapes[0] is None or shapes[1] is None:
        return x, y
    ends = zip(reversed(shapes[0]), reversed(shapes[1]), strict=False)
    if not any(same(a, b) is None and _share_a_symbol(a, b) for a, b in ends):
        return x, y
    pairs = [(x, shapes[0]), (y, shapes[1])]
    narrow = min(range(2), key=lambda i: len(shapes[i] or ()))
    (small, own), (_, other) = pairs[narrow], pairs[1 - narrow]
    lead = len(other) - len(own)
    wanted = [
        b if same(a, b) is None and _share_a_symbol(a, b) else a
        for a, b in zip(own, other[lead:], strict=True)
    ]
    wide = node.broadcast(small, wanted)
    return (wide, y) if narrow == 0 else (x, wide)


def tile(node: Node) -> Any:
    x = node.tensor(0)
    if node.version < 6:
        axis = node.scalar(2)
        repeats: list[Dim] = [1] * node.rank(x)
        repeats[axis] = node.scalar(1)
    else:
        repeats = node.dims(1, "the repeats")
    if all(isinstance(r, int) for r in repeats):
        return node.ops.tile(x, repeats)
    shape = node.shape(x)
    pairs = [d for r, s in zip(repeats, shape, strict=True) for d in (r, s)]
    ones = [d for s in shape for d in (1, s)]
    wide = node.broadcast(node.reshape(x, ones), pairs)
    return node.reshape(
        wide, [dim_algebra.multiply(r, s) for r, s in zip(repeats, shape, strict=True)]
    )


def flatten(node: Node) -> Any:
    x = node.tensor(0)
    rank = node.rank(x)
    axis = node.attr("axis", 1)
    return flat_matrix(node, x, axis + rank if axis < 0 else axis)


def flat_matrix(node: Node, x: Any, axis: int) -> Any:
    """The tensor as a matrix, cut before an axis."""
    shape = node.shape(x)
    rows, columns = (dim_algebra.product(part) for part in (shape[:axis], shape[axis:]))
    return node.reshape(x, [rows, columns])


def constant_of_shape(node: Node) -> Any:
    value = node.attr("value")
    array = np.zeros((), "float32") if value is None else np.asarray(value).reshape(())
    dims = node.dims(0, "the shape")
    return node.ops.full(node.importer.shape_expr(dims), node.const(array), array.dtype.name)


def range_(node: Node) -> Any:
    start, limit, delta = (
        node.known(i, name) for i, name in enumerate(("start", "limit", "delta"))
    )
    values = [
        v.elements()[0] if v.is_symbolic else v.array.reshape(-1)[0].item()
        for v in (start, limit, delta)
    ]
    dtype = start.dtype
    if all(v.numbers() is not None for v in (start, limit, delta)):
        numbers: list[Any] = values
        return Known(np.arange(*numbers, dtype=start.array.dtype))
    first, last, step = values
    if not isinstance(step, int) or step == 0:
        node.refuse(f"a step of {step}")
    distance = dim_algebra.subtract(last, first)
    if step < 0:
        distance, step = dim_algebra.subtract(0, distance), -step
    count = dim_algebra.ceildiv(distance, step)
    if not is_non_negative(count):
        count = dim_algebra.maximum(count, 0)
    row = node.ops.arange(0, node.importer.shape_expr([count])[0], 1, dtype=dtype)
    scaled = node.ops.multiply(row, node.const(values[2], dtype))
    return node.ops.add(
        scaled, node.cast(node.importer.expr(Known(object_array([first], ()), "int64")), dtype)
    )


def eye_like(node: Node) -> Any:
    x = node.tensor(0)
    dtype = dtype_name(int(node.attr("dtype"))) if node.attr("dtype") else node.dtype(x)
    rows, columns = node.shape_of_rank(x, 2)
    if isinstance(rows, int) and isinstance(columns, int):
        return node.const(np.eye(rows, columns, node.attr("k", 0)), dtype)
    return node.ops.eye_like(x, node.attr("k", 0), dtype=dtype)


def trilu(node: Node) -> Any:
    x = node.tensor(0)
    k = int(node.array(1, "the diagonal").reshape(-1)[0]) if node.has(1) else 0
    return getattr(node.ops, "triu" if node.attr("upper", 1) else "tril")(x, k)


def one_hot(node: Node) -> Any:
    """Indices outside -depth..depth-1 give rows of the off value."""
    indices, ops = node.tensor(0), node.ops
    depth = int(node.array(1, "the depth").reshape(-1)[0])
    values = node.tensor(2)
    off, on = (ops.take(values, node.const(i, "int64"), axis=0) for i in (0, 1))
    rank = node.rank(indices)
    axis = node.axis(node.attr("axis", -1), rank + 1)
    index = node.cast(indices, "int64")
    index = ops.where(
        ops.less(index, node.const(0, "int64")), ops.add(index, node.const(depth, "int64")), index
    )
    index = ops.expand_dims(index, axis=[axis])
    row = np.arange(depth).reshape([depth if i == axis else 1 for i in range(rank + 1)])
    return ops.where(ops.equal(index, node.const(row, "int64")), on, off)


def depth_to_space(node: Node) -> Any:
    x = node.tensor(0)
    n, c, h, w = node.shape_of_rank(x, 4)
    b = node.attr("blocksize")
    inner = dim_algebra.floordiv(c, b * b)
    if node.attr("mode", "DCR") == "DCR":
        shape, order = [n, b, b, inner, h, w], [0, 3, 4, 1, 5, 2]
    else:
        shape, order = [n, inner, b, b, h, w], [0, 1, 4, 2, 5, 3]
    turned = node.permute(node.reshape(x, shape), order)
    return node.reshape(turned, [n, inner, dim_algebra.multiply(h, b), dim_algebra.multiply(w, b)])


def space_to_depth(node: Node) -> Any:
    x = node.tensor(0)
    n, c, h, w = node.shape_of_rank(x, 4)
    b = node.attr("blocksize")
    rows, columns = dim_algebra.floordiv(h, b), dim_algebra.floordiv(w, b)
    order = [0, 3, 5, 1, 2, 4] if node.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    turned = node.permute(node.reshape(x, [n, c, rows, b, columns, b]), order)
    return node.reshape(turned, [n, dim_algebra.multiply(c, b * b), rows, columns])


def pad(node: Node) -> Any:
    x = node.tensor(0)
    rank = node.rank(x)
    pads = node.ints(1, "pads") or node.attr("paddings")
    axes = node.ints(3) if node.has(3) else list(range(rank))
    if pads is None or len(pads) != 2 * len(axes or []):
        found = "none" if pads is None else len(pads)
        node.refuse(f"needs two pads for each of {len(axes or [])} axes, has {found}")
    before, after = [0] * rank, [0] * rank
    for i, axis in enumerate(axes or []):
        axis = node.axis(axis, rank)
        before[axis], after[axis] = pads[i], pads[len(pads) // 2 + i]
    mode = node.attr("mode", "constant")
    for axis in range(rank):  # negative pads crop
        low, high = min(before[axis], 0), min(after[axis], 0)
        if low or high:
            x = node.slice(x, axis, -low, dim_algebra.add(node.shape(x)[axis], high))
    widths = [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
    if mode == "constant":
        return pad_constant(node, x, widths, node.optional(2))
    return _pad_by_index(node, x, widths, mode)


def pad_constant(node: Node, x: Any, widths: Sequence[tuple[int, int]], value: Any) -> Any:
    """By concatenating filled tensors where the value is no number known now."""
    given = node.value(2) if node.op_type == "Pad" else None
    number: float | None = node.attr("value", 0.0) if value is None else None
    if isinstance(given, Known) and given.numbers() is not None:
        number = given.array.reshape(-1)[0].item() if given.array.size else 0
    flat = [w for pair in widths for w in pair]
    if number is not None and abs(number) < 1 << 24:
        return node.ops.nn.pad(x, pad_width=flat, pad_value=float(number))
    filler = node.reshape(value, []) if value is not None else node.like(number or 0, x)
    for axis, pair in enumerate(widths):
        parts: list[Any] = []
        for width in pair:
            dims = node.shape(x)
            dims[axis] = width
            parts.append(node.broadcast(filler, dims) if width else None)
        joined = [parts[0], x, parts[1]]
        kept = [p for p in joined if p is not None]
        x = node.ops.concat(kept, axis=axis) if len(kept) > 1 else x
    return x


_PadMode: TypeAlias = Literal["reflect", "edge", "wrap"]
_PAD_MODES: dict[str, _PadMode] = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def _pad_by_index(node: Node, x: Any, widths: Sequence[tuple[int, int]], mode: str) -> Any:
    if mode not in _PAD_MODES:
        node.refuse(f"unknown mode '{mode}'")
    for axis, pair in enumerate(widths):
        if pair == (0, 0):
            continue
        size = node.shape(x)[axis]
        if not isinstance(size, int) or size == 0:
            node.refuse(f"mode '{mode}' along the size {size}")
        index = np.pad(np.arange(size), pair, mode=_PAD_MODES[mode])
        x = node.ops.take(x, node.const(index, "int64"), axis=axis)
    return x


def reverse_sequence(node: Node) -> Any:
    return node.ops.reverse_sequence(
        node.tensor(0),
        node.tensor(1),
        seq_axis=node.attr("time_axis", 0),
        batch_axis=node.attr("batch_axis", 1),
    )


CONVERTERS: dict[str, Row] = {
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": flatten,
    "OneHot": one_hot,
    "Pad": pad,
    "Range": range_,
    "Reshape": reshape,
    "ReverseSequence": reverse_sequence,
    "Shape": shape_known,
    "Size": shape_known,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Trilu": trilu,
    "Unsqueeze": unsqueeze,
}
"""By operator; see `node.Row`."""
