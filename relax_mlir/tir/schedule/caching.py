"""Staging buffers in another memory: cache_read, cache_write, reindex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import Interval, bounded, clipped, is_exact, join
from relax_mlir.tir.schedule.analysis import (
    Access,
    read_buffers,
    reads_of,
    require_block,
    root_buffer,
    siblings,
    writers,
    writes_of,
)
from relax_mlir.tir.schedule.annotate import access_buffer, check_scope
from relax_mlir.tir.schedule.body import iter_values
from relax_mlir.tir.schedule.coverage import stores_all_of
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, leaf, value_domain
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import predicate_is_domain
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    add_access,
    alloc_buffer,
    buffer_shape,
    new_block,
    new_loop,
)


def cache_read(
    state: ScheduleState,
    block: ir.OpView,
    read_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: Sequence[BlockOp] | None = None,
) -> BlockOp:
    """Copy a buffer the block reads into one of a scope, and read that; the copying block."""
    block = require_block(block)
    buffer = access_buffer(block, read_buffer_index, "read")
    check_scope(storage_scope, block)
    blocks = siblings(block)
    makers = writers(buffer, blocks)
    readers = [b for b in blocks if buffer in read_buffers(b)]
    if consumer_blocks:
        readers = [b for b in readers if b == block or b in consumer_blocks]
    if len(makers) > 1:
        raise Refusal(f"{len(makers)} blocks write {nest.value_name(buffer)}", *makers)
    if makers and any(blocks.index(b) <= blocks.index(makers[0]) for b in readers):
        raise Refusal(f"{label(readers[0])} reads {nest.value_name(buffer)} before "
                      f"{label(makers[0])} has written it", readers[0], makers[0])  # fmt: skip
    check_element_uses(buffer, readers)
    scope = nest.scope_of(block)
    place = place_after(makers[0], readers) if makers else start_of(scope)
    box = _region(buffer, readers, reads_of, place)
    cache = _cache_buffer(buffer, storage_scope, scope)
    name = _block_name(buffer, storage_scope)
    with _statement(readers[0] if readers else block, buffer):
        copy = copy_block(name, buffer, cache, box, place)
    for reader in readers:
        redirect(reader, buffer, cache, loads=True, stores=False)
    return copy


def cache_write(
    state: ScheduleState,
    block: ir.OpView,
    write_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: Sequence[BlockOp] | None = None,
) -> BlockOp:
    """Let the block write a buffer of the given scope, which is then copied; the copy's block."""
    block = require_block(block)
    buffer = access_buffer(block, write_buffer_index, "write")
    check_scope(storage_scope, block)
    blocks = siblings(block)
    makers = writers(buffer, blocks)
    if len(makers) > 1:
        raise Refusal(f"{len(makers)} blocks write {nest.value_name(buffer)}", *makers)
    if buffer in read_buffers(block):
        raise Refusal(f"{label(block)} reads what is in {nest.value_name(buffer)} before it writes",
                      block)  # fmt: skip
    check_element_uses(buffer, [block])
    scope = nest.scope_of(block)
    readers = [b for b in blocks if b in (consumer_blocks or []) and buffer in read_buffers(b)]
    place = place_after(block, [b for b in blocks if buffer in read_buffers(b) and b != block])
    box = _region(buffer, [block], writes_of, place)
    _require_whole(block, place)
    cache = _cache_buffer(buffer, storage_scope, scope)
    with _statement(block, buffer):
        copy = copy_block(_block_name(buffer, storage_scope), cache, buffer, box, place)
    redirect(block, buffer, cache, loads=True, stores=True)
    for reader in readers:
        redirect(reader, buffer, cache, loads=True, stores=False)
    return copy


