"""relax-bundle-model-params."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    attributes_of_function,
    entry_block,
    operations,
    relax_functions,
    symbol_name,
    unique_name,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter
from relax_mlir.lowering.relax.substitute import remove_arguments
from relax_mlir.mlir import ir


@register_pass("relax-bundle-model-params")
@dataclass(frozen=True)
class BundleModelParams(Pass):
    """Give a model's parameters, those from position `num_input` on, to its functions as one tuple.

    The tuple is the last parameter, named `param_tuple_name`.
    """

    param_tuple_name: str = "model_params"

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            attributes = attributes_of_function(function)
            if "num_input" in attributes:
                self._bundle(function, int(attributes["num_input"]))

    def _bundle(self, function: ir.Operation, inputs: int) -> None:
        block = entry_block(function)
        count = len(block.arguments)
        if not 0 <= inputs <= count:
            raise PassError(
                f"'{symbol_name(function)}' has {count} parameters, num_input is {inputs}"
            )
        params = list(block.arguments)[inputs:]
        entries = argument_attributes(function)
        taken = {ir.StringAttr(e["relax.name"]).value for e in entries if "relax.name" in e}
        name = unique_name(taken, self.param_tuple_name)
        kind = types.tuple_type([param.type for param in params])
        bundle = block.add_argument(kind, name_location(name))
        attribute = ir.DictAttr.get({"relax.name": ir.StringAttr.get(name)})
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [*(ir.DictAttr.get(entry) for entry in entries), attribute]
        )
        write = OperatorWriter(operations(block)[0])
        for i, (param, entry) in enumerate(zip(params, entries[inputs:], strict=True)):
            if not any(True for _ in param.uses):
                continue
            field = write.field(bundle, i)
            label = (
                ir.StringAttr(entry["relax.name"]).value
                if "relax.name" in entry
                else name_of(param)
            )
            if label:
                definition = field.owner.operation
                definition.location = name_location(label, definition.location)
            param.replace_all_uses_with(field)
        remove_arguments(function, range(inputs, count))
