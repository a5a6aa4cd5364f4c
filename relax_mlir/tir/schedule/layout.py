"""How buffers are laid out: transform_layout, reindex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.blocks import BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.errors import Error
from relax_mlir.mlir import dynamic, ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    read_buffers,
    require_block,
    siblings,
    writers,
    writes_of,
)
from relax_mlir.tir.schedule.annotate import access_buffer
from relax_mlir.tir.schedule.bindings import determined
from relax_mlir.tir.schedule.caching import (
    Place,
    buffer_attributes,
    index_dtype,
    last_allocation,
    place_after,
    start_of,
)
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    add_access,
    alloc_buffer,
    buffer_shape,
    copy_discardable,
    erase_dead_arithmetic,
    new_block,
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
    """Store a buffer by other indices: its shape and every access to it change."""
    block = require_block(block)
    target, _ = chosen_buffer(block, buffer)
    kind = ir.MemRefType(target.type)
    if any(size == dynamic() for size in kind.shape):
        raise Refusal(f"{nest.value_name(target)} has symbolic sizes", block)
    for use in target.uses:
        if use.owner.operation.name not in (*_OPERAND, "tir.read", "tir.write"):
            raise Refusal(f"{nest.value_name(target)} is used by {use.owner.operation.name}", block)
    mapping = _index_map(index_map, kind.rank, block)
    shape = _mapped_shape(block, target, mapping, kind.shape, assume_injective_transform)
    function = nest.function_of(block)
    touched = [b for b in nest.blocks_of(function) if _uses(b, target)]
    for use in [u.owner.operation for u in target.uses]:
        if use.name in _OPERAND:
            _map_access(use, _OPERAND[use.name], mapping)
        else:
            use.erase()
    _retype(function, target, shape)
    for reader in reversed(touched):
        erase_dead_arithmetic(reader)
        refresh(reader)


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
) -> list[int]:
    """The sizes of the new space, which must have as many elements and name each once."""
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
    count, wanted = 1, 1
    for size in sizes:
        count *= size
    for size in shape:
        wanted *= size
    found = determined(final)
    injective = assume_injective or all(
        v in found for v, size in zip(variables, shape, strict=True) if size > 1
    )
    texts = " x ".join(map(str, shape)), " x ".join(map(str, sizes))
    if not injective:
        raise Refusal(f"{mapping} would store several elements of {nest.value_name(buffer)} in one "
                      "place", block)  # fmt: skip
    if count != wanted:
        raise Refusal(f"{mapping} needs padding: {texts[0]} elements in {texts[1]}", block,
                      hint="choose factors that divide the sizes")  # fmt: skip
    return sizes


def _uses(block: BlockOp, buffer: ir.Value) -> bool:
    return any(buffer in list(op.operation.operands) for op in nest.descend(block))


def _map_access(op: ir.Operation, position: int, mapping: IndexMap) -> None:
    """Rewrite a load or store to the new indices; its buffer's type changes later."""
    at = ir.InsertionPoint(op)
    operands = list(op.operands)
    final = mapping.apply([as_index(v) for v in operands[position + 1 :]])
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


def _retype(function: ir.OpView, buffer: ir.Value, shape: Sequence[int]) -> None:
    kind = ir.MemRefType(buffer.type)
    made = ir.MemRefType.get(list(shape), kind.element_type, memory_space=kind.memory_space)
    owner = buffer.owner
    if not isinstance(owner, ir.Block):
        old = owner.operation.opview
        new = AllocBufferOp(old.scope, [], made, loc=old.location, ip=ir.InsertionPoint(old))
        copy_discardable(old, new)
        buffer.replace_all_uses_with(new.result)
        old.operation.erase()
        return
    buffer.set_type(made)
    inputs = [argument.type for argument in nest.body_of(function).arguments]
    function.operation.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, [])
    )


# -- reindex ----------------------------------------------------------------------------------


def reindex(state: ScheduleState, block: ir.OpView, buffer: tuple[str, int] | str) -> BlockOp:
    """Let a block access a copy of a buffer that is indexed by its iteration variables."""
    block = require_block(block)
    target, kind = chosen_buffer(block, buffer)
    indices = _common_index(block, target)
    used = [v for v in nest.iter_vars(block) if any(index.uses(v) for index in indices)]
    for index in indices:
        if any(v not in nest.iter_vars(block) for v in index.leaves()):
            raise Refusal(f"{label(block)} accesses {nest.value_name(target)} at {index}, which is "
                          "not only of its iteration variables", block)  # fmt: skip
    for index, size in zip(indices, buffer_shape(target), strict=True):
        if not (proves_nonnegative(index) and proves_nonnegative(size - index - 1)):
            raise Refusal(f"{label(block)} may only access {nest.value_name(target)} under a "
                          f"condition: {index} can be outside of it", block)  # fmt: skip
    if kind == "write":
        _require_own_output(block, target, indices, used)
    domains = [_domain(block, v) for v in used]
    for variable, (low, _) in zip(used, domains, strict=True):
        if low != Index():
            raise Refusal(f"{nest.value_name(variable)} does not start at 0", block)
    place = _reindex_place(block, target, kind)
    if place.loops():
        raise Refusal(f"{label(place.loops()[-1])} is around {label(block)} and others that use "
                      f"{nest.value_name(target)}", block)  # fmt: skip
    scope = nest.scope_of(block)
    at = last_allocation(scope)
    name = f"{nest.value_name(target)}_reindex"
    element = ir.MemRefType(target.type).element_type
    extents = [extent for _, extent in domains]
    kept = buffer_attributes(target)
    made = alloc_buffer(name, extents, element, "global", at, kept).result
    block_name = f"{name}_reindex" if kind == "read" else name
    copy = _reindex_block(block_name, (target, made, kind), (used, indices, extents), place)
    _redirect(block, target, made, used, kind)
    refresh(block)
    return copy


