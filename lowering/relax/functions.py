"""Reading and changing the functions of a module: what the Relax passes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.mlir import ir

RELAX_ATTRS = "relax.attrs"
TIR_ATTRS = "tir.attrs"
SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
"""Attributes that only count operands and results."""

_PURE = frozenset(
    f"relax.{name}"
    for name in (
        "bind constant tuple tuple_get_item shape_expr prim_value string data_type function_ref "
        "call_tir call_tir_with_grad call_dps_packed call_pure_packed local_function make_closure "
        "invoke_pure_closure"
    ).split()
)


def relax_functions(state: ModuleState) -> list[ir.Operation]:
    """The Relax functions of a module in order."""
    return [op for op in state.functions() if RELAX_ATTRS in op.attributes]


def prim_functions(state: ModuleState) -> dict[str, ir.Operation]:
    """The TensorIR functions of a module by name."""
    return {symbol_name(op): op for op in state.functions() if TIR_ATTRS in op.attributes}


def functions_by_name(state: ModuleState) -> dict[str, ir.Operation]:
    return {symbol_name(op): op for op in state.functions()}


def symbol_name(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def is_private(function: ir.Operation) -> bool:
    attributes = function.attributes
    return (
        "sym_visibility" in attributes
        and ir.StringAttr(attributes["sym_visibility"]).value == "private"
    )


def attributes_of_function(function: ir.Operation) -> dict[str, Any]:
    """The user's attributes of a Relax or TensorIR function."""
    key = RELAX_ATTRS if RELAX_ATTRS in function.attributes else TIR_ATTRS
    return from_attribute(function.attributes[key])


def set_function_attributes(function: ir.Operation, attributes: Mapping[str, Any]) -> None:
    key = RELAX_ATTRS if RELAX_ATTRS in function.attributes else TIR_ATTRS
    function.attributes[key] = to_attribute(attributes)


def argument_attributes(function: ir.Operation) -> list[dict[str, ir.Attribute]]:
    """The attribute dictionary of each argument."""
    count = len(entry_block(function).arguments)
    if "arg_attrs" not in function.attributes:
        return [{} for _ in range(count)]
    entries = ir.ArrayAttr(function.attributes["arg_attrs"])
    return [{named.name: named.attr for named in ir.DictAttr(entry)} for entry in entries]


def entry_block(function: ir.Operation) -> ir.Block:
    return function.regions[0].blocks[0]


def terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation


def operations(block: ir.Block) -> list[ir.Operation]:
    """The operations of a block, as a list that survives changes to the block."""
    return [op.operation for op in block.operations]


def binding_blocks(function: ir.Operation) -> Iterator[ir.Block]:
    """Every block of bindings: the body, dataflow bodies, branches; outer ones first."""
    pending = [entry_block(function)]
    while pending:
        block = pending.pop(0)
        yield block
        for op in block.operations:
            for region in op.operation.regions:
                pending.extend(region.blocks)


def dataflow_blocks(function: ir.Operation) -> list[ir.Block]:
    """The bodies of the function's dataflow regions."""
    return [block for block in binding_blocks(function) if terminator(block).name == "relax.output"]


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """All operations inside `op`, in program order."""
    for region in op.regions:
        for block in region.blocks:
            for child in operations(block):
                yield child
                yield from walk(child)


def producers(op: ir.Operation, inside: set[ir.Operation]) -> list[ir.Operation]:
    """The operations of `inside` that an operation, or one in its regions, uses; each once."""
    found: dict[ir.Operation, None] = {}
    pending = [op]
    while pending:
        current = pending.pop()
        for value in current.operands:
            if not isinstance(value, ir.BlockArgument) and value.owner.operation in inside:
                found.setdefault(value.owner.operation)
        for region in current.regions:
            for block in region.blocks:
                pending.extend(operations(block))
    return list(found)


def references(op: ir.Operation) -> set[str]:
    """The functions that the operations inside `op` refer to by name."""
    found: set[str] = set()
    for child in walk(op):
        for name in child.attributes:
            attribute = child.attributes[name]
            if isinstance(attribute, ir.FlatSymbolRefAttr):
                found.add(attribute.value)
    return found


def called_from(names: Iterable[str], functions: Mapping[str, ir.Operation]) -> set[str]:
    """The functions that those of these names refer to, and those that these refer to in turn."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        new = (references(functions[pending.pop()]) & functions.keys()) - found
        found |= new
        pending.extend(new)
    return found


def callee_of(op: ir.Operation) -> str:
    """The name in a call's `callee` attribute."""
    callee = op.attributes["callee"]
    if isinstance(callee, ir.FlatSymbolRefAttr):
        return callee.value
    return ir.StringAttr(callee).value


def call_tir_operands(op: ir.Operation) -> tuple[list[ir.Value], ir.Value | None]:
    """(arguments, the tir_vars shape or None) of a `relax.call_tir`."""
    call = op.opview
    tir_vars = call.tir_vars
    return list(call.arguments), tir_vars[0] if tir_vars else None


def only_producer(value: ir.Value, consumer: ir.Operation) -> ir.Operation | None:
    """The call that makes a value, if it is in the same block and nothing else uses the value."""
    return producer_of(value, consumer) if sum(1 for _ in value.uses) == 1 else None


def producer_of(value: ir.Value, consumer: ir.Operation) -> ir.Operation | None:
    """The call that makes a value, if it is in the same block."""
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    if op.name != "relax.call_tir" or op.block != consumer.block:
        return None
    return op


def is_pure(op: ir.Operation, pure_functions: Callable[[str], bool] | None = None) -> bool:
    """True when an unused `op` can be removed.  `pure_functions` answers for called functions."""
    spec = spec_of(op)
    if spec is not None:
        return spec.pure
    if op.name == "relax.call":
        return pure_functions is not None and pure_functions(callee_of(op))
    if op.name in ("relax.dataflow", "relax.if"):
        return all(
            is_pure(child, pure_functions) or child.name in ("relax.output", "relax.yield")
            for child in walk(op)
        )
    return op.name in _PURE


def purity(state: ModuleState) -> Callable[[str], bool]:
    """Answers whether a function of the module, by name, has no effects."""
    functions = functions_by_name(state)

    def pure(name: str) -> bool:
        function = functions.get(name)
        if function is None or RELAX_ATTRS not in function.attributes:
            return False
        attributes = function.attributes
        return "relax.pure" not in attributes or ir.BoolAttr(attributes["relax.pure"]).value

    return pure


def is_used(op: ir.Operation) -> bool:
    return any(True for result in op.results for _ in result.uses)


def unique_name(taken: Iterable[str], base: str) -> str:
    """`base`, or the first of base1, base2, ... that is not taken."""
    names = set(taken)
    if base not in names:
        return base
    number = 1
    while f"{base}{number}" in names:
        number += 1
    return f"{base}{number}"


def copy_function(state: ModuleState, function: ir.Operation) -> ir.Operation:
    """A private copy of a function, in front of it, under a name of its own."""
    name = unique_name(functions_by_name(state), symbol_name(function))
    with ir.InsertionPoint(function):
        copy = function.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
    return copy
