"""Converters for products of matrices and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.relax.frontend.stablehlo.ops_shape import padded

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


# -- products -----------------------------------------------------------------------------------


def dot_general(operation: Operation) -> Any:
    numbers = operation.attr("dot_dimension_numbers")
    return _contract(
        operation,
        (list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)),
        (list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)),
    )


def dot(operation: Operation) -> Any:
    """The last dimension of the one with the first of the other."""
    return _contract(operation, ([], []), ([len(operation.dims()) - 1], [0]))


def _contract(
    operation: Operation,
    batch: tuple[list[int], list[int]],
    contracted: tuple[list[int], list[int]],
) -> Any:
    """A matmul of [batch..., rows, inner] and [batch..., inner, columns], and the shape back."""
    operands, dtype = operation.tensors(0, 2), operation.result_dtype()
    dims = [operation.dims(i) for i in (0, 1)]
    free = [
        [i for i in range(len(dims[side])) if i not in (*batch[side], *contracted[side])]
        for side in (0, 1)
    ]
    if len({x.struct_info.dtype for x in operands}) > 1:
        operands = [operation.ops.astype(x, dtype) for x in operands]
    lhs = operation.transpose(operands[0], [*batch[0], *free[0], *contracted[0]])
    rhs = operation.transpose(operands[1], [*batch[1], *contracted[1], *free[1]])
    outer = [dims[0][i] for i in batch[0]]
    rows, columns = ([dims[side][i] for i in free[side]] for side in (0, 1))
    inner = dim_algebra.product(dims[0][i] for i in contracted[0])
    plain = not batch[0] and len(contracted[0]) == 1 and free[0]
    if not plain:  # else a matmul keeps the rows' dimensions
        lhs = operation.reshape(lhs, [*outer, dim_algebra.product(rows), inner])
    rhs = operation.reshape(rhs, [*outer, inner, dim_algebra.product(columns)])
    product = operation.ops.matmul(lhs, rhs, out_dtype=dtype)
    return operation.reshape(product, [*outer, *rows, *columns])


# -- convolutions -------------------------------------------------------------------------------


def convolution(operation: Operation) -> Any:
    numbers = operation.attr("dimension_numbers")
    rank = len(numbers.input_spatial_dimensions)
    if rank not in _SPATIAL:
        operation.refuse(f"{rank} spatial dimensions; one to three are supported")
    ones = [1] * rank
    strides = operation.ints("window_strides", ones)
    spread = operation.ints("lhs_dilation", ones)
    dilation = operation.ints("rhs_dilation", ones)
    widths = operation.ints("padding", [0] * (2 * rank))
    padding = list(zip(widths[::2], widths[1::2], strict=True))
    data = _arranged(
        operation,
        operation.tensor(0),
        numbers.input_batch_dimension,
        numbers.input_feature_dimension,
        numbers.input_spatial_dimensions,
    )
    kernel = _kernel(operation, numbers)
    groups = operation.attr("feature_group_count", 1)
    batch_groups = operation.attr("batch_group_count", 1)
    if batch_groups > 1:
        data, groups = _batches_as_channels(operation, data, batch_groups), batch_groups
    transposable = strides == ones and groups == 1 and spread != ones
    if transposable and _reaches(kernel, dilation, padding):
        result = _transposed(operation, data, kernel, spread, dilation, padding)
    else:
        data, padding = _padded(operation, data, spread, padding)
        result = _convolved(operation, data, kernel, strides, dilation, padding, groups)
    order = [0] * (rank + 2)
    for source, axis in enumerate(
        (
            numbers.output_batch_dimension,
            numbers.output_feature_dimension,
            *numbers.output_spatial_dimensions,
        )
    ):
        order[axis] = source if source == 0 else rank + 1 if source == 1 else source - 1
    return operation.transpose(result, order)


def _arranged(
    operation: Operation, x: Any, batch: int, feature: int, spatial: Sequence[int]
) -> Any:
    """Channels last, which is what programs from JAX have and what the compiler prefers."""
    return operation.transpose(x, [batch, *spatial, feature])


def _kernel(operation: Operation, numbers: Any) -> Any:
    """[spatial..., input features, output features]."""
    order = [
        *numbers.kernel_spatial_dimensions,
        numbers.kernel_input_feature_dimension,
        numbers.kernel_output_feature_dimension,
    ]
    kernel = operation.transpose(operation.tensor(1), order)
    for axis, reversed_ in enumerate(operation.attr("window_reversal", [])):
        kernel = operation.ops.flip(kernel, axis=axis) if reversed_ else kernel
    return kernel


def _batches_as_channels(operation: Operation, data: Any, groups: int) -> Any:
    """Group g of the output's channels comes from group g of the batch: as channels, those are
    what grouped convolutions take."""
    batch, *spatial, channels = operation.importer.dims_of(data) or []
    if not isinstance(batch, int) or not isinstance(channels, int):
        operation.refuse("batch groups of a batch of unknown size")
    apart = operation.reshape(data, [groups, batch // groups, *spatial, channels])
    rank = len(spatial)
    moved = operation.transpose(apart, [1, *range(2, rank + 2), 0, rank + 2])
    return operation.reshape(moved, [batch // groups, *spatial, groups * channels])


def _padded(
    operation: Operation, data: Any, spread: Sequence[int], padding: Sequence[tuple[int, int]]
) -> tuple[Any, list[tuple[int, int]]]:
    """The data with what a convolution does not take: zeros between elements, negative padding."""
    plain = not any(n > 1 for n in spread) and min(w for pair in padding for w in pair) >= 0
    if plain:
        return data, list(padding)
    low, high = ([0, *(pair[side] for pair in padding), 0] for side in (0, 1))
    between = [0, *(n - 1 for n in spread), 0]
    zero = operation.importer.scalar_like(0, data)
    return padded(operation, data, zero, low, high, between), [(0, 0)] * len(padding)


def _layouts(rank: int) -> dict[str, str]:
    spatial = _SPATIAL[rank]
    return {"data_layout": f"N{spatial}C", "kernel_layout": f"{spatial}IO"}


def _widths(padding: Sequence[tuple[int, int]]) -> list[int]:
    """Relax's order: all that comes before, then all that comes after."""
    return [low for low, _ in padding] + [high for _, high in padding]


