"""Helpers around compiled programs (TVM: `tvm.contrib`)."""

from relax_mlir.contrib import cc, tar, utils

__all__ = ["cc", "tar", "utils"]
