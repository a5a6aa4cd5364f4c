"""The types of the first TVMScript, `ty.handle` and `ty.int32`: the same module as `tir`."""

import sys

from relax_mlir.script import tir

sys.modules[__name__] = tir
