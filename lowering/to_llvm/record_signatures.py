"""`tir-record-signatures`: keep what callers must know while bodies are lowered."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.ffi_signature import is_prim_func, write_signature

__all__ = ["RecordSignatures"]


@register_pass("tir-record-signatures")
@dataclass(frozen=True)
class RecordSignatures(Pass):
    """Write names, dtypes and symbolic sizes of TensorIR arguments to `ffi.signature`."""

    def run(self, state: ModuleState) -> None:
        for op in state.functions():
            if is_prim_func(op):
                write_signature(op)
