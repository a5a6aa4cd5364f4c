"""relax-to-non-dataflow."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    operations,
    relax_functions,
    terminator,
    walk,
)
from relax_mlir.mlir import ir


@register_pass("relax-to-non-dataflow")
@dataclass(frozen=True)
class ToNonDataflow(Pass):
    """Put the bindings of dataflow blocks where the blocks were."""

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in [op for op in walk(function) if op.name == "relax.dataflow"]:
                dissolve(op)


def dissolve(dataflow: ir.Operation) -> None:
    """Replace one dataflow operation by its bindings."""
    body = dataflow.regions[0].blocks[0]
    values = list(terminator(body).operands)
    for result, value in zip(dataflow.results, values, strict=True):
        result.replace_all_uses_with(value)
    for op in operations(body)[:-1]:
        op.move_before(dataflow)
    dataflow.erase()
