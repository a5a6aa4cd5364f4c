"""Staging what a block changes in place, and index arithmetic: cache_inplace, cache_index."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.tir.blocks import BlockOp, WriteOp
from relax_mlir.mlir import arith, ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import Interval, add_access_first, interval, join, refresh
from relax_mlir.tir.schedule.analysis import Access, init_of, reads_of, require_block, writes_of
from relax_mlir.tir.schedule.annotate import access_buffer, check_scope
from relax_mlir.tir.schedule.body import iter_values
from relax_mlir.tir.schedule.caching import (
    Place,
    buffer_attributes,
    check_element_uses,
    copy_block,
    last_allocation,
    redirect,
    start_of,
)
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.reduction import copy_dtype
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    add_access,
    alloc_buffer,
    buffer_shape,
    domain_of,
    erase_dead_arithmetic,
    new_block,
    new_loop,
)

# -- cache_inplace ------------------------------------------------------------------------------


def cache_inplace(
    state: ScheduleState, block: ir.OpView, read_buffer_index: int | str, storage_scope: str
) -> list[BlockOp]:
    """Let a block change a copy of a buffer: the blocks that copy in before and out after it."""
    block = require_block(block)
    buffer = access_buffer(block, read_buffer_index, "read")
    check_scope(storage_scope, block)
    check_element_uses(buffer, [block])
    written = [a for a in writes_of(block) if a.buffer == buffer]
    if not written:
        raise Refusal(f"{label(block)} does not write {nest.value_name(buffer)}", block)
    read = [a for a in reads_of(block) if a.buffer == buffer]
    if init_of(block) is not None:
        raise Refusal(f"{label(block)} has an init", block, hint="decompose the reduction first")
    if len(block.predicate):
        raise Refusal(f"{label(block)} has a predicate", block, hint="cache before you split")
    box = _instance_box(block, buffer, [*read, *written])
    if any(loop.kind.value != "serial" for loop in nest.loops_around(block)) and not _is_point(box):
        raise Refusal(f"loops around {label(block)} do not run in order, and what its instances "
                      "copy may overlap", block)  # fmt: skip
    scope = nest.scope_of(block)
    name = f"{nest.value_name(buffer, 'buffer')}_{storage_scope}"
    at = last_allocation(scope)
    element = ir.MemRefType(buffer.type).element_type
    kept = buffer_attributes(buffer)
    shape = buffer_shape(buffer, at)
    made = alloc_buffer(name.replace(".", "_"), shape, element, storage_scope, at, kept).result
    above = nest.parent(block)
    assert above is not None, "a block is inside a function"
    ops = nest.operations(nest.body_of(above))
    after = next(iter(ops[ops.index(block) + 1 :]), None)
    copy_in = copy_block(name, buffer, made, box, Place(above, block))
    copy_out = copy_block(name, made, buffer, box, Place(above, after))
    redirect(block, buffer, made, loads=True, stores=True)
    if isinstance(scope, BlockOp):
        refresh(scope)
    return [copy_in, copy_out]


def _instance_box(block: BlockOp, buffer: ir.Value, accesses: Sequence[Access]) -> list[Interval]:
    """What one instance accesses, in terms of the loops around it."""
    values = iter_values(block)
    found: list[Interval] | None = None
    for access in accesses:
        box: list[Interval] = []
        for (offset, size), extent in zip(access.region, buffer_shape(buffer), strict=True):
            low, count = offset.substitute(values), size.substitute(values)
            ends = interval(low, lambda v: nest.encloses(block, v))
            known = ends is not None and proves_nonnegative(ends[0])
            if ends is None or not known or not proves_nonnegative(extent - ends[1] - count):
                ends, count = (Index(), Index()), extent
            box.append((ends[0], ends[1] + count - 1))
        found = box if found is None else join(found, box)
    assert found is not None, "the caller found accesses"
    return found


def _is_point(box: Sequence[Interval]) -> bool:
    return all(low == high for low, high in box)


# -- cache_index --------------------------------------------------------------------------------


def cache_index(
    state: ScheduleState, block: ir.OpView, storage_scope: str, cse_thresh: int = 0
) -> list[BlockOp]:
    """Compute the indices at which a block loads beforehand, into buffers over its variables; the
    blocks that do.

    Of indices that are more than a variable, those that occur at least `cse_thresh` times.
    """
    block = require_block(block)
    check_scope(storage_scope, block)
    counts = _index_expressions(block)
    chosen = [index for index, count in counts.items() if count >= cse_thresh]
    if not chosen:
        often = f" and occurs {cse_thresh} times" if cse_thresh else ""
        raise Refusal(f"no index of {label(block)} is more than a variable{often}", block)
    scope = nest.scope_of(block)
    place = start_of(scope)
    made: list[BlockOp] = []
    caches: dict[Index, tuple[ir.Value, list[ir.Value]]] = {}
    for number, index in enumerate(chosen):
        used = index.leaves()
        cache = _index_buffer(block, f"index_var_{number}", used, storage_scope, scope)
        made.append(_index_block(block, f"index_{number}", cache, index, used, place))
        caches[index] = (cache, used)
    _use_caches(block, caches)
    one = Index({}, 1)
    for cache, used in caches.values():
        add_access_first(block, Access(cache, [(leaf(v), one) for v in used]))
    erase_dead_arithmetic(block)
    if isinstance(scope, BlockOp):
        refresh(scope)
    return made


def _index_expressions(block: BlockOp) -> dict[Index, int]:
    """The indices of loads that are computed from the block's variables, and how often."""
    counts: dict[Index, int] = {}
    variables = nest.iter_vars(block)
    for op in nest.descend(block):
        if op.operation.name != "memref.load":
            continue
        for value in list(op.operation.operands)[1:]:
            index = as_index(value)
            plain = index.is_constant or index.as_leaf() is not None
            if plain or any(v not in variables for v in index.leaves()):
                continue
            counts[index] = counts.get(index, 0) + 1
    return counts


