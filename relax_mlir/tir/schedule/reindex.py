"""Copies of buffers indexed by a block's variables: reindex, reindex_cache_read and _write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.tir.blocks import BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import Error
from relax_mlir.mlir import ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import Interval, bounded, clipped, is_exact, refresh
from relax_mlir.tir.schedule.analysis import (
    Access,
    bindings_of,
    read_buffers,
    require_block,
    siblings,
    writers,
)
from relax_mlir.tir.schedule.annotate import access_buffer, check_scope
from relax_mlir.tir.schedule.bindings import determined
from relax_mlir.tir.schedule.caching import (
    Place,
    buffer_attributes,
    index_dtype,
    last_allocation,
    place_after,
    start_of,
)
from relax_mlir.tir.schedule.coverage import stores_all_of
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.layout import chosen_buffer
from relax_mlir.tir.schedule.reduction import copy_dtype
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    add_access,
    alloc_buffer,
    buffer_shape,
    domain_of,
    loop_dtype,
    new_block,
    new_loop,
)

_OPERAND = {"memref.load": 0, "memref.store": 1}


@dataclass(frozen=True)
class Copy:
    """A buffer, how a block indexes it, and how the block will index its copy."""

    block: BlockOp
    buffer: ir.Value
    kind: str
    indices: list[Index]
    used: list[ir.Value]
    wanted: list[Index]


def reindex(state: ScheduleState, block: ir.OpView, buffer: tuple[str, int] | str) -> BlockOp:
    """Let a block access a copy of a buffer that is indexed by its iteration variables."""
    block = require_block(block)
    target, kind = chosen_buffer(block, buffer)
    indices = _common_index(block, target)
    used = [v for v in nest.iter_vars(block) if any(index.uses(v) for index in indices)]
    copy = Copy(block, target, kind, indices, used, [leaf(v) for v in used])
    _require_copyable(copy)
    place = _place(copy)
    _require_fixed_shape(copy, place)
    _require_whole(copy, place)
    _require_stores(copy)
    boxes = _boxes(copy, place)
    shape = [domain_of(v)[1] for v in used]
    name = f"{nest.value_name(target)}_reindex"
    made = _copy_buffer(copy, name, shape, "global")
    block_name = f"{name}_reindex" if kind == "read" else name
    at = place.point()
    wide = index_dtype(target)
    rows = []
    for number, ((low, high), extent) in enumerate(zip(boxes, shape, strict=True)):
        loop = new_loop(f"ax{number}", high - low + 1, at, attributes=wide)
        at = ir.InsertionPoint(loop.block)
        rows.append((f"v{number}", "S", (Index(), extent), low + leaf(nest.loop_var(loop))))
    copying = new_block(block_name, rows, at)
    if wide:
        copying.operation.attributes["iter_dtype"] = wide["dtype"]
    return _finish(copy, made, copying)


def reindex_cache_read(
    state: ScheduleState,
    block: ir.OpView,
    read_buffer_index: int,
    storage_scope: str,
    index_map: Any,
) -> BlockOp:
    """Let a block read a copy of a buffer in another scope, indexed by a map of its variables."""
    return _reindex_cache(block, read_buffer_index, storage_scope, index_map, "read")


def reindex_cache_write(
    state: ScheduleState,
    block: ir.OpView,
    write_buffer_index: int,
    storage_scope: str,
    index_map: Any,
) -> BlockOp:
    """Let a block write a buffer indexed by a map of its variables, copied to the old one."""
    return _reindex_cache(block, write_buffer_index, storage_scope, index_map, "write")


def _reindex_cache(
    block: ir.OpView, index: int, storage_scope: str, index_map: Any, kind: str
) -> BlockOp:
    block = require_block(block)
    target = access_buffer(block, index, kind)
    check_scope(storage_scope, block)
    variables = nest.iter_vars(block)
    try:
        wanted = IndexMap.of(index_map, len(variables)).apply([leaf(v) for v in variables])
    except Error as error:
        raise Refusal(str(error), block) from None
    indices = _common_index(block, target)
    used = [v for v in variables if any(i.uses(v) for i in [*indices, *wanted])]
    copy = Copy(block, target, kind, indices, used, wanted)
    _require_copyable(copy)
    _require_map(copy)
    place = _place(copy)
    _require_fixed_shape(copy, place)
    _require_stores(copy)
    shape = _mapped_shape(copy)
    name = f"{nest.value_name(target)}_{storage_scope}"
    made = _copy_buffer(copy, name.replace(".", "_"), shape, storage_scope)
    return _finish(copy, made, _block_over_loops(copy, name, place))


# -- legality -----------------------------------------------------------------------------------


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


def _require_copyable(copy: Copy) -> None:
    block, target = copy.block, copy.buffer
    for index in copy.indices:
        if any(v not in nest.iter_vars(block) for v in index.leaves()):
            raise Refusal(f"{label(block)} accesses {nest.value_name(target)} at {index}, which is "
                          "not only of its iteration variables", block)  # fmt: skip
    for index, size in zip(copy.indices, buffer_shape(target), strict=True):
        if not (proves_nonnegative(index) and proves_nonnegative(size - index - 1)):
            raise Refusal(f"{label(block)} may only access {nest.value_name(target)} under a "
                          f"condition: {index} can be outside of it", block)  # fmt: skip
    if copy.kind == "write":
        _require_own_output(copy)
    for variable in copy.used:
        if domain_of(variable)[0] != Index():
            raise Refusal(f"{nest.value_name(variable)} does not start at 0", block)


def _require_own_output(copy: Copy) -> None:
    block, target = copy.block, copy.buffer
    if len(writers(target, siblings(block))) > 1:
        raise Refusal(f"another block also writes {nest.value_name(target)}", block)
    if target in read_buffers(block):
        raise Refusal(f"{label(block)} reads what was in {nest.value_name(target)}", block)
    if len(block.predicate):
        raise Refusal(f"{label(block)} has a predicate", block)
    if any(v not in determined(copy.indices) for v in _varying(copy)):
        raise Refusal(f"{label(block)} writes an element of {nest.value_name(target)} from several "
                      "instances", block)  # fmt: skip


def _varying(copy: Copy) -> list[ir.Value]:
    """The variables used that take more than one value."""
    return [v for v in copy.used if domain_of(v)[1] != Index({}, 1)]


def _require_map(copy: Copy) -> None:
    """Each element of the copy must stand for one element of the buffer."""
    found = determined(copy.wanted)
    for variable in _varying(copy):
        used = any(index.uses(variable) for index in copy.indices)
        if used and variable not in found:
            raise Refusal(f"the index map does not determine {nest.value_name(variable)}, by which "
                          f"{label(copy.block)} indexes {nest.value_name(copy.buffer)}",
                          copy.block)  # fmt: skip


def _mapped_shape(copy: Copy) -> list[Index]:
    shape: list[Index] = []
    for index in copy.wanted:
        variable = index.as_leaf()
        if variable is not None:
            shape.append(domain_of(variable)[1])
            continue
        low, high = index.bounds()
        if low is None or high is None or low < 0:
            raise Refusal(f"the index {index} of the copy has no known range that starts at 0",
                          copy.block)  # fmt: skip
        shape.append(Index({}, high + 1))
    return shape


def _boxes(copy: Copy, place: Place) -> list[Interval]:
    """The values that the variables used take, in terms of what is fixed at `place`: an instance of
    a block around copies its own part of the buffer, not what the others make."""
    bindings = dict(zip(nest.iter_vars(copy.block), bindings_of(copy.block), strict=True))
    found: list[Interval] = []
    for variable in copy.used:
        extent = domain_of(variable)[1]
        box = bounded(bindings[variable], Index({}, 1), place.varies, extent)
        found.append(clipped(box, extent))
    return found


def _require_fixed_shape(copy: Copy, place: Place) -> None:
    """The sizes of the copy must be known where it is allocated."""
    for variable in copy.used:
        extent = domain_of(variable)[1]
        if any(place.varies(v) for v in extent.leaves()):
            raise Refusal(f"{nest.value_name(variable)} of {label(copy.block)} has {extent} values,"
                          " which differs from iteration to iteration", copy.block)  # fmt: skip


def _require_whole(copy: Copy, place: Place) -> None:
    """The block must make every element of the box that is copied back."""
    point = Access(copy.buffer, [(leaf(v), Index({}, 1)) for v in copy.used])
    if copy.kind == "write" and not is_exact(copy.block, point, place.varies):
        raise Refusal(f"{label(copy.block)} does not write a whole box of "
                      f"{nest.value_name(copy.buffer)}", copy.block)  # fmt: skip


def _require_stores(copy: Copy) -> None:
    """Each instance of the block must make the element that is copied back for it."""
    element = Access(copy.buffer, [(index, Index({}, 1)) for index in copy.indices])
    if copy.kind == "write" and not stores_all_of(copy.block, element):
        raise Refusal(f"{label(copy.block)} may leave {nest.value_name(copy.buffer)} as it was",
                      copy.block)  # fmt: skip


def _place(copy: Copy) -> Place:
    block, target = copy.block, copy.buffer
    blocks = siblings(block)
    if copy.kind == "write":
        readers = [b for b in blocks if target in read_buffers(b) and b != block]
        place = place_after(block, readers)
    else:
        makers = writers(target, blocks)
        if len(makers) > 1:
            raise Refusal(f"{len(makers)} blocks write {nest.value_name(target)}", *makers)
        place = place_after(makers[0], [block]) if makers else start_of(nest.scope_of(block))
    if place.loops():
        raise Refusal(f"{label(place.loops()[-1])} is around {label(block)} and others that use "
                      f"{nest.value_name(target)}", block)  # fmt: skip
    return place


# -- building -----------------------------------------------------------------------------------


def _copy_buffer(copy: Copy, name: str, shape: Sequence[Index], scope: str) -> ir.Value:
    at = last_allocation(nest.scope_of(copy.block))
    element = ir.MemRefType(copy.buffer.type).element_type
    kept = buffer_attributes(copy.buffer)
    return alloc_buffer(name, shape, element, scope, at, kept).result


def _block_over_loops(copy: Copy, name: str, place: Place) -> BlockOp:
    """A block over the variables used, in a copy of the loops that drive them (of loops over their
    values where the block runs under a condition)."""
    block, at = copy.block, place.point()
    bindings = dict(zip(nest.iter_vars(block), bindings_of(block), strict=True))
    values: dict[ir.Value, Index] = {}
    boxes = _boxes(copy, place)
    if not len(block.predicate):
        needed = [v for v in copy.used for v in bindings[v].leaves()]
        for old in nest.loops_around(block):
            if nest.loop_var(old) in needed:
                at = _copy_loop(old, values, at)
    rows = []
    for variable, (low, high) in zip(copy.used, boxes, strict=True):
        domain = domain_of(variable)
        binding = bindings[variable].substitute(values)
        if len(block.predicate):
            wide = index_dtype(copy.buffer)
            loop = new_loop(f"ax{len(rows)}", high - low + 1, at, attributes=wide)
            at = ir.InsertionPoint(loop.block)
            binding = low + leaf(nest.loop_var(loop))
        rows.append((nest.value_name(variable), "S", domain, binding))
    copying = new_block(name, rows, at)
    copy_dtype(block, copying)
    return copying


def _copy_loop(
    old: ForOp, values: dict[ir.Value, Index], at: ir.InsertionPoint
) -> ir.InsertionPoint:
    low, extent = (as_index(e).substitute(values) for e in (old.min, old.extent))
    name = nest.value_name(nest.loop_var(old), "i")
    new = new_loop(name, extent, at, low=low, attributes=loop_dtype(old))
    values[nest.loop_var(old)] = leaf(nest.loop_var(new))
    return ir.InsertionPoint(new.block)


def _finish(copy: Copy, made: ir.Value, copying: BlockOp) -> BlockOp:
    """Fill the copying block: `made[wanted] = buffer[indices]`, or back for an output."""
    values = {old: leaf(v) for old, v in zip(copy.used, nest.iter_vars(copying), strict=True)}
    inner = ir.InsertionPoint(copying.block)
    one = Index({}, 1)
    outside = [(index.substitute(values), one) for index in copy.indices]
    own = [(index.substitute(values), one) for index in copy.wanted]
    sides = [(copy.buffer, outside), (made, own)]
    source, sink = sides if copy.kind == "read" else sides[::-1]
    add_access(ReadOp, *source, inner)
    add_access(WriteOp, *sink, inner)
    loaded = memref.LoadOp(source[0], [write(o, inner) for o, _ in source[1]], ip=inner).result
    memref.StoreOp(loaded, sink[0], [write(o, inner) for o, _ in sink[1]], ip=inner)
    _redirect(copy, made)
    refresh(copy.block)
    return copying


def _redirect(copy: Copy, made: ir.Value) -> None:
    """Let the block's own accesses go to the copy."""
    names = ("memref.load",) if copy.kind == "read" else ("memref.load", "memref.store")
    for op in list(nest.descend(copy.block)):
        operation = op.operation
        number = _OPERAND.get(operation.name)
        if operation.name not in names or operation.operands[number] != copy.buffer:
            continue
        at = ir.InsertionPoint(operation)
        indices = [write(index, at) for index in copy.wanted]
        if operation.name == "memref.load":
            loaded = memref.LoadOp(made, indices, ip=at).result
            operation.results[0].replace_all_uses_with(loaded)
        else:
            memref.StoreOp(operation.operands[0], made, indices, ip=at)
        operation.erase()
