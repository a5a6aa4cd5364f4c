"""relax-inline-private-functions."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    RELAX_ATTRS,
    attributes_of_function,
    called_from,
    callee_of,
    entry_block,
    functions_by_name,
    is_private,
    operations,
    references,
    relax_functions,
    symbol_name,
    terminator,
    walk,
)
from relax_mlir.lowering.relax.substitute import substitute_symbols
from relax_mlir.lowering.relax.to_non_dataflow import dissolve
from relax_mlir.mlir import ir, operations_named


@register_pass("relax-inline-private-functions")
@dataclass(frozen=True)
class InlinePrivateFunctions(Pass):
    """Replace calls to private Relax functions by their bodies, and remove those functions.

    Functions that call themselves, directly or not, stay, and so do primitive functions unless
    `primitive` is set.
    """

    primitive: bool = False

    def run(self, state: ModuleState) -> None:
        functions = functions_by_name(state)
        inlinable = {
            name: op
            for name, op in functions.items()
            if RELAX_ATTRS in op.attributes
            and is_private(op)
            and (self.primitive or "Primitive" not in attributes_of_function(op))
            and name not in called_from([name], functions)
        }
        for function in relax_functions(state):
            _inline_into(function, inlinable)
        used: set[str] = set()
        for function in state.functions():
            if symbol_name(function) not in inlinable:
                used |= references(function)
        for name, function in inlinable.items():
            if name not in used:
                function.erase()


def _inline_into(function: ir.Operation, inlinable: dict[str, ir.Operation]) -> None:
    pending = True
    while pending:
        pending = False
        for op in operations_named(function, ["relax.call"]):
            if callee_of(op) in inlinable:
                _inline(op, inlinable[callee_of(op)])
                pending = True


def _inline(call: ir.Operation, callee: ir.Operation) -> None:
    with ir.InsertionPoint(callee):
        copy = callee.clone()
    block = entry_block(copy)
    substitute_symbols(copy, _symbols(block, list(call.operands)))
    for parameter, value in zip(block.arguments, call.operands, strict=True):
        parameter.replace_all_uses_with(value)
    if terminator(call.block).name == "relax.output":
        for op in [op for op in walk(copy) if op.name == "relax.dataflow"]:
            dissolve(op)
    returned = terminator(block).operands[0]
    name = name_of(call.results[0])
    if (
        name
        and not isinstance(returned, ir.BlockArgument)
        and returned.owner.operation.block == block
    ):
        definition = returned.owner.operation
        definition.location = name_location(name, definition.location)
    for op in operations(block)[:-1]:
        op.move_before(call)
    call.results[0].replace_all_uses_with(returned)
    call.erase()
    copy.erase()


def _symbols(block: ir.Block, values: list[ir.Value]) -> dict[str, Dim]:
    """What the callee's symbols are at the call."""
    found: dict[str, Dim] = {}
    for parameter, value in zip(block.arguments, values, strict=True):
        _match(parameter.type, value.type, found)
    return found


def _match(parameter: ir.Type, given: ir.Type, found: dict[str, Dim]) -> None:
    fields, values = types.tuple_fields(parameter), types.tuple_fields(given)
    if fields is not None and values is not None:
        for field, value in zip(fields, values, strict=False):
            _match(field, value, found)
        return
    wanted = types.tensor_info(parameter) or types.shape_info(parameter)
    info = types.tensor_info(given) or types.shape_info(given)
    if wanted is None or info is None or wanted.dims is None or info.dims is None:
        return
    for symbol, dim in zip(wanted.dims, info.dims, strict=False):
        if isinstance(symbol, str) and dim_algebra.is_symbol(symbol):
            found.setdefault(symbol, dim)
