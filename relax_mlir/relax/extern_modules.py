"""External modules and workspaces of a program: TVM's AttachExternModules and AllocateWorkspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import SPECS, build
from relax_mlir.dialects.variadic import create
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    callee_of,
    functions_by_name,
    relax_functions,
    set_function_attributes,
    walk,
)
from relax_mlir.lowering.relax.lazy_input_output import insert_parameter
from relax_mlir.lowering.relax.substitute import returned_types
from relax_mlir.mlir import ir

__all__ = ["allocate_workspace", "attach_extern_modules"]

EXTERNAL = "external_mods"
WORKSPACE = "WorkspaceSize"


def attach_extern_modules(mod: IRModule, modules: Sequence[Any]) -> IRModule:
    """The module with external modules in its attribute `external_mods`; each is loaded."""
    for module in modules:
        module.load()
    before = mod.get_attr(EXTERNAL) or []
    return mod.with_attr(EXTERNAL, [*before, *modules])


def allocate_workspace(mod: IRModule) -> IRModule:
    """Give functions of back ends with the attribute `WorkspaceSize` a workspace of that size.

    Functions that call some allocate one workspace, as large as the largest they need, and pass it
    as one more argument.
    """
    result = mod.clone()
    with mlir.scope():
        functions = functions_by_name(result.state)
        sizes = {
            symbol: int(attributes_of_function(op)[WORKSPACE])
            for symbol, op in functions.items()
            if op in relax_functions(result.state) and WORKSPACE in attributes_of_function(op)
        }
        for symbol in sizes:
            _add_parameter(functions[symbol])
        for op in relax_functions(result.state):
            calls = [c for c in walk(op) if c.name == "relax.call" and callee_of(c) in sizes]
            if calls:
                _pass_workspace(op, calls, max(sizes[callee_of(call)] for call in calls))
    return result.verify()


def _add_parameter(function: ir.Operation) -> None:
    attributes = attributes_of_function(function)
    kind = types.tensor_type((int(attributes.pop(WORKSPACE)),), "uint8")
    count = len(function.regions[0].blocks[0].arguments)
    insert_parameter(function, count, "workspace", kind, returned_types(function))
    set_function_attributes(function, attributes)


def _pass_workspace(function: ir.Operation, calls: Sequence[ir.Operation], size: int) -> None:
    body = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
        shape = create("relax.shape_expr", [types.shape_type([size])]).result
        location = name_location("workspace_main")
        row = SPECS["builtin.alloc_tensor"]
        workspace = build(row, [shape], {"dtype": "uint8"}, loc=location)
    for call in calls:
        attributes = {"callee": to_attribute(call.attributes["callee"])}
        with ir.InsertionPoint(call):
            made = create(
                "relax.call",
                [call.results[0].type],
                [*call.operands, workspace],
                attributes,
                loc=call.location,
            )
        call.results[0].replace_all_uses_with(made.result)
        call.erase()
