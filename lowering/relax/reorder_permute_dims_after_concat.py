"""relax-reorder-permute-dims-after-concat."""

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


@register_pass("relax-reorder-permute-dims-after-concat")
@dataclass(frozen=True)
class ReorderPermuteDimsAfterConcat(Pass):
    """Transpose once, after a concatenation, what is transposed in one way before it.

    `concat(permute_dims(a), permute_dims(b))` becomes `permute_dims(concat(a, b))`.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.concat"]):
                _reorder(op)


def _reorder(op: ir.Operation) -> None:
    rank = len(dims_of(op.operands[0]) or ())
    sources = [defining(value, "relax.permute_dims") for value in op.operands]
    made = [source for source in sources if source is not None]
    if not rank or len(made) != len(sources) or len(made) < 2:
        return
    orders = {tuple(_order(source, rank)) for source in made}
    if len(orders) != 1:
        return
    order = list(orders.pop())
    axis = (attributes_of(op)["axis"] or 0) % rank
    write = OperatorWriter(op)
    joined = write.op("concat", [source.operands[0] for source in made], axis=order[axis])
    replace(op, write.op("permute_dims", joined, axes=order))
    erase_dead(list(dict.fromkeys(made)))


def _order(op: ir.Operation, rank: int) -> list[int]:
    axes = attributes_of(op)["axes"]
    if axes is None:
        return list(reversed(range(rank)))
    return [int(axis) % rank for axis in axes]
