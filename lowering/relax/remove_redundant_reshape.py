"""relax-remove-redundant-reshape."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.mlir import ir, operations_named


@register_pass("relax-remove-redundant-reshape")
@dataclass(frozen=True)
class RemoveRedundantReshape(Pass):
    """Reshape from the first tensor of a chain of reshapes; drop reshapes to the shape there is."""

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.reshape"]):
                _simplify(op)


def _simplify(op: ir.Operation) -> None:
    source = op.operands[0]
    while not isinstance(source, ir.BlockArgument):
        definition = source.owner.operation
        if definition.name not in ("relax.reshape", "relax.bind"):
            break
        source = definition.operands[0]
    if source.type == op.results[0].type:
        op.results[0].replace_all_uses_with(source)
        op.erase()
    elif source != op.operands[0] and not _copies_sizes(op):
        op.operands[0] = source


def _copies_sizes(op: ir.Operation) -> bool:
    """True when the new shape holds a zero: that takes over the size of the tensor reshaped."""
    shape = types.shape_info(op.operands[1].type)
    return shape is None or shape.dims is None or 0 in shape.dims
