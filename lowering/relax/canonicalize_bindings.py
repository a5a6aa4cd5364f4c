"""relax-canonicalize-bindings."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    binding_blocks,
    operations,
    relax_functions,
    terminator,
)
from relax_mlir.mlir import ir


@register_pass("relax-canonicalize-bindings")
@dataclass(frozen=True)
class CanonicalizeBindings(Pass):
    """Remove bindings that only give a value a second name, or take a known tuple apart.

    `gv = lv` disappears and lv's definition takes the name gv if gv leaves the dataflow block.
    Results of a dataflow block that are defined outside it, or never used, are dropped.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            canonicalize_function(function)


def canonicalize_function(function: ir.Operation) -> None:
    """Canonicalize the bindings of one Relax function in place."""
    changed = True
    while changed:
        changed = False
        for block in list(binding_blocks(function)):
            for op in operations(block):
                rule = _RULES.get(op.name)
                if rule is not None:
                    changed |= rule(op)
        changed |= sum(map(drop_unused_outputs, _dataflow_operations(function))) > 0


def _dataflow_operations(function: ir.Operation) -> list[ir.Operation]:
    return [
        op
        for block in binding_blocks(function)
        for op in operations(block)
        if op.name == "relax.dataflow"
    ]


def _forward_bind(op: ir.Operation) -> bool:
    value, result = op.operands[0], op.results[0]
    if value.type != result.type:
        return False
    visible = any(use.owner.operation.name == "relax.output" for use in result.uses)
    name = name_of(result)
    if visible and name and _is_hidden(value):
        definition = value.owner.operation
        definition.location = name_location(name, definition.location)
    result.replace_all_uses_with(value)
    op.erase()
    return True


def _is_hidden(value: ir.Value) -> bool:
    """True for a value of a dataflow block that does not leave it under a name of its own."""
    if isinstance(value, ir.BlockArgument):
        return False
    definition = value.owner.operation
    if len(definition.results) != 1 or terminator(definition.block).name != "relax.output":
        return False
    return not any(use.owner.operation.name == "relax.output" for use in value.uses)


def _forward_match_cast(op: ir.Operation) -> bool:
    """A cast to the type the value has already checks nothing and binds nothing."""
    value, result = op.operands[0], op.results[0]
    if value.type != result.type or types.symbols_of(result.type):
        return False
    result.replace_all_uses_with(value)
    op.erase()
    return True


def _forward_field(op: ir.Operation) -> bool:
    source = op.operands[0]
    if isinstance(source, ir.BlockArgument) or source.owner.operation.name != "relax.tuple":
        return False
    field = source.owner.operation.operands[ir.IntegerAttr(op.attributes["index"]).value]
    if field.type != op.results[0].type:
        return False
    op.results[0].replace_all_uses_with(field)
    op.erase()
    return True


def _forward_tuple(op: ir.Operation) -> bool:
    """(t[0], t[1], ...) over all fields of t is t."""
    fields = list(op.operands)
    if not fields:
        return False
    items = [None if isinstance(v, ir.BlockArgument) else v.owner.operation for v in fields]
    if any(item is None or item.name != "relax.tuple_get_item" for item in items):
        return False
    sources = [item.operands[0] for item in items if item is not None]
    indices = [ir.IntegerAttr(i.attributes["index"]).value for i in items if i is not None]
    whole = sources[0].type == op.results[0].type and indices == [*range(len(fields))]
    if not whole or any(source != sources[0] for source in sources):
        return False
    op.results[0].replace_all_uses_with(sources[0])
    op.erase()
    return True


_RULES = {
    "relax.bind": _forward_bind,
    "relax.match_cast": _forward_match_cast,
    "relax.tuple_get_item": _forward_field,
    "relax.tuple": _forward_tuple,
}


def drop_unused_outputs(op: ir.Operation) -> bool:
    """Drop a dataflow block's results that are unused, repeated, or come from outside.

    Returns True when there were any."""
    body = op.regions[0].blocks[0]
    output = terminator(body)
    values = list(output.operands)
    keep: list[int] = []
    for i, (value, result) in enumerate(zip(values, op.results, strict=True)):
        first = next(j for j in range(i + 1) if values[j] == value)
        if not any(True for _ in result.uses):
            continue
        if first in keep:
            result.replace_all_uses_with(op.results[first])
        elif isinstance(value, ir.BlockArgument) or value.owner.operation.block != body:
            result.replace_all_uses_with(value)
        else:
            keep.append(i)
    if len(keep) == len(values):
        return False
    rebuild_dataflow(op, keep)
    return True


def rebuild_dataflow(op: ir.Operation, keep: list[int]) -> ir.Operation | None:
    """Replace a dataflow operation by one with only the results `keep`; without any results its
    operations move out in front of it.  Returns the new operation or None."""
    body = op.regions[0].blocks[0]
    output = terminator(body)
    values = [output.operands[i] for i in keep]
    if not keep:
        for child in operations(body)[:-1]:
            child.move_before(op)
        op.erase()
        return None
    with ir.InsertionPoint(op), op.location:
        new = create("relax.dataflow", results=[v.type for v in values], regions=1, loc=op.location)
    with ir.InsertionPoint(output), output.location:
        create("relax.output", operands=values)
    output.erase()
    body.append_to(new.regions[0])
    for i, result in zip(keep, new.results, strict=True):
        op.results[i].replace_all_uses_with(result)
    op.erase()
    return new
