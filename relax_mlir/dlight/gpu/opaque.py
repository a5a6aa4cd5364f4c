"""Scheduling what is no loop nest around a block of its own: code outside of blocks, blocks that
share a nest, blocks whose instances must run in order."""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.dlight.base.utils import buffer_bytes
from relax_mlir.errors import ScheduleError
from relax_mlir.mlir import arith, dynamic, ir, memref
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import root_buffer, writes_of
from relax_mlir.tir.schedule.binding import require_parallel
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.index import Index, defining, read
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import add_access, buffer_shape, new_block

OPAQUE_BLOCK = "opaque"
_STRUCTURE = ("tir.for", "tir.block", "tir.alloc_buffer", "func.return")
PRIVATE_BYTES = 1024
"""Larger buffers of code that one thread runs lie in the device's memory."""

_STAYING = ("tir.alloc_buffer", "memref.dim")


def statements_to_block(func: PrimFunc) -> PrimFunc:
    """The function with its body in one block when it does something outside of blocks.

    A function with loops bound to threads is returned as it is.
    """
    with mlir.scope():
        if not _has_loose_statements(func.operation.opview):
            return func
        changed = func.clone()
        assert isinstance(changed, PrimFunc)
        _wrap(changed.operation.opview)
    return changed


def run_by_one_thread(sch: Schedule, block: BlockRV) -> None:
    """Let one thread run the nest around a block."""
    for axis in ("blockIdx.x", "threadIdx.x"):
        loops = [loop for loop in sch.get_loops(block) if not _is_bound(sch, loop)]
        sch.bind(sch.add_unit_loop(loops[0] if loops else block), axis)
    with mlir.scope():
        _hoist_allocations(sch.get(block))


def keep_private(sch: Schedule, block: BlockRV) -> None:
    """Let what only one block uses, whose instances are apart, be a thread's own."""
    with mlir.scope():
        op: BlockOp = sch.get(block)
        written = [access.buffer for access in writes_of(op)]
        own = [
            number
            for number, buffer in enumerate(written)
            if isinstance(_allocation(buffer), AllocBufferOp)
            and all(nest.is_ancestor(op, use.owner.operation.opview) for use in buffer.uses)
        ]
    for number in own:
        sch.set_scope(block, number, "local")


def _allocation(buffer: ir.Value) -> ir.OpView | None:
    producer = defining(buffer)
    return None if producer is None else producer.opview


def bind_nests(sch: Schedule, threads: int) -> None:
    """Spread each nest of a function, whatever it holds, over as many of its outer loops as may
    run at the same time; nests that are bound to threads stay as they are."""
    done: set[ir.OpView] = set()
    for block in sch.get_child_blocks(sch.get_sblock("root")):
        loops = sch.get_loops(block)
        with mlir.scope():
            top = sch.get(loops[0]) if loops else sch.get(block)
            seen = top in done
            bound = any(nest.thread_axis(op) for op in (top, *nest.descend(top))
                        if isinstance(op, ForOp))  # fmt: skip
        if seen or bound:
            continue
        outer = _parallel_prefix(sch, loops)
        if not outer or not _bind_prefix(sch, outer, threads):
            run_by_one_thread(sch, block)
        loops = sch.get_loops(block)
        done.add(sch.get(loops[0]))


def _bind_prefix(sch: Schedule, outer: list[LoopRV], threads: int) -> bool:
    try:
        fused = sch.fuse(*outer) if len(outer) > 1 else outer[0]
        block, thread = sch.split(fused, factors=[None, threads])
        sch.bind(block, "blockIdx.x")
        sch.bind(thread, "threadIdx.x")
    except ScheduleError:
        return False
    return True


def _parallel_prefix(sch: Schedule, loops: list[LoopRV]) -> list[LoopRV]:
    """The outer loops, each holding only the next, that may run in any order."""
    found: list[LoopRV] = []
    with mlir.scope():
        for loop in loops:
            op: ForOp = sch.get(loop)
            try:
                require_parallel(op, "blockIdx.x")
            except Refusal:
                break
            if op.kind.value not in ("serial", "parallel"):
                break
            found.append(loop)
            if len(nest.statements(op.block)) != 1:
                break
    return found


