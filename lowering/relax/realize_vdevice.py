"""relax-realize-vdevice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    entry_block,
    relax_functions,
    terminator,
    walk,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter, replace
from relax_mlir.lowering.relax.substitute import declared_type, returned_types, set_function_type
from relax_mlir.lowering.relax.update_vdevice import DESTINATION
from relax_mlir.lowering.relax.vdevices import (
    Place,
    devices_of,
    full_name,
    hinted_position,
    move,
    move_all,
    names_of,
    values_of,
)
from relax_mlir.mlir import ir, operations_named

HINT = "relax.hint_on_device"
_CAST = "relax.match_cast"
_RENAMES = ("relax.bind", _CAST)
_TRANSFERS = (HINT, "relax.to_vdevice")
"""Operations whose result may be on another device than their operand."""


@register_pass("relax-realize-vdevice")
@dataclass(frozen=True)
class RealizeVDevice(Pass):
    """Write into every tensor's type the virtual device it is on.

    What types, `relax.hint_on_device` and the function's result say spreads along uses: an
    operation, its operands and its results are on one device.  The operand of a hint is on its
    device when nothing else says where it is.  A hint then becomes nothing, or a
    `relax.to_vdevice` where its operand is elsewhere.

    `vdevices` are the module's devices by name.  Raises PassError for a hint at another one.
    """

    vdevices: tuple[str, ...] = ()

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            devices = _Devices(function, self.vdevices)
            _write_types(function, devices.known)
            for op in list(walk(function)):
                if op.name == HINT:
                    _realize_hint(op, devices.destination(op))
                elif op.name in _TRANSFERS:
                    op.attributes[DESTINATION] = ir.StringAttr.get(devices.destination(op))
            _place_result(function)
            move_all(function, devices.full_place)
            _drop_casts(function)


class _Devices:
    """The device of each value of one function, as far as it can be told."""

    def __init__(self, function: ir.Operation, vdevices: tuple[str, ...]) -> None:
        self.known: dict[ir.Value, str] = {}
        self._function = function
        self._vdevices = vdevices
        self._together = _values_on_one_device(function)
        self._spread(self._said())
        hints = (op for op in walk(function) if op.name == HINT)
        self._spread((op.operands[0], self.destination(op)) for op in hints)

    def full(self, name: str) -> str:
        return full_name(name, self._vdevices)

    def destination(self, op: ir.Operation) -> str:
        """Where an operation puts its operand, or says that it is."""
        name = ir.StringAttr(op.attributes[DESTINATION]).value
        if op.name != HINT:
            return self.full(name)
        if name.count(":") == 1 and "memory_scope" in op.attributes:
            name = f"{name}:{ir.StringAttr(op.attributes['memory_scope']).value}"
        if not self._vdevices:
            return full_name(name, ())
        return names_of(self._vdevices)[hinted_position(name, self._vdevices)]

    def full_place(self, place: Place) -> Place:
        return ("vdevice", self.full(place[1])) if place[:1] == ("vdevice",) else place

    def _said(self) -> Iterable[tuple[ir.Value, str]]:
        """Values whose device the program says, types of the function's result last."""
        for value in values_of(self._function):
            yield from self._said_of(value, value.type)
        for op in walk(self._function):
            if op.name in _TRANSFERS:
                yield op.results[0], self.destination(op)
        returned = terminator(entry_block(self._function)).operands
        declared = declared_type(self._function).results
        for value, kind in zip(returned, declared, strict=True):
            yield from self._said_of(value, kind)

    def _said_of(self, value: ir.Value, kind: ir.Type) -> Iterable[tuple[ir.Value, str]]:
        fields = types.tuple_fields(kind)
        if fields is None:
            yield from ((value, self.full(name)) for name in devices_of(kind))
            return
        made = _made_by_tuple(value)
        for operand, field in zip(made.operands if made else (), fields, strict=made is not None):
            yield from self._said_of(operand, field)

    def _spread(self, starts: Iterable[tuple[ir.Value, str]]) -> None:
        """Note where values are, and all that are with them; what came first stays."""
        pending: list[ir.Value] = []
        for value, device in starts:
            if value not in self.known:
                self.known[value] = device
                pending.append(value)
        while pending:
            value = pending.pop()
            for other in self._together.get(value, ()):
                if other not in self.known:
                    self.known[other] = self.known[value]
                    pending.append(other)


