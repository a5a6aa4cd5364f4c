"""The entry of a host function: its parameters and what they define."""

from __future__ import annotations

from relax_mlir.lowering.relax_to_host.host_function import HostFunction
from relax_mlir.lowering.relax_to_host.objects import from_any
from relax_mlir.lowering.relax_to_host.values import TensorValue, Value
from relax_mlir.lowering.to_llvm.ffi_abi import ANY
from relax_mlir.lowering.to_llvm.ffi_signature import argument_names
from relax_mlir.mlir import ir

__all__ = ["read_parameters"]


def read_parameters(host: HostFunction) -> None:
    """Check every argument and bind parameters and symbols."""
    text = host.text
    parameters = list(host.op.regions[0].blocks[0].arguments)
    names = argument_names(host.op, "relax.name")
    host.reader.check_count("%count", names)
    for index, (parameter, name) in enumerate(zip(parameters, names, strict=True)):
        slot = text.field(host.arguments, ANY, index)
        where = f"{host.name}: argument {index} '{name}': "
        host.env[parameter] = from_any(host, slot, parameter.type, where, name)
    host.reader.finish()
    for parameter in parameters:
        _own_if_escaping(host, parameter)


def _own_if_escaping(host: HostFunction, parameter: ir.Value) -> None:
    """Give a tensor that may be kept by others an object, when the caller passed a bare pointer.

    Callers in C++ may pass DLTensor*, which nobody can hold on to; `relax_ffi_own` copies it.
    """
    value: Value = host.env[parameter]
    if not isinstance(value, TensorValue) or value.any_slot is None:
        return
    if not host.liveness.escapes(parameter):
        return
    slot = host.owned_slot(parameter)
    status = host.text.call(
        "relax_ffi_own", [value.any_slot, slot], ["!llvm.ptr", "!llvm.ptr"], "i32"
    )
    host.check(status)
    host.env[parameter] = TensorValue(
        value.data, value.sizes, value.dtype, value.dims, value.strides, slot, value.tensor
    )
