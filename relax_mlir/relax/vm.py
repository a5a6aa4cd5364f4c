"""Building and running Relax modules (TVM: `relax.vm`, `relax.vm_build`)."""

from relax_mlir.driver.build_module import relax_build as build
from relax_mlir.runtime.executable import Executable, VMExecutable
from relax_mlir.runtime.vm import VirtualMachine, VMInstrumentReturnKind

__all__ = ["Executable", "VMExecutable", "VMInstrumentReturnKind", "VirtualMachine", "build"]
