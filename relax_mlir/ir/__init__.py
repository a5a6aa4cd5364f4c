"""The module, its functions and its global names (TVM's `tvm.ir`)."""

from typing import Any

from relax_mlir.ir.function import BaseFunc, GlobalVar, above
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.structural import assert_structural_equal, structural_equal, structural_hash

__all__ = [
    "BaseFunc",
    "GlobalVar",
    "IRModule",
    "assert_structural_equal",
    "structural_equal",
    "structural_hash",
]

# Above this part, and imported on first use: name -> the module it is in.
_LATE = {
    "Op": "relax.expr",
    "Range": "tir.expr",
    "VDevice": "script.ir",
    "DummyGlobalInfo": "script.ir",
    "FuncType": "relax.struct_info",
    "TupleType": "relax.struct_info",
}
_MODULES = ("instrument", "transform")
"""Modules of their own here that were parts of this one in TVM."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return above(name)
    if name not in _LATE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(above(_LATE[name]), name)
