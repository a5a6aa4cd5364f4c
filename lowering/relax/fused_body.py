"""A primitive Relax function taken apart: which TensorIR calls it makes on which buffers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    call_tir_operands,
    callee_of,
    entry_block,
)
from relax_mlir.mlir import ir


@dataclass(eq=False)
class Slot:
    """A buffer of the fused function: a tensor parameter, or an output of a call."""

    name: str
    info: TensorInfo
    is_parameter: bool


@dataclass(frozen=True)
class KernelCall:
    """One `relax.call_tir`: the callee, buffers in and out, and the values of its scalars."""

    callee: str
    inputs: list[Slot]
    outputs: list[Slot]
    scalars: tuple[Dim, ...]
    location: ir.Location


@dataclass
class FusedBody:
    """The whole function: parameters, symbols given as scalars, calls in order, results."""

    parameters: list[Slot] = field(default_factory=list)
    scalars: tuple[str, ...] = ()
    calls: list[KernelCall] = field(default_factory=list)
    results: list[Slot] = field(default_factory=list)


_Value: TypeAlias = "Slot | list[_Value] | tuple[Dim, ...]"


class Unsupported(Exception):
    """A primitive function that holds something besides calls to TensorIR functions."""


def read_body(function: ir.Operation) -> FusedBody:
    """Take a primitive function apart; raises Unsupported."""
    return _Reader(function).read()


class _Reader:
    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        self.body = FusedBody()
        self.values: dict[ir.Value, _Value] = {}

    def read(self) -> FusedBody:
        block = entry_block(self.function)
        for argument, attributes in zip(
            block.arguments, argument_attributes(self.function), strict=True
        ):
            given = attributes.get("relax.name")
            name = name_of(argument) if given is None else ir.StringAttr(given).value
            self.values[argument] = self._parameter(name or "param", argument.type)
        returned = self._run(block)
        self.body.results = _flatten(returned[0])
        self._check_results()
        return self.body

    def _parameter(self, name: str, kind: ir.Type) -> _Value:
        fields = types.tuple_fields(kind)
        if fields is not None:
            return [self._parameter(f"{name}_{i}", field) for i, field in enumerate(fields)]
        shape = types.shape_info(kind)
        if shape is not None and shape.dims is not None and not self.body.scalars:
            self.body.scalars = tuple(str(dim) for dim in shape.dims)
            return shape.dims
        slot = Slot(name, _known(kind), True)
        self.body.parameters.append(slot)
        return slot

    def _check_results(self) -> None:
        results = self.body.results
        if any(slot.is_parameter for slot in results) or len({*map(id, results)}) < len(results):
            raise Unsupported("a result is a parameter, or given twice")

    def _run(self, block: ir.Block) -> list[_Value]:
        for op in block.operations:
            op = op.operation
            if op.name in ("func.return", "relax.output"):
                return [self.values[v] for v in op.operands]
            handler = _HANDLERS.get(op.name)
            if handler is None:
                raise Unsupported(f"operation {op.name}")
            handler(self, op)
        raise Unsupported("no terminator")

    def call_tir(self, op: ir.Operation) -> None:
        arguments, tir_vars = call_tir_operands(op)
        inputs = [slot for v in arguments for slot in _flatten(self.values[v])]
        scalars: tuple[Dim, ...] = ()
        if tir_vars is not None:
            info = types.shape_info(tir_vars.type)
            if info is None or info.dims is None:
                raise Unsupported("scalars of unknown value")
            scalars = info.dims
        result = self._outputs(name_of(op.results[0]) or "out", op.results[0].type)
        call = KernelCall(callee_of(op), inputs, _flatten(result), scalars, op.location)
        self.body.calls.append(call)
        self.values[op.results[0]] = result

    def _outputs(self, name: str, kind: ir.Type) -> _Value:
        fields = types.tuple_fields(kind)
        if fields is not None:
            return [self._outputs(name, field) for field in fields]
        return Slot(name, _known(kind), False)

    def dataflow(self, op: ir.Operation) -> None:
        for result, value in zip(op.results, self._run(op.regions[0].blocks[0]), strict=True):
            self.values[result] = value

    def make_tuple(self, op: ir.Operation) -> None:
        self.values[op.results[0]] = [self.values[v] for v in op.operands]

    def get_item(self, op: ir.Operation) -> None:
        value = self.values[op.operands[0]]
        assert isinstance(value, list)  # the verifier lets only tuples through
        self.values[op.results[0]] = value[ir.IntegerAttr(op.attributes["index"]).value]

    def bind(self, op: ir.Operation) -> None:
        self.values[op.results[0]] = self.values[op.operands[0]]

    def shape(self, op: ir.Operation) -> None:
        info = types.shape_info(op.results[0].type)
        assert info is not None  # likewise
        self.values[op.results[0]] = info.dims or ()


_HANDLERS = {
    "relax.call_tir": _Reader.call_tir,
    "relax.dataflow": _Reader.dataflow,
    "relax.tuple": _Reader.make_tuple,
    "relax.tuple_get_item": _Reader.get_item,
    "relax.bind": _Reader.bind,
    "relax.shape_expr": _Reader.shape,
}


def _known(kind: ir.Type) -> TensorInfo:
    info = types.tensor_info(kind)
    if info is None or info.dims is None or info.dtype is None:
        raise Unsupported(f"a buffer of type {kind}")
    return info


def _flatten(value: _Value) -> list[Slot]:
    if isinstance(value, Slot):
        return [value]
    if isinstance(value, list):
        return [slot for entry in value for slot in _flatten(entry)]
    raise Unsupported("a shape where a tensor is expected")