def _is_bound(sch: Schedule, loop: LoopRV) -> bool:
    with mlir.scope():
        return nest.thread_axis(sch.get(loop)) is not None


# -- a block around statements ------------------------------------------------------------------


def _has_loose_statements(function: ir.OpView) -> bool:
    bound = any(isinstance(op, ForOp) and nest.thread_axis(op) for op in nest.descend(function))
    loose = any(
        op.operation.name not in _STRUCTURE and not nest.is_movable(op)
        for op in nest.descend(function)
        if nest.scope_of(op) == function and op.operation.name != "scf.yield"
    )
    return loose and not bound


def _wrap(function: ir.OpView) -> None:
    """Move the body of a function, but for its allocations, into a block without variables."""
    body = nest.body_of(function)
    terminator = body.operations[len(body.operations) - 1]
    kept = {op for outer in body.operations if outer.operation.name in _STAYING
            for op in (outer, *_operands_of(outer))}  # fmt: skip
    moved = [op for op in body.operations if op not in kept and op != terminator]
    block = new_block(OPAQUE_BLOCK, [], ir.InsertionPoint(terminator))
    at = ir.InsertionPoint(block.block)
    for kind, buffers in _accessed(moved).items():
        for buffer in buffers:
            sizes = _sizes(buffer, ir.InsertionPoint(block))
            add_access(kind, buffer, [(Index(), size) for size in sizes], at)
    for op in moved:
        block.block.append(op.operation)


def _sizes(buffer: ir.Value, at: ir.InsertionPoint) -> list[Index]:
    """The sizes of a buffer, dynamic ones of a parameter read at `at`."""
    producer = defining(buffer)
    if producer is not None:
        return buffer_shape(buffer, at)
    return [
        read(memref.DimOp(buffer, write(Index({}, number), at), ip=at).result)
        if size == dynamic()
        else Index({}, size)
        for number, size in enumerate(ir.MemRefType(buffer.type).shape)
    ]


def _operands_of(op: ir.OpView) -> Iterator[ir.OpView]:
    """The operations that an operation's operands are computed by, in an order that runs."""
    for operand in op.operation.operands:
        producer = defining(operand)
        if producer is not None:
            yield from _operands_of(producer.opview)
            yield producer.opview


def _accessed(ops: list[ir.OpView]) -> dict[type[ReadOp] | type[WriteOp], list[ir.Value]]:
    """The buffers from outside that some operations read, and those they write."""
    inside = {inner for op in ops for inner in (op, *nest.descend(op))}
    reads: dict[ir.Value, None] = {}
    writes: dict[ir.Value, None] = {}
    for op in inside:
        for operand in op.operation.operands:
            if not isinstance(operand.type, ir.MemRefType):
                continue
            buffer = root_buffer(operand)
            producer = defining(buffer)
            if producer is not None and producer.opview in inside:
                continue
            if op.operation.name != "memref.store":
                reads[buffer] = None
            if op.operation.name not in ("memref.load", "memref.dim", "tir.read"):
                writes[buffer] = None
    return {ReadOp: list(reads), WriteOp: list(writes)}


# -- buffers of one thread ----------------------------------------------------------------------


def _hoist_allocations(block: BlockOp) -> None:
    """Move the large buffers of code that one thread runs to the function: a thread's own memory
    is small, and of constant size."""
    function = nest.function_of(block)
    for alloc in [op for op in nest.descend(block) if isinstance(op, AllocBufferOp)]:
        size = buffer_bytes(alloc.operation.results[0])
        if size is not None and size <= PRIVATE_BYTES:
            continue
        sizes = list(dict.fromkeys(_operands_of(alloc)))
        if all(nest.is_movable(op) for op in sizes):
            marker = _marker(function)
            for op in (*sizes, alloc):
                op.operation.move_before(marker)
            marker.erase()


def _marker(function: ir.OpView) -> ir.Operation:
    """A constant at the start of a function, as a place to move operations to."""
    at = ir.InsertionPoint.at_block_begin(nest.body_of(function))
    return arith.ConstantOp(ir.IndexType.get(), 0, ip=at).operation
