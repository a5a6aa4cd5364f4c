"""Virtual devices in the types of Relax functions: which values are where, and moving them.

Types name a device "cuda:0:global": the kind of its target, its number among the module's devices
of that kind, and its memory scope.  Shorter names leave out what is 0 and "global".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from relax_mlir.dialects.relax import types
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax.functions import entry_block, walk
from relax_mlir.lowering.relax.substitute import declared_type, set_function_type
from relax_mlir.mlir import ir

__all__ = [
    "Place",
    "devices_of",
    "full_name",
    "hinted_position",
    "move",
    "move_all",
    "names_of",
    "places_of",
    "position",
    "values_of",
]

Place = tuple[str, ...]
"""Where a tensor lives, as `TensorInfo.place` has it; empty where the program does not say."""

_DEVICE_OF_TARGET = {"llvm": "cpu", "c": "cpu", "nvptx": "cuda"}
"""The kind of device that a kind of target runs on, where the two are called differently."""


def values_of(function: ir.Operation) -> Iterator[ir.Value]:
    """The parameters of a function, and every value made in it."""
    yield from entry_block(function).arguments
    for op in walk(function):
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.arguments


def places_of(kind: ir.Type) -> list[Place]:
    """Where the tensors of a type live (`TensorInfo.place`), as far as it says so."""
    fields = types.tuple_fields(kind)
    if fields is not None:
        return [place for field in fields for place in places_of(field)]
    info = types.tensor_info(kind)
    return [info.place] if info is not None and info.place else []


def devices_of(kind: ir.Type) -> list[str]:
    """The virtual devices that a type names."""
    return [place[1] for place in places_of(kind) if place[0] == "vdevice"]


def move(kind: ir.Type, where: Callable[[Place], Place]) -> ir.Type:
    """The type with each tensor in it, fields of tuples included, at `where(its place)`.

    A tensor whose dtype or rank is not known lives nowhere in particular and stays.
    """
    fields = types.tuple_fields(kind)
    if fields is not None:
        return types.tuple_type([move(field, where) for field in fields])
    info = types.tensor_info(kind)
    if info is None or info.dtype is None or info.ndim < 0:
        return kind
    place = where(info.place)
    if place == info.place:
        return kind
    return types.tensor_type(info.dims, info.dtype, info.ndim, place)


def move_all(function: ir.Operation, where: Callable[[Place], Place]) -> None:
    """Move every value of a function, and its result, to `where(its place)`."""
    for value in list(values_of(function)):
        moved = move(value.type, where)
        if moved != value.type:
            value.set_type(moved)
    set_function_type(function, [move(kind, where) for kind in declared_type(function).results])


def full_name(name: str, devices: Sequence[str]) -> str:
    """The whole name of the device that a type or a `to_vdevice` names, among the module's.

    "cuda" is "cuda:0:global".  Raises PassError when the module's `devices` have no such device;
    without any the name is only completed.
    """
    if not devices:
        return ":".join(map(str, _parts(name)))
    return names_of(devices)[position(name, devices)]


def names_of(devices: Sequence[str]) -> list[str]:
    """How types name the module's devices: by their number among those of their kind."""
    kinds = [_parts(device)[0] for device in devices]
    return [
        f"{kind}:{kinds[:index].count(kind)}:{_parts(device)[2]}"
        for index, (kind, device) in enumerate(zip(kinds, devices, strict=True))
    ]


def position(name: str, devices: Sequence[str]) -> int:
    """Which of the module's devices, each as `I.vdevice` prints it, a type names.

    The number in the name counts the devices of that kind ("vdevice": all of them).
    """
    kind, number, _ = _parts(name)
    fitting = [i for i, device in enumerate(devices) if _same_kind(kind, _parts(device)[0])]
    return _chosen(name, fitting[number : number + 1], devices)


def hinted_position(name: str, devices: Sequence[str]) -> int:
    """Which of the module's devices a hint means, whose number is that of the hardware device."""
    kind, number, scope = _parts(name)
    fitting = [
        index
        for index, (other, *rest) in enumerate(map(_parts, devices))
        if _same_kind(kind, other) and rest == [number, scope]
    ]
    return _chosen(name, fitting, devices)


def _chosen(name: str, fitting: Sequence[int], devices: Sequence[str]) -> int:
    if not fitting:
        raise PassError(
            f"the module has no virtual device '{name}': it has {', '.join(devices)}",
            hint="name it in I.module_global_infos({'vdevice': [I.vdevice(...)]})",
        )
    return fitting[0]


def _same_kind(kind: str, other: str) -> bool:
    return kind == "vdevice" or _DEVICE_OF_TARGET.get(kind, kind) == _DEVICE_OF_TARGET.get(
        other, other
    )


def _parts(name: str) -> tuple[str, int, str]:
    kind, _, rest = name.partition(":")
    number, _, scope = rest.partition(":")
    if number and not number.isdigit():
        raise PassError(
            f"'{name}' is no device's name: that is kind:number:scope, as cuda:0:global"
        )
    # A target may have options behind its kind: "cuda -arch=sm_80".
    return kind.split()[0], int(number or 0), scope or "global"
