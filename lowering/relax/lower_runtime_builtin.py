"""relax-lower-runtime-builtin."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax.spec import SPECS, attributes_of, build, operand_groups
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.lowering.relax.rewriting import replace
from relax_mlir.mlir import ir, operations_named

# Operator -> what the virtual machine has for it.
_BUILTINS = {
    "relax.memory_alloc_storage": "vm.alloc_storage",
    "relax.memory_alloc_tensor": "vm.alloc_tensor",
    "relax.memory_kill_storage": "vm.kill_object",
    "relax.memory_kill_tensor": "vm.kill_object",
}
_RENAMED = {"virtual_device_index": "runtime_device_index"}


@register_pass("relax-lower-runtime-builtin")
@dataclass(frozen=True)
class LowerRuntimeBuiltin(Pass):
    """Write operators of `relax.memory` as those of the virtual machine, `relax.vm`."""

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, _BUILTINS):
                _rewrite(op, _BUILTINS[op.name])


def _rewrite(op: ir.Operation, name: str) -> None:
    row = SPECS[name]
    attributes = {
        _RENAMED.get(key, key): value
        for key, value in attributes_of(op).items()
        if _RENAMED.get(key, key) in row.attributes
    }
    with ir.InsertionPoint(op):
        made = build(row, operand_groups(op), attributes, loc=op.location)
    replace(op, made)
