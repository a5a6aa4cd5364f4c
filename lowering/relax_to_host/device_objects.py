"""Memory of the device in host code: tensors, the workspace, and values that the host reads.

    relax_device_new_tensor(ndim, shape, dtype word, bytes, out any) -> i32
        the counterpart of relax_ffi_new_tensor: a new tensor on the device, owned by `out`
    relax_device_to_host(to, from, bytes) -> i32
        copy device memory to the host, when everything before is done
    relax_device_copy(to, from, bytes) -> i32
        copy within the device

They call the runtime through the table of `host_device.py`; 0 is success, otherwise the error has
been raised.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.tir_to_gpu.host_device import DEVICE_KERNELS
from relax_mlir.mlir import ir

__all__ = ["DEVICE_SYMBOLS", "add_device_objects", "is_for_device"]

DEVICE_SYMBOLS = {
    "relax_device_new_tensor": "(i32, !llvm.ptr, i32, i64, !llvm.ptr) -> i32",
    "relax_device_to_host": "(!llvm.ptr, !llvm.ptr, i64) -> i32",
    "relax_device_copy": "(!llvm.ptr, !llvm.ptr, i64) -> i32",
    "relax_device_alloc": "(i64) -> !llvm.ptr",
    "relax_device_free": "(!llvm.ptr)",
    "relax_device_function": "(i64) -> !llvm.ptr",
}
"""What the text below and host code call, with types as they are declared."""


def is_for_device(state: ModuleState) -> bool:
    """True for a module whose kernels run on a GPU."""
    return DEVICE_KERNELS in state.module.operation.attributes


@cache
def _text() -> str:
    return (Path(__file__).parent / "device_objects.mlir").read_text(encoding="utf-8")


def add_device_objects(state: ModuleState) -> None:
    """Add the functions above to a module that has those of `host_device.py`."""
    present = {
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in state.module.body.operations
        if "sym_name" in op.operation.attributes
    }
    declared = [
        f"llvm.func @{name}{DEVICE_SYMBOLS[name]}"
        for name in ("relax_device_alloc", "relax_device_function")
    ]
    declared.append("llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)")
    own_device = "llvm.mlir.global external @relax_device() {addr_space = 0 : i32} : i64"
    made = ir.Module.parse("\n".join([own_device, *declared, _text()]))
    for op in list(made.body.operations):
        if ir.StringAttr(op.attributes["sym_name"]).value not in present:
            op.operation.detach_from_parent()
            state.module.body.append(op)
