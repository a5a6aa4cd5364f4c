"""relax-expand-matmul-of-sum."""

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


@register_pass("relax-expand-matmul-of-sum")
@dataclass(frozen=True)
class ExpandMatmulOfSum(Pass):
    """Distribute a matmul over a sum of matrices: `x @ (A + B)` becomes `x @ A + x @ B`.

    With `relax-adjust-matmul-order` behind it, `x @ (W + U @ V)` never makes the sum of a weight
    and its low-rank update.  Sums that a transposition follows are distributed as well; sums that
    broadcast the matrix dimensions are left.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.matmul"]):
                _expand(op)


def _expand(op: ir.Operation) -> None:
    left, right = op.operands
    transposed = defining(right, "relax.permute_dims")
    total = defining(right if transposed is None else transposed.operands[0], "relax.add")
    if total is None or not _same_matrices(total):
        return
    write = OperatorWriter(op)
    terms = list(total.operands)
    if transposed is not None:
        axes = attributes_of(transposed)["axes"]
        terms = [write.op("permute_dims", term, axes=axes) for term in terms]
    products = [write.op("matmul", left, term, **attributes_of(op)) for term in terms]
    replace(op, write.op("add", *products))
    erase_dead([op for op in (total, transposed) if op is not None])


def _same_matrices(total: ir.Operation) -> bool:
    first, second = dims_of(total.operands[0]), dims_of(total.operands[1])
    return first is not None and first == second and len(first) >= 2
