"""relax-remove-purity-checking."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    relax_functions,
    set_function_attributes,
    walk,
)
from relax_mlir.lowering.relax.to_non_dataflow import dissolve
from relax_mlir.mlir import ir


@register_pass("relax-remove-purity-checking")
@dataclass(frozen=True)
class RemovePurityChecking(Pass):
    """Let functions call anything: pure functions are marked `relax.force_pure`, and promises that
    a registered function has no effects become plain calls.

    The calls are then neither removed nor merged.  Dataflow blocks, which hold no such calls, are
    dissolved where there is one.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            if "relax.pure" in function.attributes:
                continue
            attributes = attributes_of_function(function)
            set_function_attributes(function, {**attributes, "relax.force_pure": True})
            calls = [op for op in walk(function) if op.name == "relax.call_pure_packed"]
            for op in calls:
                _make_plain(op)


def _make_plain(op: ir.Operation) -> None:
    parent = op.parent
    if parent is not None and parent.operation.name == "relax.dataflow":
        dissolve(parent.operation)
    with ir.InsertionPoint(op):
        new = create(
            "relax.call_packed",
            [op.results[0].type],
            list(op.operands),
            {"callee": op.attributes["callee"]},
            loc=op.location,
        )
    op.results[0].replace_all_uses_with(new.result)
    op.erase()
