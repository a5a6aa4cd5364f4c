"""relax-convert-to-dataflow."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    binding_blocks,
    is_pure,
    operations,
    purity,
    relax_functions,
    terminator,
)
from relax_mlir.mlir import ir


@register_pass("relax-convert-to-dataflow")
@dataclass(frozen=True)
class ConvertToDataflow(Pass):
    """Gather runs of at least `min_size` bindings without effects into dataflow blocks."""

    min_size: int = 2

    def run(self, state: ModuleState) -> None:
        pure = purity(state)
        for function in relax_functions(state):
            for block in list(binding_blocks(function)):
                if terminator(block).name == "relax.output":
                    continue
                run: list[ir.Operation] = []
                for op in operations(block):
                    if not len(op.regions) and is_pure(op, pure):
                        run.append(op)
                        continue
                    if len(run) >= self.min_size:
                        gather(run)
                    run = []


def gather(run: list[ir.Operation]) -> None:
    """Move operations that follow one another into a dataflow block, if any is needed behind."""
    inside = set(run)
    outputs = [
        value
        for op in run
        for value in op.results
        if any(use.owner.operation not in inside for use in value.uses)
    ]
    if not outputs:
        return
    with ir.InsertionPoint(run[0]), run[0].location:
        dataflow = create("relax.dataflow", [value.type for value in outputs], regions=1)
    dataflow.location = outputs[0].location
    body = ir.Block.create_at_start(dataflow.regions[0])
    outer_uses = [
        (use.owner.operation, use.operand_number, value, i)
        for i, value in enumerate(outputs)
        for use in value.uses
        if use.owner.operation not in inside
    ]
    with ir.InsertionPoint(body):
        output = create("relax.output", operands=outputs)
    for op in run:
        op.move_before(output)
    for user, number, _, i in outer_uses:
        user.operands[number] = dataflow.results[i]
