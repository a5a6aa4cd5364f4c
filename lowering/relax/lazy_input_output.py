"""What relax-lazy-get-input and relax-lazy-set-output share: a function as a first parameter."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    entry_block,
    terminator,
    unique_name,
)
from relax_mlir.lowering.relax.substitute import set_function_type
from relax_mlir.mlir import ir


def insert_parameter(
    function: ir.Operation, position: int, hint: str, kind: ir.Type, results: Sequence[ir.Type]
) -> ir.Value:
    """A new parameter, at a position, of a function that then returns `results`."""
    block = entry_block(function)
    entries = argument_attributes(function)
    taken = [ir.StringAttr(e["relax.name"]).value for e in entries if "relax.name" in e]
    name = unique_name(taken, hint)
    made = block.add_argument(kind, name_location(name, terminator(block).location))
    # Arguments are only added at the end: move what the others stand for one place on.
    arguments = list(block.arguments)
    for index in range(len(arguments) - 1, position, -1):
        arguments[index].set_type(arguments[index - 1].type)
        arguments[index].set_location(arguments[index - 1].location)
        arguments[index - 1].replace_all_uses_with(arguments[index])
    made = arguments[position]
    made.set_type(kind)
    made.set_location(name_location(name, terminator(block).location))
    dictionaries = [ir.DictAttr.get(entry) for entry in entries]
    own = ir.DictAttr.get({"relax.name": ir.StringAttr.get(name)})
    dictionaries.insert(position, own)
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(dictionaries)
    set_function_type(function, results)
    return made


def callback_type(inputs: Sequence[ir.Type], result: ir.Type) -> ir.Type:
    return ir.FunctionType.get(list(inputs), [result])


def index_type() -> ir.Type:
    return types.prim_type("int64")
