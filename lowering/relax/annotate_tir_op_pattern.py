"""relax-annotate-tir-op-pattern."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    prim_functions,
    set_function_attributes,
)
from relax_mlir.lowering.relax.op_pattern import op_pattern


@register_pass("relax-annotate-tir-op-pattern")
@dataclass(frozen=True)
class AnnotateTIROpPattern(Pass):
    """Write each TensorIR function's fusion pattern into its attribute `op_pattern`.

    A function that has the attribute keeps it.
    """

    def run(self, state: ModuleState) -> None:
        for function in prim_functions(state).values():
            attributes = attributes_of_function(function)
            if "op_pattern" not in attributes:
                attributes["op_pattern"] = int(op_pattern(function))
                set_function_attributes(function, attributes)
