"""The module, its functions and its global names (TVM's `tvm.ir`)."""

from relax_mlir.ir.function import BaseFunc, GlobalVar
from relax_mlir.ir.module import IRModule

__all__ = ["BaseFunc", "GlobalVar", "IRModule"]
