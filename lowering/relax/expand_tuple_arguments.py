"""relax-expand-tuple-arguments."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    callee_of,
    entry_block,
    is_private,
    operations,
    references,
    relax_functions,
    symbol_name,
    unique_name,
    walk,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter, call_with
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.mlir import ir


@register_pass("relax-expand-tuple-arguments")
@dataclass(frozen=True)
class ExpandTupleArguments(Pass):
    """Give private functions the fields of their tuple parameters instead of the tuples."""

    def run(self, state: ModuleState) -> None:
        functions = relax_functions(state)
        calls: dict[str, list[ir.Operation]] = {}
        taken: set[str] = set()
        for function in functions:
            own = [op for op in walk(function) if op.name == "relax.call"]
            for op in own:
                calls.setdefault(callee_of(op), []).append(op)
            taken |= references(function) - {callee_of(op) for op in own}
        chosen = [
            f for f in functions if is_private(f) and symbol_name(f) not in taken and _has_tuple(f)
        ]
        names = {symbol_name(function) for function in chosen}
        for name in names:
            for call in calls.get(name, []):
                _expand_call(call)
        for function in chosen:
            _expand_parameters(function)


def _has_tuple(function: ir.Operation) -> bool:
    return any(types.tuple_fields(a.type) is not None for a in entry_block(function).arguments)


def _expand_call(call: ir.Operation) -> None:
    write = OperatorWriter(call)

    def leaves(value: ir.Value) -> list[ir.Value]:
        fields = types.tuple_fields(value.type)
        if fields is None:
            return [value]
        return [leaf for i in range(len(fields)) for leaf in leaves(write.field(value, i))]

    operands = [leaf for value in call.operands for leaf in leaves(value)]
    call_with(call, operands)


def _expand_parameters(function: ir.Operation) -> None:
    block = entry_block(function)
    old = list(block.arguments)
    entries = argument_attributes(function)
    write = OperatorWriter(operations(block)[0])
    names: list[str] = []

    def leaves(kind: ir.Type, name: str) -> ir.Value:
        fields = types.tuple_fields(kind)
        if fields is not None:
            return write.tuple([leaves(field, f"{name}_{i}") for i, field in enumerate(fields)])
        unique = unique_name(names, name)
        names.append(unique)
        return block.add_argument(kind, name_location(unique))

    for argument, entry in zip(old, entries, strict=True):
        name = ir.StringAttr(entry["relax.name"]).value if "relax.name" in entry else "param"
        argument.replace_all_uses_with(leaves(argument.type, name))
    for i in reversed(range(len(old))):
        block.erase_argument(i)
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({"relax.name": ir.StringAttr.get(name)}) for name in names]
    )
    set_function_type(function, returned_types(function))
