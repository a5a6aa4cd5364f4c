"""How buffers are laid out: transform_layout, reindex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.errors import Error
from relax_mlir.mlir import dynamic, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh, set_accesses
from relax_mlir.tir.schedule.analysis import reads_of, require_block, writes_of
from relax_mlir.tir.schedule.annotate import access_buffer
from relax_mlir.tir.schedule.bindings import determined
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.facts import unchanged
from relax_mlir.tir.schedule.fused_index import fused_indices
from relax_mlir.tir.schedule.index import Index, as_index, leaf
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.layout_gaps import Gaps, Space
from relax_mlir.tir.schedule.parameter_sizes import symbol_value
from relax_mlir.tir.schedule.sets import is_injective
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    buffer_shape,
    copy_discardable,
    erase_dead_arithmetic,
    new_loop,
)

_OPERAND = {"memref.load": 0, "memref.store": 1}


def chosen_buffer(block: ir.OpView, buffer: tuple[str, int] | str) -> tuple[ir.Value, str]:
    """The buffer meant by `("read", 0)`, "A", "read:A" or "write:A", and whether it is written."""
    block = require_block(block)
    if isinstance(buffer, (tuple, list)):
        kind, index = buffer
        if kind not in ("read", "write"):
            raise Refusal(f'"{kind}" is neither "read" nor "write"', block)
        return access_buffer(block, index, kind), kind
    kind, _, name = buffer.rpartition(":")
    if kind:
        return access_buffer(block, name, kind), kind
    names = [nest.value_name(a.buffer) for a in writes_of(block)]
    found = "write" if name in names else "read"
    return access_buffer(block, name, found), found


def rank_of(block: ir.OpView, buffer: tuple[str, int] | str | None) -> int:
    """The number of dimensions of a buffer of a block, or of the block's variables."""
    if buffer is None:
        return len(require_block(block).iter_vars)
    return ir.MemRefType(chosen_buffer(block, buffer)[0].type).rank


# -- transform_layout -------------------------------------------------------------------------


def transform_layout(
    state: ScheduleState,
    block: ir.OpView,
    buffer: tuple[str, int] | str,
    index_map: Any,
    pad_value: Any = None,
    assume_injective_transform: bool = False,
) -> None:
    """Store a buffer by other indices: its shape and every access to it change.

    A map that leaves gaps needs a `pad_value`, a number or a map from the new indices to one, which
    is stored there once the buffer is written; the gaps of an input hold what the caller put there.
    """
    block = require_block(block)
    target, _ = chosen_buffer(block, buffer)
    kind = ir.MemRefType(target.type)
    for use in target.uses:
        if use.owner.operation.name not in (*_OPERAND, "tir.read", "tir.write"):
            raise Refusal(f"{nest.value_name(target)} is used by {use.owner.operation.name}", block)
    mapping = _index_map(index_map, kind.rank, block)
    if any(size == dynamic() for size in kind.shape):
        _relayout(target, mapping, _symbolic_shape(block, target, mapping))
        return
    with unchanged():
        space = _mapped_shape(block, target, mapping, kind.shape, assume_injective_transform)
    shape = space.sizes
    gaps = prod(shape) != prod(kind.shape)
    pad = None if not gaps else Gaps.of(block, target, mapping, space, pad_value)
    target = _relayout(target, mapping, [Index({}, size) for size in shape])
    if pad is not None:
        pad.fill(state, target, shape)


def _relayout(target: ir.Value, mapping: IndexMap, shape: Sequence[Index]) -> ir.Value:
    """Change the shape of a buffer and each access to it; what it is then."""
    function = _function_of(target)
    touched = [b for b in nest.blocks_of(function) if _uses(b, target)]
    for use in [u.owner.operation for u in target.uses]:
        if use.name in _OPERAND:
            map_access(use, _OPERAND[use.name], lambda i: _mapped(mapping, function, i))
        else:
            use.erase()
    target = retype(function, target, shape)
    for reader in reversed(touched):
        erase_dead_arithmetic(reader)
        refresh(reader)
    return target


def _mapped(mapping: IndexMap, function: ir.OpView, indices: list[Index]) -> list[Index]:
    return mapping.apply(indices, lambda name: symbol_value(function, name))


def _function_of(buffer: ir.Value) -> ir.OpView:
    owner = buffer.owner
    return (
        owner.owner.operation.opview
        if isinstance(owner, ir.Block)
        else nest.function_of(owner.operation.opview)
    )


