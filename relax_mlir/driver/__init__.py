"""Compiling: `compile`, `build` and what they give."""

from relax_mlir.driver.build_module import OperatorModule, build, compile, relax_build
from relax_mlir.driver.lower import lower
from relax_mlir.runtime.executable import Executable, VMExecutable

__all__ = [
    "Executable", "OperatorModule", "VMExecutable", "build", "compile", "lower", "relax_build",
]  # fmt: skip
