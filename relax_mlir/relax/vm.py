"""`relax.vm`: building and running, where the first Relax had it."""

from relax_mlir.driver import VMExecutable
from relax_mlir.driver import relax_build as build
from relax_mlir.runtime.vm import VirtualMachine

__all__ = ["VMExecutable", "VirtualMachine", "build"]
