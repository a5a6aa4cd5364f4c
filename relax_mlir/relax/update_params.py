"""Giving the parameters of Relax functions new types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir import mlir
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import entry_block, functions_by_name
from relax_mlir.lowering.relax.normalize import infer_again
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.relax.expr import Var
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import to_mlir_type


def update_param_types(mod: IRModule, choose: Callable[[Var], Any]) -> IRModule:
    """A module in whose Relax functions each parameter has the type `choose(var)`, unless None.

    The types inside are inferred again.  Raises VerificationError when an operator does not take
    the new type.
    """
    chosen = {
        var.name_hint: [choose(param) for param in function.params]
        for var, function in mod.functions.items()
        if isinstance(function, Function)
    }
    result = mod.clone()
    with mlir.scope():
        operations = functions_by_name(result.state)
        for name, kinds in chosen.items():
            if all(kind is None for kind in kinds):
                continue
            function = operations[name]
            block = entry_block(function)
            for argument, kind in zip(block.arguments, kinds, strict=True):
                if kind is not None:
                    argument.set_type(to_mlir_type(kind))
            infer_again(block)
            set_function_type(function, returned_types(function))
    return result.verify()