def _made_by_tuple(value: ir.Value) -> ir.Operation | None:
    """The `relax.tuple` that makes a value: through other names, casts, outputs of dataflow."""
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if op.name == "relax.tuple":
            return op
        if op.name == "relax.dataflow":
            value = terminator(op.regions[0].blocks[0]).operands[list(op.results).index(value)]
        elif op.name in _RENAMES:
            value = op.operands[0]
        else:
            break
    return None


def _values_on_one_device(function: ir.Operation) -> dict[ir.Value, list[ir.Value]]:
    """For each value those that an operation ties it to; sizes and scalars are nowhere."""
    together: dict[ir.Value, list[ir.Value]] = {}

    def tie(a: ir.Value, b: ir.Value) -> None:
        if _lives_somewhere(a) and _lives_somewhere(b):
            together.setdefault(a, []).append(b)
            together.setdefault(b, []).append(a)

    for op in walk(function):
        if op.name in _TRANSFERS:
            continue
        for region in op.regions if op.name != "relax.local_function" else ():
            for block in region.blocks:
                for result, given in zip(op.results, terminator(block).operands, strict=False):
                    tie(result, given)
        for operand in op.operands:
            for result in op.results:
                tie(result, operand)
    return together


def _lives_somewhere(value: ir.Value) -> bool:
    return types.shape_info(value.type) is None and types.prim_info(value.type) is None


def _write_types(function: ir.Operation, known: dict[ir.Value, str]) -> None:
    for value, device in known.items():
        if types.tuple_fields(value.type) is None:
            value.set_type(_at(value.type, device))
    for op in walk(function):
        _write_tuple_type(op, known)


def _write_tuple_type(op: ir.Operation, known: dict[ir.Value, str]) -> None:
    """Types of tuples: of what they are made of in sight, else of their operation's device."""
    for result in op.results:
        if types.tuple_fields(result.type) is None:
            continue
        if op.name == "relax.tuple":
            result.set_type(types.tuple_type([value.type for value in op.operands]))
        elif op.name == "relax.dataflow":
            given = terminator(op.regions[0].blocks[0]).operands
            result.set_type(given[list(op.results).index(result)].type)
        elif op.name in _RENAMES:
            result.set_type(_placed_like(result.type, op.operands[0].type))
        elif result in known:
            result.set_type(_at(result.type, known[result]))


def _at(kind: ir.Type, device: str) -> ir.Type:
    """The type with its tensors on the device, those excepted that are somewhere already."""

    def where(place: Place) -> Place:
        return place if place[:1] == ("mesh",) else ("vdevice", device)

    return move(kind, where)


def _realize_hint(op: ir.Operation, device: str) -> None:
    """Nothing where the operand is there already, else a transfer."""
    operand = op.operands[0]
    if devices_of(operand.type) == [device]:
        with ir.InsertionPoint(op):
            renamed = create("relax.bind", [operand.type], [operand], loc=op.location).result
        op.results[0].replace_all_uses_with(renamed)
        op.erase()
        return
    replace(op, OperatorWriter(op).op("to_vdevice", operand, dst_vdevice=device))


def _place_result(function: ir.Operation) -> None:
    """The function's result is where the returned value is."""
    returned, declared = returned_types(function), declared_type(function).results
    placed = [_placed_like(kind, other) for kind, other in zip(declared, returned, strict=True)]
    set_function_type(function, placed)


def _placed_like(kind: ir.Type, other: ir.Type) -> ir.Type:
    fields, others = types.tuple_fields(kind), types.tuple_fields(other)
    if fields is not None and others is not None:
        return types.tuple_type([_placed_like(a, b) for a, b in zip(fields, others, strict=True)])
    devices = devices_of(other)
    return _at(kind, devices[0]) if fields is None and others is None and devices else kind


def _drop_casts(function: ir.Operation) -> None:
    """Casts that said no more than the device now say nothing."""
    for op in operations_named(function, [_CAST]):
        if op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
