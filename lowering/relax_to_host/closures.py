"""Functions that are values in host code: closures, references to functions, calls of values."""

from __future__ import annotations

from relax_mlir.lowering.relax.functions import callee_of
from relax_mlir.lowering.relax_to_host.calls import read_result
from relax_mlir.lowering.relax_to_host.host_function import HostFunction, operation
from relax_mlir.lowering.relax_to_host.objects import view_array
from relax_mlir.lowering.relax_to_host.values import ObjectValue
from relax_mlir.lowering.to_llvm.make_packed_api import FFI_PREFIX
from relax_mlir.mlir import ir

__all__: list[str] = []


@operation("relax.make_closure", "relax.function_ref")
def write_closure(host: HostFunction, op: ir.Operation) -> None:
    text, name = host.text, callee_of(op)
    if name not in host.context.functions:
        raise host.error(
            op, f"@{name} is no Relax function of the module; only those can be values"
        )
    args = view_array(host, [host.env[value] for value in op.operands])
    slot = host.owned_slot(op.results[0])
    kind = "(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32"
    code = text.value(f"func.constant @{FFI_PREFIX}{name} : {kind}")
    address = text.value(f"builtin.unrealized_conversion_cast {code} : {kind} to !llvm.ptr")
    status = text.call(
        "relax_ffi_make_closure",
        [address, args, text.constant(len(op.operands), "i32"), slot],
        ["!llvm.ptr", "!llvm.ptr", "i32", "!llvm.ptr"],
        "i32",
    )
    host.check(status)
    host.env[op.results[0]] = ObjectValue(slot)


@operation("relax.call_value", "relax.invoke_closure", "relax.invoke_pure_closure")
def call_value(host: HostFunction, op: ir.Operation) -> None:
    text, (callee, *values) = host.text, [host.env[value] for value in op.operands]
    if not isinstance(callee, ObjectValue):
        raise host.error(op, "the callee is no function")
    args, slot = view_array(host, values), host.owned_slot(op.results[0])
    where = f"{host.name}: callee of a call: "
    status = text.call(
        "relax_ffi_call_value",
        [callee.slot, args, text.constant(len(values), "i32"), text.string(where), slot],
        ["!llvm.ptr", "!llvm.ptr", "i32", "!llvm.ptr", "!llvm.ptr"],
        "i32",
    )
    host.check(status)
    where = f"{host.name}: result of a call: "
    host.env[op.results[0]] = read_result(host, slot, op.results[0], where)
