"""relax-remove-unused-parameters."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    callee_of,
    entry_block,
    is_private,
    references,
    relax_functions,
    symbol_name,
    walk,
)
from relax_mlir.lowering.relax.fuse_ops import bound_symbols
from relax_mlir.lowering.relax.rewriting import call_with
from relax_mlir.lowering.relax.substitute import remove_arguments
from relax_mlir.mlir import ir


@register_pass("relax-remove-unused-parameters")
@dataclass(frozen=True)
class RemoveUnusedParameters(Pass):
    """Drop the parameters that private functions do not use, here and at their calls.

    A parameter whose type alone gives the value of a symbol stays.
    """

    def run(self, state: ModuleState) -> None:
        functions = relax_functions(state)
        calls: dict[str, list[ir.Operation]] = {}
        taken: set[str] = set()
        for function in functions:
            own = [op for op in walk(function) if op.name == "relax.call"]
            for op in own:
                calls.setdefault(callee_of(op), []).append(op)
            taken |= references(function) - {callee_of(op) for op in own}
        for function in functions:
            name = symbol_name(function)
            if not is_private(function) or name in taken:
                continue
            unused = _unused(function)
            if unused:
                remove_arguments(function, unused)
                calls[name] = [_without(op, unused) for op in calls.get(name, [])]


def _unused(function: ir.Operation) -> list[int]:
    arguments = list(entry_block(function).arguments)
    unused = [i for i, a in enumerate(arguments) if not any(True for _ in a.uses)]
    kept = [a for i, a in enumerate(arguments) if i not in unused]
    bound: set[str] = set()
    for argument in kept:
        bound |= bound_symbols(argument.type)
    needed = {
        symbol
        for value in [*kept, *(r for op in walk(function) for r in op.results)]
        for symbol in types.symbols_of(value.type)
    }
    removable: list[int] = []
    for i in unused:
        gives = bound_symbols(arguments[i].type) & needed
        if gives <= bound:
            removable.append(i)
        else:
            bound |= gives
    return removable


def _without(call: ir.Operation, positions: list[int]) -> ir.Operation:
    kept = [value for i, value in enumerate(call.operands) if i not in positions]
    return call_with(call, kept)
