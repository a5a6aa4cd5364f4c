"""relax-remove-unused-outputs."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    callee_of,
    entry_block,
    is_private,
    references,
    relax_functions,
    symbol_name,
    terminator,
    walk,
)
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.mlir import func, ir


@register_pass("relax-remove-unused-outputs")
@dataclass(frozen=True)
class RemoveUnusedOutputs(Pass):
    """Drop the fields of private functions' tuple results that no caller takes.

    One field alone is returned as it is, without a tuple.
    """

    def run(self, state: ModuleState) -> None:
        functions = relax_functions(state)
        others: set[str] = set()
        for function in functions:
            own = {callee_of(op) for op in walk(function) if op.name == "relax.call"}
            others |= references(function) - own
        for function in functions:
            name = symbol_name(function)
            # Read anew: handling one function replaces calls in others.
            callers = [
                op
                for caller in functions
                for op in walk(caller)
                if op.name == "relax.call" and callee_of(op) == name
            ]
            if is_private(function) and callers and name not in others:
                _reduce(function, callers)


def _reduce(function: ir.Operation, callers: list[ir.Operation]) -> None:
    end = terminator(entry_block(function))
    fields = types.tuple_fields(end.operands[0].type)
    if fields is None or any(_taken(op) is None for op in callers):
        return
    used = sorted({index for op in callers for index in _taken(op) or {}})
    if not used or len(used) == len(fields):
        return
    with ir.InsertionPoint(end), end.location:
        kept = [_field(end.operands[0], index) for index in used]
        func.ReturnOp([_pack(kept)])
    end.erase()
    set_function_type(function, returned_types(function))
    for op in callers:
        _update_call(op, used, [fields[index] for index in used])


def _taken(call: ir.Operation) -> dict[int, list[ir.Operation]] | None:
    """The field reads of a call's result by index; None when it is used as a whole."""
    found: dict[int, list[ir.Operation]] = {}
    for use in call.results[0].uses:
        user = use.owner.operation
        if user.name != "relax.tuple_get_item":
            return None
        found.setdefault(ir.IntegerAttr(user.attributes["index"]).value, []).append(user)
    return found


def _field(value: ir.Value, index: int) -> ir.Value:
    if not isinstance(value, ir.BlockArgument) and value.owner.operation.name == "relax.tuple":
        return value.owner.operation.operands[index]
    kind = (types.tuple_fields(value.type) or [])[index]
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
    return create("relax.tuple_get_item", [kind], [value], {"index": attribute}).result


def _pack(values: list[ir.Value]) -> ir.Value:
    if len(values) == 1:
        return values[0]
    return create("relax.tuple", [types.tuple_type([v.type for v in values])], values).result


def _update_call(call: ir.Operation, used: list[int], kinds: list[ir.Type]) -> None:
    reads = _taken(call) or {}
    kind = kinds[0] if len(kinds) == 1 else types.tuple_type(kinds)
    with ir.InsertionPoint(call):
        new = create(
            "relax.call",
            [kind],
            list(call.operands),
            {"callee": call.attributes["callee"]},
            loc=call.location,
        )
    for index, ops in reads.items():
        for op in ops:
            if len(used) == 1:
                name = name_of(op.results[0])
                if name:
                    new.location = name_location(name, new.location)
                op.results[0].replace_all_uses_with(new.result)
            else:
                position = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), used.index(index))
                with ir.InsertionPoint(op):
                    read = create(
                        "relax.tuple_get_item",
                        [op.results[0].type],
                        [new.result],
                        {"index": position},
                        loc=op.location,
                    )
                op.results[0].replace_all_uses_with(read.result)
            op.erase()
    call.erase()
