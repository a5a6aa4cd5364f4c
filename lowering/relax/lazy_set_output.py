"""relax-lazy-set-output."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.canonicalize_bindings import drop_unused_outputs
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    entry_block,
    is_private,
    operations,
    relax_functions,
    terminator,
)
from relax_mlir.lowering.relax.lazy_input_output import (
    callback_type,
    index_type,
    insert_parameter,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.mlir import ir


@register_pass("relax-lazy-set-output")
@dataclass(frozen=True)
class LazySetOutput(Pass):
    """Let public functions hand over their results one by one, as soon as they are there.

    A parameter `fset_output` comes behind the first `num_input` ones (at the front of functions
    without the attribute); it is called with the position of a result and the result.  The function
    returns nothing.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            if not is_private(function):
                _rewrite(function)


def _rewrite(function: ir.Operation) -> None:
    block, nothing = entry_block(function), types.tuple_type([])
    attributes = attributes_of_function(function)
    position = int(attributes.get("num_input", 0))
    kind = callback_type([index_type(), types.object_type()], nothing)
    give = insert_parameter(function, position, "fset_output", kind, returned_types(function))
    end = terminator(block)
    value = end.operands[0]
    count = len(types.tuple_fields(value.type) or [value.type])
    for number in reversed(range(count)):  # each is put in front of those at the same place
        output = value if types.tuple_fields(value.type) is None else None
        if output is None:
            output = OperatorWriter(end).field(value, number)
        with ir.InsertionPoint(_behind(output, end)), ir.Location.unknown():
            index = create("relax.prim_value", [types.prim_type("int64", number)]).result
            create("relax.call_value", [nothing], [give, index, output])
    write = OperatorWriter(end)
    end.operands[0] = write.tuple([])
    for op in reversed(operations(block)):
        if op.name == "relax.tuple" and not any(True for _ in op.results[0].uses):
            op.erase()
        elif op.name == "relax.dataflow":
            drop_unused_outputs(op)
    set_function_type(function, [nothing])
    function.attributes["relax.pure"] = ir.BoolAttr.get(False)


def _behind(value: ir.Value, end: ir.Operation) -> ir.Operation:
    """The operation in front of which a value is there; a parameter is there at the end."""
    if isinstance(value, ir.BlockArgument):
        return end
    definition = value.owner.operation
    following = [op for op in operations(definition.block) if definition.is_before_in_block(op)]
    return following[0]
