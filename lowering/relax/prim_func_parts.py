"""Taking some of the statements of a TensorIR function out into a function of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    attributes_of_function,
    copy_function,
    entry_block,
    functions_by_name,
    operations,
    set_function_attributes,
    symbol_name,
    unique_name,
    walk,
)
from relax_mlir.lowering.relax.rewriting import erase_dead
from relax_mlir.lowering.relax.substitute import set_function_type
from relax_mlir.mlir import ir

__all__ = ["make_part", "statements", "used_buffers"]

_ALLOCATION = "tir.alloc_buffer"
_PARAMETER_ATTRIBUTES = ("shape", "shape_dtype", "dtype", "align", "scope", "strides", "offset")
"""What an allocation says of its buffer, which a parameter says as `tir.<name>`."""


def statements(function: ir.Operation) -> list[ir.Operation]:
    """The loop nests (and blocks outside of loops) that a TensorIR function is made of."""
    return [op for op in operations(entry_block(function)) if op.name in ("tir.for", "tir.block")]


def used_buffers(chosen: Iterable[ir.Operation]) -> list[ir.Value]:
    """The buffers from around them that statements use, in order of the first use."""
    found: dict[ir.Value, None] = {}
    made: set[ir.Value] = set()
    for statement in chosen:
        for op in (statement, *walk(statement)):
            made.update(op.results)
            for value in op.operands:
                if isinstance(value.type, ir.MemRefType) and value not in made:
                    found.setdefault(value)
    return list(found)


def make_part(
    state: ModuleState,
    function: ir.Operation,
    name: str,
    kept: Sequence[ir.Operation],
    parameters: Sequence[ir.Value],
    dropped_attributes: Sequence[str] = (),
) -> ir.Operation:
    """A private function `name` with the statements `kept` of a function, on `parameters`.

    These are parameters of the function or buffers allocated in it.  Raises PassError when the
    statements use another parameter.
    """
    block = entry_block(function)
    described = argument_attributes(function)
    attributes = [_described(value, block, described) for value in parameters]
    places = [_place(value, block) for value in parameters]
    positions = [operations(block).index(op) for op in kept]
    made = copy_function(state, function)
    made.attributes["sym_name"] = ir.StringAttr.get(unique_name(functions_by_name(state), name))
    own = entry_block(made)
    old_arguments, ops = len(own.arguments), operations(own)
    for (is_argument, place), value in zip(places, parameters, strict=True):
        old = own.arguments[place] if is_argument else ops[place].results[0]
        location = name_location(name_of(value) or "buffer")
        old.replace_all_uses_with(own.add_argument(value.type, location))
    wanted = {id(ops[position]) for position in positions}
    for op in reversed(ops):
        if op.name in ("tir.for", "tir.block") and id(op) not in wanted:
            op.erase()
    erase_dead([op for op in operations(own)[:-1] if len(op.results)])
    for position in reversed(range(old_arguments)):
        if any(True for _ in own.arguments[position].uses):
            raise PassError(f"'{symbol_name(function)}': '{name}' needs parameter {position} too")
        own.erase_argument(position)
    made.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])
    set_function_type(made, [])
    kept_attributes = {
        key: value
        for key, value in attributes_of_function(made).items()
        if key not in dropped_attributes
    }
    set_function_attributes(made, kept_attributes)
    return made


def _place(value: ir.Value, block: ir.Block) -> tuple[bool, int]:
    """(whether it is a parameter, its position there or among the operations)."""
    if isinstance(value, ir.BlockArgument):
        return True, value.arg_number
    return False, operations(block).index(value.owner.operation)


def _described(
    value: ir.Value, block: ir.Block, described: Sequence[dict[str, ir.Attribute]]
) -> dict[str, ir.Attribute]:
    if isinstance(value, ir.BlockArgument):
        return described[value.arg_number]
    op = value.owner.operation
    found = {
        f"tir.{key}": op.attributes[key] for key in _PARAMETER_ATTRIBUTES if key in op.attributes
    }
    if from_attribute(found.get("tir.scope", ir.StringAttr.get("global"))) == "global":
        found.pop("tir.scope", None)
    found["tir.name"] = ir.StringAttr.get(name_of(value) or "buffer")
    return found
