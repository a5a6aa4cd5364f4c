"""relax-attach-attr-layout-free-buffers."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    call_tir_operands,
    callee_of,
    copy_function,
    entry_block,
    is_private,
    prim_functions,
    relax_functions,
    set_function_attributes,
    symbol_name,
    walk,
)
from relax_mlir.lowering.relax.rewriting import defining
from relax_mlir.mlir import ir

FREE = "layout_free_buffers"


@register_pass("relax-attach-attr-layout-free-buffers")
@dataclass(frozen=True)
class AttachAttrLayoutFreeBuffers(Pass):
    """Note in TensorIR functions which parameters a schedule may lay out anew.

    These are arguments that are constants, or parameters of the model (from position `num_input`
    of a function with that attribute).  A function that is called with such arguments in one way
    and in another gets a copy for each.
    """

    def run(self, state: ModuleState) -> None:
        kernels = prim_functions(state)
        uses: dict[str, dict[tuple[int, ...], list[ir.Operation]]] = {}
        for function in relax_functions(state):
            free = _model_parameters(function)
            for op in walk(function):
                if op.name == "relax.call_tir" and callee_of(op) in kernels:
                    positions = _free_positions(op, free)
                    uses.setdefault(callee_of(op), {}).setdefault(positions, []).append(op)
        for name, variants in uses.items():
            kernel = kernels[name]
            annotated = is_private(kernel) and () not in variants
            for positions, calls in variants.items():
                if not positions:
                    continue
                target = kernel if annotated else copy_function(state, kernel)
                annotated = False
                attributes = attributes_of_function(target)
                set_function_attributes(target, {**attributes, FREE: list(positions)})
                for op in calls:
                    op.attributes["callee"] = ir.FlatSymbolRefAttr.get(symbol_name(target))


def _model_parameters(function: ir.Operation) -> set[ir.Value]:
    attributes = attributes_of_function(function)
    if "num_input" not in attributes:
        return set()
    return set(list(entry_block(function).arguments)[int(attributes["num_input"]) :])


def _free_positions(op: ir.Operation, free: set[ir.Value]) -> tuple[int, ...]:
    arguments, _ = call_tir_operands(op)
    return tuple(
        i
        for i, value in enumerate(arguments)
        if value in free or defining(value, "relax.constant") is not None
    )
