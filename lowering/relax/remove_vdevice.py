"""relax-remove-vdevice."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.names import name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions, symbol_name, walk
from relax_mlir.lowering.relax.vdevices import move_all, places_of, values_of
from relax_mlir.mlir import ir

_HOST = ("llvm", "cpu", "c", "vdevice")
"""Kinds of device that are the CPU; `vdevice:0` is the first of the module's, whatever it is."""


@register_pass("relax-remove-vdevice")
@dataclass(frozen=True)
class RemoveVDevice(Pass):
    """Take the devices out of the types of programs that run on one device, the CPU.

    Fails for tensors that live elsewhere, and for those spread over a device mesh.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            _refuse_collectives(function)
            for value in values_of(function):
                _require_host(value, symbol_name(function))
            move_all(function, lambda place: ())


def _refuse_collectives(function: ir.Operation) -> None:
    for op in walk(function):
        if op.name.startswith(("relax.dist_", "relax.ccl_")):
            spec = spec_of(op)
            name = op.name.removeprefix("relax.") if spec is None else spec.name
            raise PassError(
                f"R.{name} in '{symbol_name(function)}' is for several processes, for which no "
                "code is generated; the program can be checked, printed and transformed"
            )


def _require_host(value: ir.Value, function: str) -> None:
    name = name_of(value) or "a value"
    for place in places_of(value.type):
        if place[0] == "mesh":
            raise PassError(
                f"'{name}' in '{function}' is {types.describe(value.type)}, spread over a device "
                "mesh: code for several processes is not generated; the program can be checked, "
                "printed and transformed"
            )
        if place[1].split(":")[0].split()[0] not in _HOST:
            raise PassError(
                f"'{name}' in '{function}' lives on '{place[1]}', but the program is compiled for "
                "the CPU alone; give it an llvm device"
            )