# -- places -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a new nest goes: in the body of a loop or scope, before a statement or at the end."""

    parent: ir.OpView
    before: ir.OpView | None

    def point(self) -> ir.InsertionPoint:
        if self.before is None:
            return ir.InsertionPoint(nest.body_of(self.parent))
        return ir.InsertionPoint(self.before)

    @property
    def scope(self) -> ir.OpView:
        return self.parent if nest.is_scope(self.parent) else nest.scope_of(self.parent)

    def varies(self, value: ir.Value) -> bool:
        """True for the loop and iteration variables that are not fixed at this place."""
        fixed = [nest.loop_var(loop) for loop in self.loops()]
        if isinstance(self.scope, BlockOp):
            fixed += nest.iter_vars(self.scope)
        below = value_domain(value) is not None and nest.encloses(self.scope, value)
        return below and value not in fixed

    def loops(self) -> list[ForOp]:
        """The loops around it."""
        if not isinstance(self.parent, ForOp):
            return []
        return [*nest.loops_around(self.parent), self.parent]


def start_of(scope: ir.OpView) -> Place:
    """Before the first statement of a scope that is not an allocation or a declared region."""
    skipped = ("tir.alloc_buffer", "tir.read", "tir.write", "tir.init")
    body = nest.statements(nest.body_of(scope))
    return Place(scope, next((op for op in body if op.operation.name not in skipped), None))


def place_after(maker: BlockOp, readers: Sequence[BlockOp]) -> Place:
    """Where everything `maker` writes is there and no reader has run.

    Inside the loops that maker and readers share, and outside of the maker's own.
    """
    current: ir.OpView = maker
    for op in [*nest.loops_around(maker), maker]:
        current = op
        if not any(nest.is_ancestor(op, reader) for reader in readers):
            break
    above = nest.parent(current)
    while above is not None and not nest.is_scope(above) and not isinstance(above, ForOp):
        current, above = above, nest.parent(above)
    assert above is not None, "a block is inside a function"
    ops = nest.operations(nest.body_of(above))
    return Place(above, next(iter(ops[ops.index(current) + 1 :]), None))


def _region(
    buffer: ir.Value,
    blocks: Sequence[BlockOp],
    accesses: Callable[[BlockOp], Sequence[Access]],
    place: Place,
) -> list[Interval]:
    """The box of a buffer that `blocks` access, in terms of the loops around `place`."""
    found: list[Interval] | None = None
    shape = buffer_shape(buffer)
    for block in blocks:
        values = iter_values(block)
        for access in accesses(block):
            if root_buffer(access.buffer) != buffer:
                continue
            box = [bounded(o.substitute(values), s.substitute(values), place.varies, extent)
                   for (o, s), extent in zip(access.region, shape, strict=True)]  # fmt: skip
            found = box if found is None else join(found, box)
    assert found is not None, "the caller chose blocks that access the buffer"
    return [clipped(side, extent) for side, extent in zip(found, shape, strict=True)]


def _require_whole(block: BlockOp, place: Place) -> None:
    """The block must write all of the box that is copied: nothing else is in the new buffer."""
    whole = not len(block.predicate) or predicate_is_domain(block)
    if not whole or not all(
        is_exact(block, access, place.varies) and stores_all_of(block, access)
        for access in writes_of(block)
    ):
        raise Refusal(f"{label(block)} does not write a whole box of its output", block)


# -- building ---------------------------------------------------------------------------------


def _block_name(buffer: ir.Value, storage_scope: str) -> str:
    return f"{nest.value_name(buffer, 'buffer')}_{storage_scope}"


def buffer_attributes(buffer: ir.Value) -> dict[str, ir.Attribute]:
    """What a buffer that stands for another keeps of it: its TVM dtype."""
    owner = buffer.owner
    if not isinstance(owner, ir.Block):
        attributes = owner.operation.attributes
        return {k: attributes[k] for k in ("dtype", "shape_dtype") if k in attributes}
    function = owner.owner.operation
    if "arg_attrs" not in function.attributes:
        return {}
    number = ir.BlockArgument(buffer).arg_number
    described = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[number])
    names = {"tir.dtype": "dtype", "tir.shape_dtype": "shape_dtype"}
    return {new: described[old] for old, new in names.items() if old in described}


