"""relax-resolve-closures."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import is_used, relax_functions, walk
from relax_mlir.lowering.relax.rewriting import defining
from relax_mlir.mlir import ir

_CALLS = ("relax.call_value", "relax.invoke_closure", "relax.invoke_pure_closure")
_MAKERS = ("relax.make_closure", "relax.function_ref")


@register_pass("relax-resolve-closures")
@dataclass(frozen=True)
class ResolveClosures(Pass):
    """Call the function itself where a closure is made in sight of its call."""

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            made: list[ir.Operation] = []
            for op in list(walk(function)):
                if op.name in _CALLS:
                    _resolve(op)
                elif op.name in _MAKERS:
                    made.append(op)
            for op in reversed(made):
                if not is_used(op):
                    op.erase()


def _resolve(op: ir.Operation) -> None:
    maker = defining(op.operands[0], *_MAKERS)
    if maker is None:
        return
    operands = [*list(op.operands)[1:], *maker.operands]
    attributes = {"callee": maker.attributes["callee"]}
    with ir.InsertionPoint(op):
        made = create("relax.call", [op.results[0].type], operands, attributes, loc=op.location)
    op.results[0].replace_all_uses_with(made.result)
    op.erase()
