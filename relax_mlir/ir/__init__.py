"""The module, its functions and its global names (TVM's `tvm.ir`)."""

from typing import Any

from relax_mlir.ir.function import BaseFunc, GlobalVar, above
from relax_mlir.ir.module import IRModule

__all__ = ["BaseFunc", "GlobalVar", "IRModule"]

# Above this part, and imported on first use: name -> the module it is in.
_LATE = {"Op": "relax.expr", "VDevice": "script.ir", "DummyGlobalInfo": "script.ir"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(above(_LATE[name]), name)
