"""Helpers around compiled programs (TVM: `tvm.contrib`)."""

from relax_mlir.contrib import cc, utils

__all__ = ["cc", "utils"]
