"""Writing operators in a Relax function: what the passes that replace operators share."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import build_constant, numpy_dtype
from relax_mlir.dialects.relax.spec import SPECS, build
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.relax.functions import operations
from relax_mlir.mlir import ir

Operand = ir.Value | Sequence[ir.Value] | None


class OperatorWriter:
    """Creates operations in front of `before` (or at the start of a block), at its location."""

    def __init__(
        self, before: ir.Operation, constants: MutableMapping[str, np.ndarray] | None = None
    ):
        self._before = before
        self._constants = {} if constants is None else constants
        self._location = unnamed(before.location)

    def op(self, name: str, *operands: Operand, **attributes: Any) -> ir.Value:
        """An operator by TVM's name without `relax.`; raises InferError."""
        with ir.InsertionPoint(self._before):
            return build(SPECS[name], operands, attributes, loc=self._location)

    def constant(self, value: Any, dtype: str) -> ir.Value:
        array = np.asarray(value, numpy_dtype(dtype))
        with ir.InsertionPoint(self._before):
            return build_constant(array, self._constants, self._location)

    def prim(self, value: float, dtype: str) -> ir.Value:
        """A scalar that is no tensor."""
        return self.raw(
            "relax.prim_value", types.prim_type(dtype), [], {"value": to_attribute(float(value))}
        )

    def shape(self, dims: Sequence[Dim]) -> ir.Value:
        return self.raw("relax.shape_expr", types.shape_type(dims))

    def tuple(self, values: Sequence[ir.Value]) -> ir.Value:
        return self.raw("relax.tuple", types.tuple_type([v.type for v in values]), values)

    def field(self, value: ir.Value, index: int) -> ir.Value:
        """A field of a tuple; the value itself where the tuple is made in sight."""
        made = defining(value, "relax.tuple")
        if made is not None:
            return made.operands[index]
        kind = (types.tuple_fields(value.type) or [])[index]
        at = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
        return self.raw("relax.tuple_get_item", kind, [value], {"index": at})

    def raw(
        self,
        name: str,
        kind: ir.Type,
        operands: Sequence[ir.Value] = (),
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """Any operation with one result."""
        with ir.InsertionPoint(self._before):
            made = create(name, [kind], operands, dict(attributes or {}), loc=self._location)
        return made.result


def unnamed(location: ir.Location) -> ir.Location:
    """The place of a location without the name it carries."""
    return location.child_loc if isinstance(location, ir.NameLoc) else location


def call_with(call: ir.Operation, operands: Sequence[ir.Value]) -> ir.Operation:
    """A call of the same function with other operands, in place of one; the new one."""
    with ir.InsertionPoint(call):
        new = create(
            "relax.call",
            [call.results[0].type],
            operands,
            {"callee": call.attributes["callee"]},
            loc=call.location,
        )
    call.results[0].replace_all_uses_with(new.result)
    call.erase()
    return new.operation


def replace(op: ir.Operation, value: ir.Value) -> None:
    """Use `value` in place of the result of `op`; it takes the name if it has none, and keeps the
    type the users know."""
    result = op.results[0]
    name = name_of(result)
    if name and not isinstance(value, ir.BlockArgument) and name_of(value) is None:
        definition = value.owner.operation
        definition.location = name_location(name, definition.location)
    if value.type != result.type:
        with ir.InsertionPoint(op):
            value = create("relax.bind", [result.type], [value], loc=op.location).result
    result.replace_all_uses_with(value)
    op.erase()


def defining(value: ir.Value, *names: str) -> ir.Operation | None:
    """The operation that makes a value, second names looked through, if it has one of the names."""
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if op.name in names:
            return op
        if op.name != "relax.bind":
            return None
        value = op.operands[0]
    return None


def dims_of(value: ir.Value) -> tuple[Dim, ...] | None:
    """The dimensions of a tensor, None when they are not known."""
    info = types.tensor_info(value.type)
    return None if info is None else info.dims


def dtype_of(value: ir.Value) -> str | None:
    info = types.tensor_info(value.type)
    return None if info is None else info.dtype


def has_one_use(value: ir.Value) -> bool:
    return sum(1 for _ in value.uses) == 1


def erase_dead(ops: Sequence[ir.Operation]) -> None:
    """Erase those of the operations, which have no effects, that nothing uses; last ones first."""
    for op in reversed(ops):
        if not any(True for result in op.results for _ in result.uses):
            op.erase()


def slice_between(values: Sequence[ir.Value], anchor: ir.Operation) -> list[ir.Operation] | None:
    """The operations behind `anchor` in its block that `values` need, in program order.

    None when one of them needs `anchor` itself, so that they cannot move in front of it.
    """
    needed: set[ir.Operation] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, ir.BlockArgument):
            continue
        op = value.owner.operation
        if op == anchor:
            return None
        if op.block != anchor.block or op in needed or op.is_before_in_block(anchor):
            continue
        if len(op.regions):
            return None
        needed.add(op)
        pending.extend(op.operands)
    return [op for op in operations(anchor.block) if op in needed] if needed else []


def functions_named(functions: Sequence[ir.Operation], name: str | None) -> list[ir.Operation]:
    """All functions, or the one of that name."""
    if not name:
        return list(functions)
    return [op for op in functions if ir.StringAttr(op.attributes["sym_name"]).value == name]