def _domain(block: BlockOp, variable: ir.Value) -> tuple[Index, Index]:
    low, extent = domain_of(variable)
    if low != Index():
        raise Refusal(f"{nest.value_name(variable)} of {label(block)} does not start at 0", block)
    return low, extent


def _index_type(block: BlockOp) -> ir.Type:
    attributes = block.operation.attributes
    wide = "iter_dtype" in attributes and "64" in ir.StringAttr(attributes["iter_dtype"]).value
    return ir.IntegerType.get_signless(64 if wide else 32)


def _index_buffer(
    block: BlockOp, name: str, used: Sequence[ir.Value], storage_scope: str, scope: ir.OpView
) -> ir.Value:
    shape = [_domain(block, v)[1] for v in used]
    at = last_allocation(scope)
    return alloc_buffer(name, shape, _index_type(block), storage_scope, at).result


def _index_block(
    block: BlockOp, name: str, cache: ir.Value, index: Index, used: Sequence[ir.Value], place: Place
) -> BlockOp:
    at = place.point()
    wide = block.operation.attributes
    attributes = {"dtype": wide["iter_dtype"]} if "iter_dtype" in wide else {}
    rows = []
    for number, variable in enumerate(used):
        domain = _domain(block, variable)
        loop = new_loop(f"ax{number}", domain[1], at, attributes=attributes)
        at = ir.InsertionPoint(loop.block)
        rows.append((f"v{number}", "S", domain, leaf(nest.loop_var(loop))))
    made = new_block(name, rows, at)
    copy_dtype(block, made)
    inner = ir.InsertionPoint(made.block)
    variables = nest.iter_vars(made)
    add_access(WriteOp, cache, [(leaf(v), Index({}, 1)) for v in variables], inner)
    renamed = {old: leaf(v) for old, v in zip(used, variables, strict=True)}
    value = write(index.substitute(renamed), inner)
    number = arith.IndexCastOp(_index_type(block), value, ip=inner).result
    memref.StoreOp(number, cache, list(variables), ip=inner)
    return made


def _use_caches(block: BlockOp, caches: dict[Index, tuple[ir.Value, list[ir.Value]]]) -> None:
    for op in list(nest.descend(block)):
        operation = op.operation
        if operation.name != "memref.load":
            continue
        for position, value in enumerate(list(operation.operands)[1:], 1):
            found = caches.get(as_index(value))
            if found is None:
                continue
            at = ir.InsertionPoint(operation)
            number = memref.LoadOp(found[0], found[1], ip=at).result
            cast = arith.IndexCastOp(ir.IndexType.get(), number, ip=at).result
            operation.operands[position] = cast
