"""relax-dataflow-use-inplace-calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.relax import binary, types, unary
from relax_mlir.dialects.relax.marks import MARKS
from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    attributes_of_function,
    callee_of,
    dataflow_blocks,
    entry_block,
    functions_by_name,
    operations,
    prim_functions,
    relax_functions,
    symbol_name,
    terminator,
    unique_name,
    walk,
)
from relax_mlir.lowering.relax.op_pattern import OpPatternKind, op_pattern
from relax_mlir.lowering.relax.substitute import remove_arguments
from relax_mlir.lowering.relax_to_tir.legalize_ops import LegalizeOps
from relax_mlir.mlir import ir

# Operations that make a tensor nobody else holds.
_FRESH = ("relax.call_tir", "relax.call_tir_inplace")


@register_pass("relax-dataflow-use-inplace-calls")
@dataclass(frozen=True)
class DataflowUseInplaceCalls(Pass):
    """Write the result of an elementwise call over an operand that nothing uses afterwards.

    Works on dataflow blocks, on calls of TensorIR functions and on elementwise operators; those of
    which one could work in place become such calls.  The operand must be made in the block, by a
    call, and have the type of the result.  The functions are copies, `add_inplace`, without the
    output.
    """

    def run(self, state: ModuleState) -> None:
        if not any(dataflow_blocks(function) for function in relax_functions(state)):
            return
        self._legalize_candidates(state)
        made: dict[tuple[str, int], str] = {}
        for function in relax_functions(state):
            for block in dataflow_blocks(function):
                for op in operations(block):
                    if op.name == "relax.call_tir":
                        _rewrite(op, block, state, made)

    def _legalize_candidates(self, state: ModuleState) -> None:
        """Operators of which one has a dead operand become calls; the others stay."""
        present: set[str] = set()
        wanted: set[str] = set()
        for function in relax_functions(state):
            present |= {row.name for op in walk(function) if (row := spec_of(op)) is not None}
            for block in dataflow_blocks(function):
                for op in operations(block):
                    row = spec_of(op)
                    operands = range(len(op.operands))
                    if row is not None and any(_same_and_dead(op, i, block) for i in operands):
                        wanted.add(row.name)
        chosen = wanted & _elementwise_names()
        if chosen:
            LegalizeOps(skip_ops=tuple(sorted(present - chosen))).run(state)


def _elementwise_names() -> set[str]:
    names = {name for group, _ in binary.FAMILIES for name in group}
    unary_names = {name for group, *_ in unary.FAMILIES for name in group}
    return names | unary_names | {"nn.relu", "nn.gelu", "nn.silu", "clip"}


def _same_and_dead(op: ir.Operation, index: int, block: ir.Block) -> bool:
    """True when operand `index` has the type of the result and this is its last use."""
    value = op.operands[index]
    info = types.tensor_info(value.type)
    if value.type != op.results[0].type or info is None or info.dims is None:
        return False
    if isinstance(value, ir.BlockArgument) or value.owner.operation.block != block:
        return False
    for use in value.uses:
        user = use.owner.operation
        if user.block != block or user == terminator(block):
            return False
        if user != op and not user.is_before_in_block(op):
            return False
        if user != op and not _only_reads(user):
            return False
    return True


# Operators whose result is the memory of an operand.
_VIEWS = ("relax.reshape", "relax.memory_view", "relax.memory_ensure_zero_offset")


def _only_reads(user: ir.Operation) -> bool:
    """True when an operation keeps nothing of its operands."""
    if user.name == "relax.call_tir":
        return True
    row = spec_of(user)
    return row is not None and row.pure and user.name not in _VIEWS and row.name not in MARKS


def _rewrite(
    op: ir.Operation, block: ir.Block, state: ModuleState, made: dict[tuple[str, int], str]
) -> None:
    if types.tensor_info(op.results[0].type) is None:
        return
    kernels = prim_functions(state)
    name = callee_of(op)
    kernel = kernels.get(name)
    if kernel is None or op_pattern(kernel) not in (
        OpPatternKind.ELEMENTWISE,
        OpPatternKind.BROADCAST,
    ):
        return
    if len(entry_block(kernel).arguments) != len(op.operands) + 1:
        return  # it gets sizes too
    for index, value in enumerate(op.operands):
        if types.tensor_info(value.type) is None or isinstance(value, ir.BlockArgument):
            continue
        if value.owner.operation.name not in _FRESH or not _same_and_dead(op, index, block):
            continue
        if not _reads_where_it_writes(kernel, index):
            continue
        if sum(other == value for other in op.operands) > 1:
            continue
        callee = made.get((name, index)) or _in_place(kernel, index, state)
        made[name, index] = callee
        _call(op, callee, index)
        return


def _reads_where_it_writes(kernel: ir.Operation, index: int) -> bool:
    """True when every element of a parameter is read for the element that is written there."""
    arguments = list(entry_block(kernel).arguments)
    target = arguments[-1]
    stores = [op for op in walk(kernel) if op.name == "memref.store"]
    if len(stores) != 1 or stores[0].operands[1] != target or arguments[index] == target:
        return False
    place = list(stores[0].operands)[2:]
    loads = [
        op for op in walk(kernel)
        if op.name == "memref.load" and op.operands[0] == arguments[index]
    ]  # fmt: skip
    return bool(loads) and all(list(op.operands)[1:] == place for op in loads)


def _in_place(kernel: ir.Operation, index: int, state: ModuleState) -> str:
    """A copy of a function that writes over parameter `index`; its name."""
    copy = kernel.clone(ir.InsertionPoint(kernel))
    name = unique_name(functions_by_name(state), f"{symbol_name(kernel)}_inplace")
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
    arguments = list(entry_block(copy).arguments)
    arguments[-1].replace_all_uses_with(arguments[index])
    remove_arguments(copy, [len(arguments) - 1])
    attributes = attributes_of_function(copy)
    if attributes.pop("tir.noalias", None) is not None:
        copy.attributes["tir.attrs"] = to_attribute(attributes)
    assert len(argument_attributes(copy)) == len(arguments) - 1
    return name


def _call(op: ir.Operation, callee: str, index: int) -> None:
    attributes: Mapping[str, ir.Attribute] = {
        "callee": ir.FlatSymbolRefAttr.get(callee),
        "inplace_indices": to_attribute([index]),
    }
    with ir.InsertionPoint(op):
        made = create(
            "relax.call_tir_inplace",
            [op.results[0].type],
            list(op.operands),
            dict(attributes),
            loc=op.location,
        )
    op.results[0].replace_all_uses_with(made.result)
    op.erase()