def _symbolic_shape(block: BlockOp, buffer: ir.Value, mapping: IndexMap) -> list[Index]:
    """The new sizes of a buffer of symbolic ones: products of the old."""
    if isinstance(buffer.owner, ir.Block):
        raise Refusal(f"{nest.value_name(buffer)} is a parameter of symbolic sizes", block)
    function = nest.function_of(block)
    sizes = buffer_shape(buffer)
    at = ir.InsertionPoint(buffer.owner.operation)
    # A loop over each dimension, for variables of its range.
    probes = [new_loop(f"i{n}", size, at) for n, size in enumerate(sizes)]
    variables = [nest.loop_var(probe) for probe in probes]
    try:
        final = _mapped(mapping, function, [leaf(v) for v in variables])
        fused = fused_indices(final, variables, sizes)
    except Error as error:
        raise Refusal(str(error), block) from None
    finally:
        for probe in probes:
            probe.operation.erase()
    if fused is None:
        raise Refusal(f"{nest.value_name(buffer)} has symbolic sizes: its dimensions can be fused "
                      "and put into another order only", block)  # fmt: skip
    return [row.size for row in fused]


def _index_map(given: Any, rank: int, block: BlockOp) -> IndexMap:
    try:
        return IndexMap.of(given, rank)
    except Error as error:
        raise Refusal(str(error), block) from None


def _mapped_shape(
    block: BlockOp,
    buffer: ir.Value,
    mapping: IndexMap,
    shape: Sequence[int],
    assume_injective: bool,
) -> Space:
    """The new space, in which each element must have a place of its own."""
    # Loops in a module of their own, whose variables have the ranges of the shape.
    probe = ir.Module.create()
    at = ir.InsertionPoint(probe.body)
    variables = [new_loop(f"i{n}", s, at).induction_variable for n, s in enumerate(shape)]
    final = mapping.apply([leaf(v) for v in variables])
    sizes: list[int] = []
    for index in final:
        low, high = index.bounds()
        if low is None or high is None or low < 0:
            raise Refusal(f"the index {index} of {nest.value_name(buffer)} has no known range that "
                          "starts at 0", block)  # fmt: skip
        sizes.append(high + 1)
    found = determined(final)
    injective = (
        assume_injective
        or all(v in found for v, size in zip(variables, shape, strict=True) if size > 1)
        or is_injective(final, variables)
    )
    if not injective:
        raise Refusal(f"{mapping} would store several elements of {nest.value_name(buffer)} in one "
                      "place", block)  # fmt: skip
    return Space(probe, list(variables), final, sizes)


def _uses(block: BlockOp, buffer: ir.Value) -> bool:
    return any(buffer in list(op.operation.operands) for op in nest.descend(block))


def map_access(
    op: ir.Operation, position: int, mapping: Callable[[list[Index]], list[Index]]
) -> None:
    """Rewrite a load or store to the new indices; its buffer's type changes later."""
    at = ir.InsertionPoint(op)
    operands = list(op.operands)
    with unchanged():
        final = mapping([as_index(v) for v in operands[position + 1 :]])
    indices = [write(index, at, op.location) for index in final]
    attributes = {named: op.attributes[named] for named in op.attributes}
    new = ir.Operation.create(
        op.name,
        results=[r.type for r in op.results],
        operands=[*operands[: position + 1], *indices],
        attributes=attributes,
        loc=op.location,
        ip=at,
    )
    for old, made in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(made)
    op.erase()


def simplify_accesses(block: BlockOp) -> None:
    """Write what a block declares and does to buffers anew, where `v // n * n + v % n` is `v`."""
    set_accesses(block, reads_of(block), writes_of(block))
    for op in list(nest.descend(block)):
        if op.operation.name in _OPERAND:
            map_access(op.operation, _OPERAND[op.operation.name], list)


def retype(function: ir.OpView, buffer: ir.Value, shape: Sequence[Index]) -> ir.Value:
    """Give a buffer another shape, before its accesses are looked at again; what it is then."""
    kind = ir.MemRefType(buffer.type)
    static = [s.constant if s.is_constant else dynamic() for s in shape]
    made = ir.MemRefType.get(static, kind.element_type, memory_space=kind.memory_space)
    owner = buffer.owner
    if not isinstance(owner, ir.Block):
        old = owner.operation.opview
        at = ir.InsertionPoint(old)
        sizes = [write(s, at) for s in shape if not s.is_constant]
        new = AllocBufferOp(old.scope, sizes, made, loc=old.location, ip=at)
        copy_discardable(old, new)
        if "axis_separators" in new.operation.attributes:
            del new.operation.attributes["axis_separators"]  # of the dimensions it had
        buffer.replace_all_uses_with(new.result)
        old.operation.erase()
        return new.result
    buffer.set_type(made)
    inputs = [argument.type for argument in nest.body_of(function).arguments]
    function.operation.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, [])
    )
    _forget_separators(function.operation, ir.BlockArgument(buffer).arg_number)
    return buffer


def _forget_separators(function: ir.Operation, number: int) -> None:
    """A parameter of another shape has no axis separators: they are of the dimensions it had."""
    if "arg_attrs" not in function.attributes:
        return
    described = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
    kept = [named for named in ir.DictAttr(described[number]) if named.name != _SEPARATORS]
    described[number] = ir.DictAttr.get({named.name: named.attr for named in kept})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(described)


_SEPARATORS = "tir.axis_separators"
