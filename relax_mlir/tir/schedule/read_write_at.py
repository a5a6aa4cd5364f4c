"""Copies made at a loop, of what an iteration needs: read_at, write_at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.tir.blocks import BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import Interval, bounded, clipped, join, refresh
from relax_mlir.tir.schedule.analysis import (
    Access,
    read_buffers,
    reads_of,
    require_block,
    siblings,
    writers,
    writes_of,
    written_buffers,
)
from relax_mlir.tir.schedule.annotate import access_buffer, check_scope
from relax_mlir.tir.schedule.body import iter_values
from relax_mlir.tir.schedule.caching import (
    Place,
    buffer_attributes,
    check_element_uses,
    index_dtype,
    last_allocation,
    redirect,
)
from relax_mlir.tir.schedule.compute_location import require_finished, writes_whole_box
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, leaf
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    add_access,
    alloc_buffer,
    buffer_shape,
    domain_of,
    new_block,
    new_loop,
)


def read_at(
    state: ScheduleState,
    loop: ForOp,
    block: ir.OpView,
    read_buffer_index: int,
    storage_scope: str,
) -> BlockOp:
    """Copy, at the start of each iteration of a loop, what its body reads of a buffer."""
    block = require_block(block)
    buffer = _buffer(loop, block, read_buffer_index, storage_scope, "read")
    inside = nest.child_blocks(loop)
    for other in inside:
        if buffer in written_buffers(other):
            raise Refusal(f"{label(other)} under {label(loop)} writes {nest.value_name(buffer)}",
                          other, loop)  # fmt: skip
    readers = [b for b in inside if buffer in read_buffers(b)]
    check_element_uses(buffer, readers)
    place = Place(loop, nest.statements(loop.block)[0])
    box = _box(buffer, readers, reads_of, place)
    made = _cache(buffer, storage_scope, nest.scope_of(loop))
    copy = _auto_copy(buffer, buffer, made, box, place, storage_scope)
    for reader in readers:
        redirect(reader, buffer, made, loads=True, stores=False)
    _refresh_scope(loop)
    return copy


def write_at(
    state: ScheduleState,
    loop: ForOp,
    block: ir.OpView,
    write_buffer_index: int,
    storage_scope: str,
) -> BlockOp:
    """Copy, after the last writer in each iteration of a loop, what its body wrote of a buffer."""
    block = require_block(block)
    buffer = _buffer(loop, block, write_buffer_index, storage_scope, "write")
    inside = nest.child_blocks(loop)
    makers = [b for b in inside if buffer in written_buffers(b)]
    _require_makers(buffer, loop, makers, inside)
    check_element_uses(buffer, inside)
    require_finished(makers, loop)
    ops = nest.operations(loop.block)
    last = next(op for op in ops if nest.is_ancestor(op, makers[-1]))
    place = Place(loop, next(iter(ops[ops.index(last) + 1 :]), None))
    box = _box(buffer, makers, writes_of, place)
    made = _cache(buffer, storage_scope, nest.scope_of(loop))
    copy = _auto_copy(buffer, made, buffer, box, place, storage_scope)
    for user in inside:
        redirect(user, buffer, made, loads=True, stores=user in makers)
    _refresh_scope(loop)
    return copy


def _buffer(loop: ForOp, block: BlockOp, index: int, storage_scope: str, kind: str) -> ir.Value:
    check_scope(storage_scope, block)
    if not nest.is_ancestor(loop, block) or nest.scope_of(loop) != nest.scope_of(block):
        raise Refusal(f"{label(block)} is not under {label(loop)}", block, loop)
    return access_buffer(block, index, kind)


def _require_makers(
    buffer: ir.Value, loop: ForOp, makers: Sequence[BlockOp], inside: Sequence[BlockOp]
) -> None:
    """The first writer makes all that is copied; nobody reads what was in the buffer before."""
    first = makers[0]
    for other in writers(buffer, siblings(first)):
        if other not in makers:
            raise Refusal(f"{label(other)}, which is not under {label(loop)}, also writes "
                          f"{nest.value_name(buffer)}", other, loop)  # fmt: skip
    if buffer in read_buffers(first) or not writes_whole_box(first, loop):
        raise Refusal(f"{label(first)} does not write a whole box of {nest.value_name(buffer)} in "
                      f"an iteration of {label(loop)}", first, loop)  # fmt: skip
    place = Place(loop, None)
    whole = _box(buffer, [first], writes_of, place)
    users = [b for b in inside if b != first]
    for user in users:
        for accesses in (reads_of, writes_of):
            if not any(a.buffer == buffer for a in accesses(user)):
                continue
            before = inside.index(user) < inside.index(first)
            if before or join(whole, _box(buffer, [user], accesses, place)) != whole:
                raise Refusal(f"{label(user)} uses more of {nest.value_name(buffer)} than "
                              f"{label(first)} writes before it", user, first)  # fmt: skip


def _box(
    buffer: ir.Value,
    blocks: Sequence[BlockOp],
    accesses: Callable[[BlockOp], Sequence[Access]],
    place: Place,
) -> list[Interval]:
    """What blocks access of a buffer in an iteration, in terms of the loops around."""
    shape = buffer_shape(buffer)
    found: list[Interval] | None = None
    for block in blocks:
        values = iter_values(block)
        for access in accesses(block):
            if access.buffer != buffer:
                continue
            box = [bounded(o.substitute(values), s.substitute(values), place.varies, extent)
                   for (o, s), extent in zip(access.region, shape, strict=True)]  # fmt: skip
            found = box if found is None else join(found, box)
    assert found is not None, "the blocks access the buffer"
    return [clipped(side, extent) for side, extent in zip(found, shape, strict=True)]


def _cache(buffer: ir.Value, storage_scope: str, scope: ir.OpView) -> ir.Value:
    at = last_allocation(scope)
    shape = buffer_shape(buffer, at)
    element = ir.MemRefType(buffer.type).element_type
    name = f"{nest.value_name(buffer, 'buffer')}_{storage_scope}".replace(".", "_")
    kept = buffer_attributes(buffer)
    return alloc_buffer(name, shape, element, storage_scope, at, kept).result


def _auto_copy(
    named: ir.Value,
    source: ir.Value,
    target: ir.Value,
    box: Sequence[Interval],
    place: Place,
    storage_scope: str,
) -> BlockOp:
    """A block over the loops that the box depends on, which copies the box by loops of its own."""
    at = place.point()
    leaves = list(dict.fromkeys(v for low, high in box for v in [*low.leaves(), *high.leaves()]))
    loops = [v for v in leaves if _is_loop(v)]
    wide = index_dtype(named)
    rows = [(f"v{n}", "S", domain_of(v), leaf(v)) for n, v in enumerate(loops)]
    block = new_block(f"{nest.value_name(named, 'buffer')}_{storage_scope}", rows, at)
    if wide:
        block.operation.attributes["iter_dtype"] = wide["dtype"]
    block.operation.attributes["annotations"] = to_attribute({"auto_copy": True})
    own = {v: leaf(i) for v, i in zip(loops, nest.iter_vars(block), strict=True)}
    region = [(low.substitute(own), (high - low + 1).substitute(own)) for low, high in box]
    inner = ir.InsertionPoint(block.block)
    add_access(ReadOp, source, region, inner)
    add_access(WriteOp, target, region, inner)
    indices: list[Index] = []
    for number, (low, size) in enumerate(region):
        loop = new_loop(f"ax{number}", size, inner, attributes=wide)
        inner = ir.InsertionPoint(loop.block)
        indices.append(low + leaf(nest.loop_var(loop)))
    at_source = [write(index, inner) for index in indices]
    value = memref.LoadOp(source, at_source, ip=inner).result
    memref.StoreOp(value, target, at_source, ip=inner)
    return block


def _is_loop(value: ir.Value) -> bool:
    owner = value.owner
    return isinstance(owner, ir.Block) and isinstance(owner.owner.operation.opview, ForOp)


def _refresh_scope(loop: ForOp) -> None:
    scope = nest.scope_of(loop)
    if isinstance(scope, BlockOp):
        refresh(scope)
