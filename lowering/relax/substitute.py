"""Replacing symbols and parameters of Relax functions by what they are known to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.relax.functions import entry_block, terminator, walk
from relax_mlir.mlir import ir


def substitute_symbols(function: ir.Operation, values: Mapping[str, Dim]) -> None:
    """Replace symbols in every type of a function."""
    known = dict(values)
    block = entry_block(function)
    for argument in block.arguments:
        argument.set_type(types.substitute(argument.type, known))
    for op in walk(function):
        for result in op.results:
            result.set_type(types.substitute(result.type, known))
    results = [types.substitute(kind, known) for kind in declared_type(function).results]
    set_function_type(function, results)


def remove_arguments(function: ir.Operation, positions: Sequence[int]) -> None:
    """Remove parameters that are no longer used."""
    block = entry_block(function)
    attributes = function.attributes
    if "arg_attrs" in attributes:
        entries = list(ir.ArrayAttr(attributes["arg_attrs"]))
        kept = [entry for i, entry in enumerate(entries) if i not in positions]
        attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
    for position in sorted(positions, reverse=True):
        block.erase_argument(position)
    set_function_type(function, list(declared_type(function).results))


def set_function_type(function: ir.Operation, results: Sequence[ir.Type]) -> None:
    """Make the function's type that of its entry block's arguments and these results."""
    inputs = [argument.type for argument in entry_block(function).arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, list(results))
    )


def declared_type(function: ir.Operation) -> ir.FunctionType:
    """The type that a function says it has."""
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def returned_types(function: ir.Operation) -> list[ir.Type]:
    """The types of the values the function returns."""
    return [value.type for value in terminator(entry_block(function)).operands]
