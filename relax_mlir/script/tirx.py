"""TVM 0.27's name of the `T` namespace: the same module as `tir`."""

import sys

from relax_mlir.script import tir

sys.modules[__name__] = tir
