"""`llvm-link-ffi-support`: add the bodies of the support functions that host code calls."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.lowering.to_llvm.ffi_support import SUPPORT_SYMBOLS, support_module

__all__ = ["LinkFFISupport"]


@register_pass("llvm-link-ffi-support")
@dataclass(frozen=True)
class LinkFFISupport(Pass):
    """Replace declarations of the FFI support functions by their definitions."""

    def run(self, state: ModuleState) -> None:
        present = {
            symbol_name(op.operation): op.operation
            for op in state.module.body.operations
            if "sym_name" in op.operation.attributes
        }
        if not present.keys() & SUPPORT_SYMBOLS.keys():
            return
        support = support_module()
        for op in list(support.body.operations):
            name = symbol_name(op.operation)
            if name in SUPPORT_SYMBOLS and name in present:
                present.pop(name).erase()
            if name not in present:
                op.operation.detach_from_parent()
                state.module.body.append(op)
