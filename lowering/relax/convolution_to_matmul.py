"""relax-convolution-to-matmul."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import (
    CONVOLUTIONS,
    is_channels_last,
    spatial_rank,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, dtype_of, replace
from relax_mlir.mlir import ir


@register_pass("relax-convolution-to-matmul")
@dataclass(frozen=True)
class ConvolutionToMatmul(Pass):
    """Write convolutions of single pixels, channels last, as matrix products.

    A 1x1 convolution is a matmul of the image's pixels; with a stride, of those that it reads.  A
    transposed convolution whose stride is its kernel is a matmul whose columns are the pixels that
    each input makes.  Products are fused, packed and tiled as all others are.
    """

    def run(self, state: ModuleState) -> None:
        values = ConstantValues(state)
        for function in relax_functions(state):
            for op in list(walk(function)):
                spec = spec_of(op)
                if spec is None or spec.name not in CONVOLUTIONS:
                    continue
                attributes = attributes_of(op)
                ndim = spatial_rank(spec.name)
                if not _is_plain(op, attributes, ndim):
                    continue
                rewrite = _transposed if spec.name.endswith("_transpose") else _pointwise
                made = rewrite(op, attributes, ndim, OperatorWriter(op, state.constants), values)
                if made is not None:
                    replace(op, made)


def _is_plain(op: ir.Operation, attributes: dict[str, Any], ndim: int) -> bool:
    """Channels last, one group, nothing around the image, one dtype, sizes known."""
    padding = layouts.padding_pairs(attributes["padding"], ndim)
    return (
        is_channels_last(attributes, ndim)
        and not any(map(any, padding))
        and dtype_of(op.results[0]) == dtype_of(op.operands[0])
        and all(dims_of(v) is not None for v in op.operands)
        and all(isinstance(dim, int) for dim in dims_of(op.operands[1]) or ("",))
    )


def _matrix(
    write: OperatorWriter, weight: ir.Value, axes: list[int], columns: int, values: ConstantValues
) -> ir.Value:
    """The weight with its axes in another order, as a matrix of so many columns."""
    array = values.of(weight)
    if array is not None:
        made = array.transpose(axes).reshape(-1, columns)
        return write.constant(made.copy(), dtype_of(weight) or "float32")
    if axes != sorted(axes):
        weight = write.op("permute_dims", weight, axes=axes)
    elements = math.prod(int(dim) for dim in dims_of(weight) or ())
    return write.op("reshape", weight, write.shape([elements // columns, columns]))


def _pointwise(
    op: ir.Operation,
    attributes: dict[str, Any],
    ndim: int,
    write: OperatorWriter,
    values: ConstantValues,
) -> ir.Value | None:
    data, weight = op.operands
    kernel = [int(dim) for dim in dims_of(weight) or ()]
    if any(size != 1 for size in kernel[:ndim]):
        return None
    steps = layouts.per_dimension(attributes["strides"], ndim, "strides")
    if any(step != 1 for step in steps):
        # Ends behind the last pixel that is read: sizes that are symbols are then those of the
        # convolution.
        axes = [i + 1 for i, step in enumerate(steps) if step != 1]
        out = dims_of(op.results[0]) or ()
        ends = [_behind_last(out[i], steps[i - 1]) for i in axes]
        bounds = [axes, [0] * len(axes), ends, [steps[i - 1] for i in axes]]
        data = write.op("strided_slice", data, *map(write.shape, bounds), assume_inbound=True)
    matrix = _matrix(write, weight, list(range(ndim + 2)), kernel[-1], values)
    return write.op("matmul", data, matrix)


def _behind_last(count: Dim, step: int) -> Dim:
    return dim_algebra.add(dim_algebra.multiply(dim_algebra.subtract(count, 1), step), 1)


def _transposed(
    op: ir.Operation,
    attributes: dict[str, Any],
    ndim: int,
    write: OperatorWriter,
    values: ConstantValues,
) -> ir.Value | None:
    data, weight = op.operands
    kernel = [int(dim) for dim in dims_of(weight) or ()]
    numbers = {
        name: layouts.per_dimension(attributes[name], ndim, name)
        for name in ("strides", "dilation", "output_padding")
    }
    fits = list(numbers["strides"]) == kernel[:ndim]
    if not fits or any(n != 1 for n in numbers["dilation"]) or any(numbers["output_padding"]):
        return None
    columns = kernel[-1] * math.prod(kernel[:ndim])
    matrix = _matrix(write, weight, [ndim, *range(ndim), ndim + 1], columns, values)
    product = write.op("matmul", data, matrix)
    if ndim > 1:
        image: list[Dim] = list(dims_of(data) or ())[: ndim + 1]
        apart = write.op("reshape", product, write.shape([*image, *kernel[:ndim], kernel[-1]]))
        axes = [0, *(axis for i in range(ndim) for axis in (1 + i, 1 + ndim + i)), 2 * ndim + 1]
        product = write.op("permute_dims", apart, axes=axes)
    return write.op("reshape", product, write.shape(dims_of(op.results[0]) or ()))


__all__ = ["ConvolutionToMatmul"]
