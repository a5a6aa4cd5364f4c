"""relax-lazy-get-input."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    attributes_of_function,
    entry_block,
    is_private,
    relax_functions,
)
from relax_mlir.lowering.relax.lazy_input_output import (
    callback_type,
    index_type,
    insert_parameter,
)
from relax_mlir.lowering.relax.substitute import remove_arguments, returned_types
from relax_mlir.mlir import ir


@register_pass("relax-lazy-get-input")
@dataclass(frozen=True)
class LazyGetInput(Pass):
    """Let public functions with `num_input` fetch their model parameters when they need them.

    The parameters from position `num_input` on go; in front of them comes `fget_param`, a function
    that is called with a parameter's position behind `num_input` and its name, just before the
    first use.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            attributes = attributes_of_function(function)
            if "num_input" in attributes and not is_private(function):
                _rewrite(function, int(attributes["num_input"]))


def _rewrite(function: ir.Operation, count: int) -> None:
    block = entry_block(function)
    kind = callback_type([index_type(), types.object_type()], types.object_type())
    results = returned_types(function)
    names = [
        ir.StringAttr(entry["relax.name"]).value if "relax.name" in entry else f"param{i}"
        for i, entry in enumerate(argument_attributes(function))
    ][count:]
    fetch = insert_parameter(function, count, "fget_param", kind, results)
    arguments = list(block.arguments)[count + 1 :]
    for number, (argument, name) in enumerate(zip(arguments, names, strict=True)):
        point = _first_use(argument, block)
        if point is not None:
            _fetch(argument, fetch, number, name, point)
    remove_arguments(function, range(count + 1, count + 1 + len(arguments)))


def _first_use(value: ir.Value, block: ir.Block) -> ir.Operation | None:
    """The first operation of the block that uses a value, also inside of it."""
    first: ir.Operation | None = None
    for use in value.uses:
        user = use.owner.operation
        while user.block != block:
            user = user.parent.operation
        if first is None or user.is_before_in_block(first):
            first = user
    return first


def _fetch(
    argument: ir.Value, fetch: ir.Value, number: int, name: str, point: ir.Operation
) -> None:
    with ir.InsertionPoint(point), ir.Location.unknown():
        index = create("relax.prim_value", [types.prim_type("int64", number)]).result
        text = create(
            "relax.string", [types.object_type()], attributes={"value": to_attribute(name)}
        ).result
        got = create("relax.call_value", [types.object_type()], [fetch, index, text]).result
        cast = create("relax.match_cast", [argument.type], [got], loc=name_location(name)).result
    argument.replace_all_uses_with(cast)