def _convolved(
    operation: Operation,
    data: Any,
    kernel: Any,
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[tuple[int, int]],
    groups: int,
) -> Any:
    rank = len(strides)
    convolve = getattr(operation.ops.nn, f"conv{rank}d")
    return convolve(
        data,
        kernel,
        strides=list(strides),
        padding=_widths(padding),
        dilation=list(dilation),
        groups=groups,
        out_dtype=operation.result_dtype(),
        **_layouts(rank),
    )


def _reaches(kernel: Any, dilation: Sequence[int], padding: Sequence[tuple[int, int]]) -> bool:
    """Whether no padding is wider than the kernel reaches, as in transposed convolutions."""
    sizes = kernel.struct_info.dims[: len(dilation)]
    return all(
        isinstance(size, int) and min(pair) >= 0 and max(pair) <= (size - 1) * step
        for size, step, pair in zip(sizes, dilation, padding, strict=True)
    )


def _transposed(
    operation: Operation,
    data: Any,
    kernel: Any,
    spread: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Any:
    """Zeros between the data's elements: a transposed convolution, whose kernel is mirrored."""
    rank = len(spread)
    sizes = kernel.struct_info.dims[:rank]
    for axis in range(rank):
        kernel = operation.ops.flip(kernel, axis=axis)
    reach = [(size - 1) * step for size, step in zip(sizes, dilation, strict=True)]
    inverse = [(r - low, r - high) for r, (low, high) in zip(reach, padding, strict=True)]
    convolve = getattr(operation.ops.nn, f"conv{rank}d_transpose")
    return convolve(
        data,
        kernel,
        strides=list(spread),
        padding=_widths(inverse),
        dilation=list(dilation),
        out_dtype=operation.result_dtype(),
        **_layouts(rank),
    )


CONVERTERS: dict[str, Converter] = {
    "stablehlo.dot": dot,
    "stablehlo.dot_general": dot_general,
    "stablehlo.convolution": convolution,
}
"""By operation; see `operation.Converter`."""
