"""relax-lazy-transform-params."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    entry_block,
    operations,
    relax_functions,
    set_function_attributes,
    symbol_name,
    terminator,
    walk,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter, defining
from relax_mlir.lowering.relax.substitute import remove_arguments, returned_types, set_function_type
from relax_mlir.lowering.relax.to_non_dataflow import dissolve
from relax_mlir.mlir import ir

SUFFIX = "transform_params"


@register_pass("relax-lazy-transform-params")
@dataclass(frozen=True)
class LazyTransformParams(Pass):
    """Let `*transform_params` functions fetch each parameter when it is needed, and hand over each
    result as soon as it is computed, so that never all of them are in memory.

    The parameter tuple is replaced by calls of the registered function `fget_item(i)`, the result
    by calls of `fset_item(i, value)`; the function returns an empty tuple and has effects.
    """

    fget_item: str = "get_item"
    fset_item: str = "set_item"

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            if symbol_name(function).endswith(SUFFIX):
                self._make_lazy(function)

    def _make_lazy(self, function: ir.Operation) -> None:
        for op in [op for op in walk(function) if op.name == "relax.dataflow"]:
            dissolve(op)
        block = entry_block(function)
        end = terminator(block)
        made = defining(end.operands[0], "relax.tuple")
        if made is None:
            raise PassError(
                f"'{symbol_name(function)}' must return a tuple it makes, to hand over its fields"
            )
        self._set_items(end, made)
        self._get_items(function)
        function.attributes["relax.pure"] = ir.BoolAttr.get(False)
        attributes = attributes_of_function(function)
        if "num_input" in attributes:
            set_function_attributes(function, {**attributes, "num_input": 0})
        remove_arguments(function, range(len(block.arguments)))
        set_function_type(function, returned_types(function))

    def _set_items(self, end: ir.Operation, made: ir.Operation) -> None:
        results = list(made.operands)
        end.operands[0] = OperatorWriter(end).tuple([])
        if not any(True for _ in made.results[0].uses):
            made.erase()
        # The last first: of two results made by one operation the first is handed over first.
        for i, value in reversed(list(enumerate(results))):
            write = OperatorWriter(_behind(value, end))
            self._call(write, self.fset_item, [self._index(write, i), value])

    def _get_items(self, function: ir.Operation) -> None:
        block = entry_block(function)
        position = 0
        for argument in list(block.arguments):
            fields = types.tuple_fields(argument.type)
            for use in list(argument.uses):
                op = use.owner.operation
                if fields is None:
                    continue
                if op.name != "relax.tuple_get_item":
                    raise PassError(
                        f"'{symbol_name(function)}' must take its parameters out of the tuple "
                        f"one by one; {op.name} uses all of them"
                    )
                index = position + ir.IntegerAttr(op.attributes["index"]).value
                if any(True for _ in op.results[0].uses):
                    first = _first_user(block, op.results[0])
                    op.results[0].replace_all_uses_with(self._fetch(first, op.results[0], index))
                op.erase()
            if fields is None and any(True for _ in argument.uses):
                first = _first_user(block, argument)
                fetched = self._fetch(first, argument, position)
                argument.replace_all_uses_with(fetched)
            position += 1 if fields is None else len(fields)

    def _fetch(self, before: ir.Operation, value: ir.Value, index: int) -> ir.Value:
        write = OperatorWriter(before)
        item = self._call(write, self.fget_item, [self._index(write, index)])
        cast = write.raw("relax.match_cast", value.type, [item])
        name = name_of(value)
        if name:
            cast.owner.operation.location = name_location(name)
        return cast

    def _index(self, write: OperatorWriter, index: int) -> ir.Value:
        return write.raw("relax.prim_value", types.prim_type("int64", index))

    def _call(self, write: OperatorWriter, name: str, operands: list[ir.Value]) -> ir.Value:
        callee = {"callee": ir.StringAttr.get(name)}
        return write.raw("relax.call_packed", types.object_type(), operands, callee)


def _behind(value: ir.Value, end: ir.Operation) -> ir.Operation:
    """The operation behind the one that makes a value."""
    if isinstance(value, ir.BlockArgument):
        return end
    block = operations(value.owner.operation.block)
    return block[block.index(value.owner.operation) + 1]


def _first_user(block: ir.Block, value: ir.Value) -> ir.Operation:
    users = {use.owner.operation for use in value.uses}
    for op in operations(block):
        if op in users or any(inner in users for inner in walk(op)):
            return op
    raise PassError("a parameter has no user in its function")
