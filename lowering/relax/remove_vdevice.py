"""relax-remove-vdevice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.dialects.names import name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import entry_block, relax_functions, symbol_name, walk
from relax_mlir.lowering.relax.substitute import declared_type, set_function_type
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
            values = [v for v in _values(function) if _is_placed(v.type)]
            for value in values:
                _require_host(value, symbol_name(function))
            if not values and not any(map(_is_placed, _results(function))):
                continue
            for value in values:
                value.set_type(_unplaced(value.type))
            set_function_type(function, [_unplaced(kind) for kind in _results(function)])


def _refuse_collectives(function: ir.Operation) -> None:
    for op in walk(function):
        if op.name.startswith(("relax.dist_", "relax.ccl_")):
            spec = spec_of(op)
            name = op.name.removeprefix("relax.") if spec is None else spec.name
            raise PassError(
                f"R.{name} in '{symbol_name(function)}' is for several processes, for which no "
                "code is generated; the program can be checked, printed and transformed"
            )


def _values(function: ir.Operation) -> Iterator[ir.Value]:
    yield from entry_block(function).arguments
    for op in walk(function):
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.arguments


def _results(function: ir.Operation) -> list[ir.Type]:
    return list(declared_type(function).results)


def _is_placed(kind: ir.Type) -> bool:
    return bool(_places(kind))


def _places(kind: ir.Type) -> list[tuple[str, ...]]:
    fields = types.tuple_fields(kind)
    if fields is not None:
        return [place for field in fields for place in _places(field)]
    info = types.tensor_info(kind)
    return [info.place] if info is not None and info.place else []


def _unplaced(kind: ir.Type) -> ir.Type:
    fields = types.tuple_fields(kind)
    if fields is not None:
        return types.tuple_type([_unplaced(field) for field in fields])
    info = types.tensor_info(kind)
    if info is None or not info.place:
        return kind
    return types.tensor_type(info.dims, info.dtype, info.ndim)


def _require_host(value: ir.Value, function: str) -> None:
    name = name_of(value) or "a value"
    for place in _places(value.type):
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