def _domain(block: BlockOp, variable: ir.Value) -> tuple[Index, Index]:
    low, extent = block.domain_pairs[nest.iter_vars(block).index(variable)]
    return as_index(low), as_index(extent)


def _common_index(block: BlockOp, buffer: ir.Value) -> list[Index]:
    found: list[list[Index]] = []
    for op in nest.descend(block):
        name = op.operation.name
        operands = list(op.operation.operands)
        if name in _OPERAND and operands[_OPERAND[name]] == buffer:
            found.append([as_index(v) for v in operands[_OPERAND[name] + 1 :]])
        elif buffer in operands and name not in ("tir.read", "tir.write"):
            raise Refusal(f"{label(block)} uses {nest.value_name(buffer)} in {name}", block)
    if not found or any(index != found[0] for index in found):
        raise Refusal(f"{label(block)} accesses {nest.value_name(buffer)} at different indices",
                      block)  # fmt: skip
    return found[0]


def _require_own_output(
    block: BlockOp, target: ir.Value, indices: list[Index], used: list[ir.Value]
) -> None:
    if len(writers(target, siblings(block))) > 1:
        raise Refusal(f"another block also writes {nest.value_name(target)}", block)
    if target in read_buffers(block):
        raise Refusal(f"{label(block)} reads what was in {nest.value_name(target)}", block)
    if len(block.predicate):
        raise Refusal(f"{label(block)} has a predicate", block)
    if any(v not in determined(indices) for v in used):
        raise Refusal(f"{label(block)} writes an element of {nest.value_name(target)} from several "
                      "instances", block)  # fmt: skip


def _reindex_place(block: BlockOp, target: ir.Value, kind: str) -> Place:
    blocks = siblings(block)
    if kind == "write":
        return place_after(block, [b for b in blocks if target in read_buffers(b) and b != block])
    makers = writers(target, blocks)
    if len(makers) > 1:
        raise Refusal(f"{len(makers)} blocks write {nest.value_name(target)}", *makers)
    if not makers:
        return start_of(nest.scope_of(block))
    return place_after(makers[0], [block])


def _reindex_block(
    name: str,
    buffers: tuple[ir.Value, ir.Value, str],
    space: tuple[list[ir.Value], list[Index], list[Index]],
    place: Place,
) -> BlockOp:
    """`made[v] = target[e(v)]`, or the other way around for an output."""
    (target, made, kind), (used, indices, extents) = buffers, space
    at = place.point()
    wide = index_dtype(target)
    rows = []
    for number, extent in enumerate(extents):
        loop = new_loop(f"ax{number}", extent, at, attributes=wide)
        at = ir.InsertionPoint(loop.block)
        rows.append((f"v{number}", "S", (Index(), extent), leaf(nest.loop_var(loop))))
    block = new_block(name, rows, at)
    if wide:
        block.operation.attributes["iter_dtype"] = wide["dtype"]
    values = {old: leaf(new) for old, new in zip(used, nest.iter_vars(block), strict=True)}
    inner = ir.InsertionPoint(block.block)
    one = Index({}, 1)
    outside = [(index.substitute(values), one) for index in indices]
    own = [(leaf(v), one) for v in nest.iter_vars(block)]
    source, sink = ((target, outside), (made, own)) if kind == "read" else (
        (made, own), (target, outside)
    )  # fmt: skip
    add_access(ReadOp, *source, inner)
    add_access(WriteOp, *sink, inner)
    loaded = memref.LoadOp(source[0], [write(o, inner) for o, _ in source[1]], ip=inner).result
    memref.StoreOp(loaded, sink[0], [write(o, inner) for o, _ in sink[1]], ip=inner)
    return block


def _redirect(
    block: BlockOp, target: ir.Value, made: ir.Value, used: Sequence[ir.Value], kind: str
) -> None:
    """Let the block's own accesses go to the copy, at its iteration variables."""
    names = ("memref.load",) if kind == "read" else ("memref.load", "memref.store")
    for op in list(nest.descend(block)):
        operation = op.operation
        if operation.name not in names or operation.operands[_OPERAND[operation.name]] != target:
            continue
        at = ir.InsertionPoint(operation)
        if operation.name == "memref.load":
            loaded = memref.LoadOp(made, list(used), ip=at).result
            operation.results[0].replace_all_uses_with(loaded)
        else:
            memref.StoreOp(operation.operands[0], made, list(used), ip=at)
        operation.erase()