def last_allocation(scope: ir.OpView) -> ir.InsertionPoint:
    """Where the next allocation of a scope goes: after those that are there."""
    body = nest.body_of(scope)
    place: ir.OpView | None = None
    for op in body.operations:
        head = op.operation.name in ("tir.alloc_buffer", "tir.read", "tir.write", "memref.dim")
        if not head and not nest.is_movable(op):
            break
        if head:
            place = op
    if place is None:
        return ir.InsertionPoint.at_block_begin(body)
    return ir.InsertionPoint.after(place)


def _cache_buffer(buffer: ir.Value, storage_scope: str, scope: ir.OpView) -> ir.Value:
    name = _block_name(buffer, storage_scope).replace(".", "_")
    at = last_allocation(scope)
    shape = buffer_shape(buffer, at)
    element = ir.MemRefType(buffer.type).element_type
    kept = buffer_attributes(buffer)
    return alloc_buffer(name, shape, element, storage_scope, at, kept).result


def index_dtype(buffer: ir.Value) -> dict[str, ir.Attribute]:
    """The attribute of loops over a buffer whose sizes are int64."""
    kept = buffer_attributes(buffer)
    return {"dtype": kept["shape_dtype"]} if "shape_dtype" in kept else {}


def _statement(block: ir.OpView, buffer: ir.Value) -> ir.Location:
    """Where the program touches a buffer in a block: what a copy made for it points to."""
    for op in nest.descend(block):
        if op.operation.name in ("memref.load", "memref.store") and buffer in op.operands:
            return op.location
    return block.location


def copy_block(
    name: str,
    source: ir.Value,
    target: ir.Value,
    box: Sequence[Interval],
    place: Place,
) -> BlockOp:
    """`target[v] = source[v]` over a box, with loops ax0, ax1, ..."""
    at = place.point()
    bindings: list[Index] = []
    wide = index_dtype(source) or index_dtype(target)
    for number, (low, high) in enumerate(box):
        loop = new_loop(f"ax{number}", high - low + 1, at, attributes=wide)
        at = ir.InsertionPoint(loop.block)
        bindings.append(low + leaf(nest.loop_var(loop)))
    shape = buffer_shape(source)
    rows = [(f"v{n}", "S", (Index(), shape[n]), bindings[n]) for n in range(len(box))]
    block = new_block(name, rows, at)
    if wide:
        block.operation.attributes["iter_dtype"] = wide["dtype"]
    inner = ir.InsertionPoint(block.block)
    point = [(leaf(v), Index({}, 1)) for v in nest.iter_vars(block)]
    add_access(ReadOp, source, point, inner)
    add_access(WriteOp, target, point, inner)
    indices = [write(o, inner) for o, _ in point]
    value = memref.LoadOp(source, indices, ip=inner).result
    memref.StoreOp(value, target, indices, ip=inner)
    return block


def redirect(block: BlockOp, old: ir.Value, new: ir.Value, *, loads: bool, stores: bool) -> None:
    """Let a block (and those inside) use another buffer of the same shape."""
    names = [*(["memref.load", "tir.read", "vector.load"] if loads else []),
             *(["memref.store", "tir.write", "vector.store"] if stores else [])]  # fmt: skip
    for op in nest.descend(block):
        if op.operation.name in names:
            op.operation.replace_uses_of_with(old, new)


def check_element_uses(buffer: ir.Value, blocks: Sequence[BlockOp]) -> None:
    """Refuse buffers that a block uses as a whole, in a view or a call."""
    known = ("memref.load", "memref.store", "tir.read", "tir.write", "vector.load", "vector.store",
             "memref.dim")  # fmt: skip
    for block in blocks:
        for op in nest.descend(block):
            if op.operation.name not in known and buffer in list(op.operation.operands):
                raise Refusal(f"{label(block)} uses {nest.value_name(buffer)} in "
                              f"{op.operation.name}", block)  # fmt: skip
