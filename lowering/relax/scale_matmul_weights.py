"""relax-scale-matmul-weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    defining,
    dims_of,
    dtype_of,
    erase_dead,
    has_one_use,
    replace,
)
from relax_mlir.mlir import ir, operations_named

# A matrix product has so many rows for each column before scaling its weight pays: the weight is
# read and written once more, and is no constant that is laid out when compiling.
_ROWS_A_COLUMN = 2


@register_pass("relax-scale-matmul-weights")
@dataclass(frozen=True)
class ScaleMatmulWeights(Pass):
    """Scale the rows of a matrix instead of the columns of a larger one that multiplies it.

    `matmul(multiply(x, scale), weight)`, with one factor for each column of `x`, becomes
    `matmul(x, multiply(reshape(scale, [k, 1]), weight))` where `x` has many more rows than `weight`
    has columns: what squeeze-and-excitation computes from an image scales the few weights of the
    convolution that follows, and the image is neither read nor written again.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.matmul"]):
                _rewrite(op)


def _rewrite(op: ir.Operation) -> None:
    product = defining(op.operands[0], "relax.multiply")
    weight = op.operands[1]
    if product is None or not has_one_use(product.results[0]):
        return
    data, scale = _data_and_scale(product)
    columns = dims_of(weight)
    if data is None or scale is None or columns is None or len(columns) != 2:
        return
    rows = _rows(data)
    if rows is None or not isinstance(columns[1], int) or rows < _ROWS_A_COLUMN * columns[1]:
        return
    if len({dtype_of(value) for value in (data, scale, weight, op.results[0])}) != 1:
        return
    write = OperatorWriter(op)
    factors = write.op("reshape", scale, write.shape([columns[0], 1]))
    scaled = write.op("multiply", factors, weight)
    replace(op, write.op("matmul", data, scaled))
    erase_dead([product])


def _data_and_scale(product: ir.Operation) -> tuple[ir.Value | None, ir.Value | None]:
    """The factors of a product if one has an element for each column of the other, which is as
    large as the product; else None."""
    left, right = product.operands
    whole = dims_of(product.results[0])
    for data, scale in ((left, right), (right, left)):
        dims = dims_of(scale)
        if whole is None or not dims or dims_of(data) != whole:
            continue
        if dims[-1] == whole[-1] and dims[-1] != 1 and all(dim == 1 for dim in dims[:-1]):
            return data, scale
    return None, None


def _rows(data: ir.Value) -> int | None:
    """The rows of a tensor as a matrix, if they are known."""
    known = [dim for dim in (dims_of(data) or ())[:-1] if isinstance(dim, int)]
    return math.prod(known) if len(known) == len(dims_of(data) or ()) - 1 else None


__all__ = ["ScaleMatmulWeights"]
