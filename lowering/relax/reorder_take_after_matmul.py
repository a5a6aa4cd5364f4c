"""relax-reorder-take-after-matmul."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    defining,
    dims_of,
    erase_dead,
    replace,
)
from relax_mlir.mlir import ir, operations_named


@register_pass("relax-reorder-take-after-matmul")
@dataclass(frozen=True)
class ReorderTakeAfterMatmul(Pass):
    """Multiply by a whole matrix, then take the wanted columns of the product.

    `matmul(x, take(weights, indices, axis=1))` becomes `take(matmul(x, weights), indices,
    axis=-1)`: for few rows in `x`, as of adapters chosen at run time, copying columns of the
    product is cheaper than copying columns of the matrix.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.matmul"]):
                _reorder(op)


def _reorder(op: ir.Operation) -> None:
    take = defining(op.operands[1], "relax.take")
    if take is None:
        return
    table, indices = take.operands
    dims, left, chosen = dims_of(table), dims_of(op.operands[0]), dims_of(indices)
    if dims is None or left is None or chosen is None or len(chosen) != 1 or len(dims) < 2:
        return
    attributes = attributes_of(take)
    if attributes["axis"] is None or attributes["axis"] % len(dims) != len(dims) - 1:
        return
    write = OperatorWriter(op)
    product = write.op("matmul", op.operands[0], table, **attributes_of(op))
    rank = len(dims_of(product) or ())
    if not rank:
        return
    replace(op, write.op("take", product, indices, axis=rank - 1, mode=attributes["mode"]))
    erase_dead([take])
