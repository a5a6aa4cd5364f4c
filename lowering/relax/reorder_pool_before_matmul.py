"""relax-reorder-pool-before-matmul."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
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

# Images have so many times the pixels of the averages before averaging first pays: it reads the
# channels of the data instead of those of the product.
_PIXELS_AN_AVERAGE = 2
_POOLS = {f"relax.nn_avg_pool{ndim}d": ndim for ndim in (1, 2, 3)}


@register_pass("relax-reorder-pool-before-matmul")
@dataclass(frozen=True)
class ReorderPoolBeforeMatmul(Pass):
    """Average the pixels of an image before they are multiplied by a matrix, not the products.

    `avg_pool(matmul(x, weight))`, channels last, becomes `matmul(avg_pool(x), weight)`, with a bias
    between or not: both are linear, and of 2x2 windows next to each other a quarter of the product
    is left.  Images without padding, of floating-point numbers.  1x1 convolutions are such
    products; those of DenseNet's transitions have pooling behind.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, list(_POOLS)):
                _reorder(op)


def _reorder(op: ir.Operation) -> None:
    attributes = attributes_of(op)
    if not _averages_whole_windows(attributes, _POOLS[op.name]):
        return
    value = op.operands[0]
    bias: ir.Value | None = None
    total = defining(value, "relax.add")
    if total is not None and has_one_use(value):
        value, bias = total.operands
    product = defining(value, "relax.matmul")
    if product is None or not has_one_use(value):
        return
    data, weight = product.operands
    if not _is_of_pixels(data, weight, bias, op) or not _is_worth_it(data, op):
        return
    write = OperatorWriter(op)
    spec = spec_of(op)
    assert spec is not None
    averages = write.op(spec.name, data, **attributes)
    made = write.op("matmul", averages, weight, **attributes_of(product))
    replace(op, made if bias is None else write.op("add", made, bias))
    erase_dead([product] if total is None else [total, product])


def _averages_whole_windows(attributes: dict[str, Any], ndim: int) -> bool:
    """Whether channels are last, and every average is of as many pixels."""
    names = {attributes["layout"], attributes["out_layout"] or attributes["layout"]}
    padding = layouts.padding_pairs(attributes["padding"], ndim)
    last = len(names) == 1 and str(attributes["layout"]).endswith("C")
    return last and not any(map(any, padding)) and not attributes["ceil_mode"]


def _is_of_pixels(
    data: ir.Value, weight: ir.Value, bias: ir.Value | None, op: ir.Operation
) -> bool:
    """Whether a matrix multiplies the channels of each pixel, and a bias is one of channels."""
    rows, columns = dims_of(data), dims_of(weight)
    image = dims_of(op.operands[0])
    if rows is None or columns is None or image is None or len(columns) != 2:
        return False
    values = [data, weight, op.results[0], *([] if bias is None else [bias])]
    kinds = {dtype_of(value) for value in values}
    if len(kinds) != 1 or not str(kinds.pop()).startswith(("float", "bfloat")):
        return False
    if bias is None:
        return len(rows) == len(image)
    given = dims_of(bias)
    channels = given is not None and len(given) <= len(image) and all(n == 1 for n in given[:-1])
    return channels and len(rows) == len(image)


def _is_worth_it(data: ir.Value, op: ir.Operation) -> bool:
    sizes = [(dims_of(value) or ())[1:-1] for value in (data, op.results[0])]
    if not all(isinstance(size, int) for known in sizes for size in known):
        return False
    pixels, averages = (math.prod(int(size) for size in known) for known in sizes)
    return pixels >= _PIXELS_AN_AVERAGE * averages > 0


__all__ = ["ReorderPoolBeforeMatmul"]
