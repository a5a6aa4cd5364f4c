"""Converters for gathers, scatters, slices at computed positions, and sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.relax.frontend.stablehlo.ops_shape import cut
from relax_mlir.relax.frontend.stablehlo.regions import SortKey, is_plain, reducer_of, sort_keys

# -- gathers ------------------------------------------------------------------------------------


def gather(operation: Operation) -> Any:
    sizes = operation.ints("slice_sizes")
    return _gather(operation, sizes)


def dynamic_gather(operation: Operation) -> Any:
    return _gather(operation, operation.known_dims(2, "the sizes of the slices"))


def _gather(operation: Operation, sizes: Sequence[Dim]) -> Any:
    numbers = operation.attr("dimension_numbers")
    data, indices = operation.tensors(0, 2)
    fields = (
        "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims "
        "start_index_map"
    )
    where = {name: list(getattr(numbers, name)) for name in fields.split()}
    extents = operation.importer.shape_expr(list(sizes))
    return operation.te(_gathered, data, indices, extents, numbers.index_vector_dim, **where)


def _gathered(
    data: Any,
    indices: Any,
    sizes: Sequence[Any],
    vector: int,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    operand_batching_dims: Sequence[int],
    start_indices_batching_dims: Sequence[int],
    start_index_map: Sequence[int],
) -> Any:
    """Slices of the data: one at each index vector, which is clamped so that the slice fits."""
    from relax_mlir import te

    rows = [size for axis, size in enumerate(indices.shape) if axis != vector]
    inner = [
        axis
        for axis in range(len(data.shape))
        if axis not in collapsed_slice_dims and axis not in operand_batching_dims
    ]
    rank = len(rows) + len(inner)
    outer = [axis for axis in range(rank) if axis not in offset_dims]
    shape: list[Any] = [None] * rank
    for axis, size in zip(outer, rows, strict=True):
        shape[axis] = size
    for axis, source in zip(offset_dims, inner, strict=True):
        shape[axis] = sizes[source]

    def element(*at: Any) -> Any:
        row = [at[axis] for axis in outer]
        index: list[Any] = [0] * len(data.shape)
        for number, axis in enumerate(start_index_map):
            start = _component(indices, row, vector, number)
            index[axis] = _clamped(start, data.shape[axis] - sizes[axis])
        for axis, source in zip(operand_batching_dims, start_indices_batching_dims, strict=True):
            index[axis] = row[source - (source > vector)]
        for axis, source in zip(offset_dims, inner, strict=True):
            index[source] = index[source] + at[axis]
        return data(*index)

    return te.compute(shape, element, name="gather")


def _component(indices: Any, row: Sequence[Any], vector: int, number: int) -> Any:
    """A component of an index vector, as the type positions have."""
    whole = vector == len(indices.shape)  # the indices are scalars
    at = row if whole else [*row[:vector], number, *row[vector:]]
    return indices(*at).astype("int64")


def _clamped(start: Any, most: Any) -> Any:
    from relax_mlir import tir

    return tir.max(tir.min(start, most), 0)


def torch_index_select(operation: Operation) -> Any:
    if operation.attr("batch_dims", 0):
        operation.refuse("batch dimensions")
    data, indices = operation.tensors(0, 2)
    return operation.ops.take(data, indices, axis=operation.attr("dim"), mode="clip")


# -- slices at computed positions ---------------------------------------------------------------


def dynamic_slice(operation: Operation) -> Any:
    sizes = operation.ints("slice_sizes")
    starts, dims = operation.operands[1:], operation.dims()
    if all(isinstance(start, Known) for start in starts):
        elements = [start.elements()[0] for start in starts]
        if all(isinstance(v, int) for v in (*elements, *dims)):
            rows = zip(elements, dims, sizes, strict=True)
            begin = [max(min(int(s), int(n) - size), 0) for s, n, size in rows]
            end = [b + size for b, size in zip(begin, sizes, strict=True)]
            return cut(operation, operation.operands[0], begin, end, [1] * len(sizes))
    return operation.te(_dynamic_slice, operation.tensor(0), operation.tensors(1), sizes)


def _dynamic_slice(data: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    from relax_mlir import te

    def element(*at: Any) -> Any:
        rows = zip(at, starts, data.shape, sizes, strict=True)
        return data(*(_clamped(s().astype("int64"), n - size) + i for i, s, n, size in rows))

    return te.compute(sizes, element, name="dynamic_slice")


def real_dynamic_slice(operation: Operation) -> Any:
    """Bounds are tensors: known ones, or a computed start and what is a known size behind it."""
    importer = operation.importer
    strides = operation.known_ints(3, "the strides of a slice")
    if isinstance(importer.collapsed(operation.operands[1]), Known):
        begin, end = (operation.known_dims(i, "the bounds of a slice") for i in (1, 2))
        return cut(operation, operation.operands[0], begin, end, strides)
    sizes = _size_behind(operation)
    if sizes is None or any(stride != 1 for stride in strides):
        operation.refuse("a slice of a size that the program computes")
    start = operation.tensor(1)
    return operation.te(_slice_behind, operation.tensor(0), start, importer.shape_expr(sizes))


def _size_behind(operation: Operation) -> list[Dim] | None:
    """What the limit adds to the start, when that is known."""
    start, limit = list(operation.source.operands)[1:3]
    if isinstance(limit.owner, ir.Block) or limit.owner.operation.name != "stablehlo.add":
        return None
    terms = list(limit.owner.operation.operands)
    for own, other in (terms, terms[::-1]):
        size = operation.importer.collapsed(operation.importer.env[other])
        if own == start and isinstance(size, Known):
            return size.elements()
    return None


def _slice_behind(data: Any, start: Any, sizes: Sequence[Any]) -> Any:
    from relax_mlir import te

    def element(*at: Any) -> Any:
        rows = zip(at, data.shape, sizes, strict=True)
        starts = (
            _clamped(start(axis).astype("int64"), n - size) + i
            for axis, (i, n, size) in enumerate(rows)
        )
        return data(*starts)

    return te.compute(list(sizes), element, name="dynamic_slice")


def dynamic_update_slice(operation: Operation) -> Any:
    data, update = operation.tensors(0, 2)
    return operation.te(_dynamic_update_slice, data, update, operation.tensors(2))


def _dynamic_update_slice(data: Any, update: Any, starts: Sequence[Any]) -> Any:
    from relax_mlir import te

    def element(*at: Any) -> Any:
        inside, index = [], []
        for i, start, size, extent in zip(at, starts, data.shape, update.shape, strict=True):
            place = i - _clamped(start().astype("int64"), size - extent)
            inside += [place >= 0, place < extent]
            index.append(place)
        if not inside:
            return update()
        return te.if_then_else(te.all(*inside), update(*index), data(*at))

    return te.compute(data.shape, element, name="dynamic_update_slice")


# -- scatters -----------------------------------------------------------------------------------

_REDUCTIONS = {
    "second": "update",
    "add": "add",
    "multiply": "mul",
    "maximum": "max",
    "minimum": "min",
}


def scatter(operation: Operation) -> Any:
    """Every element of the updates goes to one place of the flattened operand; those whose place
    is outside go to one behind it, which is dropped."""
    reduction = _REDUCTIONS.get(reducer_of(operation.region(0)) or "")
    if len(operation.operands) != 3 or reduction is None:
        operation.refuse(
            "only one operand, and updates that replace, add, multiply, or take the "
            "largest or smallest, are supported"
        )
    importer, ops = operation.importer, operation.ops
    data, indices, updates = operation.tensors()
    dims = operation.dims()
    size = dim_algebra.product(dims)
    numbers = operation.attr("scatter_dimension_numbers")
    fields = (
        "update_window_dims inserted_window_dims input_batching_dims "
        "scatter_indices_batching_dims scattered_dims_to_operand_dims"
    )
    where = {name: list(getattr(numbers, name)) for name in fields.split()}
    places = operation.te(
        _places,
        indices,
        importer.shape_expr(dims),
        importer.shape_expr(operation.dims(2)),
        numbers.index_vector_dim,
        **where,
    )
    behind = importer.constant([0], data.struct_info.dtype)
    extended = ops.concat([operation.reshape(data, [size]), behind], axis=0)
    count = [dim_algebra.product(operation.dims(2))]
    given = (operation.reshape(x, count) for x in (places, updates))
    result = ops.scatter_elements(extended, *given, axis=0, reduction=reduction)
    kept = cut(operation, result, [0], [size], [1])
    return operation.reshape(kept, dims)


def _places(
    indices: Any,
    dims: Sequence[Any],
    updates: Sequence[Any],
    vector: int,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    input_batching_dims: Sequence[int],
    scatter_indices_batching_dims: Sequence[int],
    scattered_dims_to_operand_dims: Sequence[int],
) -> Any:
    """For each element of the updates, its place in the flattened operand."""
    from relax_mlir import te, tir

    outer = [axis for axis in range(len(updates)) if axis not in update_window_dims]
    inner = [
        axis
        for axis in range(len(dims))
        if axis not in inserted_window_dims and axis not in input_batching_dims
    ]

    def element(*at: Any) -> Any:
        row = [at[axis] for axis in outer]
        index: list[Any] = [tir.const(0, "int64")] * len(dims)
        for number, axis in enumerate(scattered_dims_to_operand_dims):
            index[axis] = _component(indices, row, vector, number)
        for axis, source in zip(input_batching_dims, scatter_indices_batching_dims, strict=True):
            index[axis] = row[source - (source > vector)].astype("int64")
        for axis, source in zip(update_window_dims, inner, strict=True):
            index[source] = index[source] + at[axis].astype("int64")
        inside = [tir.const(True, "bool")]
        place, total = tir.const(0, "int64"), tir.const(1, "int64")
        for coordinate, size in zip(index, dims, strict=True):
            inside += [coordinate >= 0, coordinate < size]
            place, total = place * size + coordinate, total * size
        return te.if_then_else(te.all(*inside), place, total)

    return te.compute(updates, element, name="scatter_places")


# -- sorts --------------------------------------------------------------------------------------


def sort(operation: Operation) -> Any:
    keys = sort_keys(operation.region(0))
    if keys is None:
        operation.refuse("the comparator must compare the same of two rows, by one or more keys")
    axis, ops = operation.attr("dimension", -1), operation.ops
    operands = operation.tensors()
    axis %= max(len(operation.dims()), 1)
    if len(operands) == len(keys) == 1 and is_plain(keys[0].value):
        return ops.sort(operands[0], axis=axis, descending=keys[0].descending)
    order: Any = None
    for key in reversed(keys):
        values = _key_values(operation, operands, key)
        if order is not None:
            values = ops.gather_elements(values, order, axis=axis)
        step = ops.argsort(values, axis=axis, descending=key.descending, dtype="int64")
        order = step if order is None else ops.gather_elements(order, step, axis=axis)
    results = [ops.gather_elements(x, order, axis=axis) for x in operands]
    return results[0] if len(results) == 1 else results


def _key_values(operation: Operation, operands: Sequence[Any], key: SortKey) -> Any:
    """What a comparator compares, for whole tensors."""
    if is_plain(key.value):
        return operands[key.operand]
    importer, block = operation.importer, operation.region(0)
    for argument in block.arguments:
        number = ir.BlockArgument(argument).arg_number
        importer.env[argument] = operands[number // 2]
    for view in list(block.operations)[:-1]:
        importer.convert(view.operation)
    return importer.expr(importer.env[key.value])


def top_k(operation: Operation) -> Any:
    k = operation.attr("k")
    pair = operation.importer.op.topk(
        operation.tensor(0),
        k=k,
        axis=-1,
        ret_type="both",
        largest=operation.attr("largest", True),
        dtype=operation.result_dtype(1),
    )
    both = operation.importer.emit(pair)
    return [operation.importer.emit(both[i]) for i in (0, 1)]


CONVERTERS: dict[str, Converter] = {
    "stablehlo.gather": gather,
    "stablehlo.dynamic_gather": dynamic_gather,
    "stablehlo.torch_index_select": torch_index_select,
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.real_dynamic_slice": real_dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.scatter": scatter,
    "stablehlo.sort": sort,
    "chlo.top_k": top_k,
    "chlo.topk": top_k,
}
"""By operation; see `operation.Converter`."""
