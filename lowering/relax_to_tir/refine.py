"""A value's type becomes more precise, and with it the types of the values made of it."""

from __future__ import annotations

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.mlir import ir

_ENDS = ("func.return", "relax.yield")


def refine(value: ir.Value, kind: ir.Type) -> None:
    """Give `value` the type `kind`.  Where its function or branch ends it keeps its own type."""
    declared = value.type
    if declared == kind:
        return
    value.set_type(kind)
    for use in list(value.uses):
        user, position = use.owner.operation, use.operand_number
        if user.name in _ENDS:
            with ir.InsertionPoint(user):
                bound = create("relax.bind", [declared], [value], loc=user.location).result
            user.operands[position] = bound
        elif user.name == "relax.output":
            refine(user.parent.results[position], kind)
        elif user.name == "relax.bind":
            refine(user.results[0], kind)
        elif user.name == "relax.tuple":
            refine(user.results[0], types.tuple_type([field.type for field in user.operands]))
        elif user.name == "relax.tuple_get_item":
            fields = types.tuple_fields(kind)
            index = ir.IntegerAttr(user.attributes["index"]).value
            if fields is not None:
                refine(user.results[0], fields[index])
