"""What the operations of a kernel read and write in memory that its threads share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from relax_mlir.lowering.tir_to_gpu.buffers import is_workgroup
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import Index, as_index

__all__ = [
    "Access", "Guard", "accesses_of", "buffer_bytes", "element_bytes", "root_of", "view_range",
]  # fmt: skip


@dataclass(frozen=True)
class Guard:
    """`left <predicate> right` holds, or does not; the predicate is `arith.cmpi`'s number."""

    predicate: int
    left: Index
    right: Index
    holds: bool


@dataclass(frozen=True)
class Access:
    """An access to `buffer`; `indices` None where it is not known to which elements, `lanes` how
    many elements of the last dimension.  Atomic accesses do not conflict with each other.  `moved`
    are the variables that have other values by now: the access is of an earlier iteration.
    `guards` are comparisons that hold for the threads which make the access.  What is `in_flight`
    arrives after a wait; it is `quiet` behind a barrier, until the next wait."""

    buffer: ir.Value
    root: ir.Value
    is_write: bool
    indices: tuple[Index, ...] | None = None
    lanes: int = 1
    is_atomic: bool = False
    moved: frozenset[ir.Value] = frozenset()
    guards: tuple[Guard, ...] = ()
    in_flight: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class _Shape:
    """Where an operation has its buffer and indices: the operand of the buffer, how many operands
    after the indices, whether it reads and writes."""

    buffer: int
    after: int = 0
    reads: bool = False
    writes: bool = False
    is_atomic: bool = False


_SHAPES: dict[str, _Shape] = {
    "memref.load": _Shape(0, reads=True),
    "memref.store": _Shape(1, writes=True),
    "vector.load": _Shape(0, reads=True),
    "vector.store": _Shape(1, writes=True),
    "vector.maskedload": _Shape(0, after=2, reads=True),
    "vector.maskedstore": _Shape(0, after=2, writes=True),
    "memref.atomic_rmw": _Shape(1, reads=True, writes=True, is_atomic=True),
    "memref.generic_atomic_rmw": _Shape(0, reads=True, writes=True, is_atomic=True),
}
_VIEWS = (
    "memref.subview",
    "memref.view",
    "memref.cast",
    "memref.reinterpret_cast",
    "memref.expand_shape",
    "memref.collapse_shape",
    "memref.memory_space_cast",
)
_NO_ACCESS = (*_VIEWS, "memref.dim", "memref.extract_strided_metadata", "memref.assume_alignment")
# Operations of whole warps: which thread reads which element is not what the indices say.
_COLLECTIVE_READS = (
    "nvgpu.ldmatrix",
    "gpu.subgroup_mma_load_matrix",
    "tir.matrix_descriptor",
)
_COLLECTIVE_WRITES = ("gpu.subgroup_mma_store_matrix",)


def root_of(buffer: ir.Value) -> ir.Value:
    """The buffer that a value is a view of."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.operation.name in _VIEWS:
        buffer = buffer.owner.operation.operands[0]
    return buffer


def view_range(buffer: ir.Value) -> tuple[int, int] | None:
    """The bytes [first, end) of its root that a `memref.view` covers; None when not known."""
    owner = buffer.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.view":
        return None
    first = as_index(owner.operation.operands[1]).as_constant()
    kind = ir.MemRefType(buffer.type)
    if first is None or not kind.has_static_shape:
        return None
    return first, first + buffer_bytes(kind)


def buffer_bytes(kind: ir.Type) -> int:
    """The bytes of a buffer of fixed size."""
    return prod(ir.MemRefType(kind).shape) * element_bytes(ir.MemRefType(kind).element_type)


def element_bytes(kind: ir.Type) -> int:
    """The bytes of an element of a buffer, which may be a vector."""
    if isinstance(kind, ir.VectorType):
        return prod(kind.shape) * element_bytes(kind.element_type)
    width = 64 if isinstance(kind, ir.IndexType) else getattr(kind, "width", 8)
    return max(1, width // 8)


def accesses_of(op: ir.Operation) -> Iterator[Access]:
    """The accesses of one operation, not of those inside of it, to memory that is not private."""
    shape = _SHAPES.get(op.name)
    if shape is not None:
        yield from _plain(op, shape)
    elif op.name == "nvgpu.device_async_copy":
        yield from _async_copy(op)
    elif op.name not in _NO_ACCESS and not op.name.startswith(("gpu.launch", "scf.")):
        reads_only = op.name in _COLLECTIVE_READS
        writes_only = op.name in _COLLECTIVE_WRITES
        for value in op.operands:
            if isinstance(value.type, ir.MemRefType) and _is_common(value):
                for is_write in (False, True):
                    if not (reads_only if is_write else writes_only):
                        yield Access(value, root_of(value), is_write)


def _plain(op: ir.Operation, shape: _Shape) -> Iterator[Access]:
    operands = list(op.operands)
    buffer = operands[shape.buffer]
    if not _is_common(buffer):
        return
    end = len(operands) - shape.after
    root = root_of(buffer)
    indices: tuple[Index, ...] | None = tuple(as_index(v) for v in operands[shape.buffer + 1 : end])
    if buffer != root and view_range(buffer) is None:
        indices = None
    lanes = 1
    for value in (*op.results, *operands[: shape.buffer], *operands[end:]):
        if isinstance(value.type, ir.VectorType) and value.type.rank:
            lanes = max(lanes, value.type.shape[-1])
    for is_write in (False, True):
        if shape.writes if is_write else shape.reads:
            yield Access(
                buffer, root, is_write, indices, lanes, shape.is_atomic, guards=_guards(op)
            )


def _async_copy(op: ir.Operation) -> Iterator[Access]:
    """`nvgpu.device_async_copy`: the elements arrive later, but belong to the thread that asks."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    operands = list(op.operands)
    target, count = operands[0], segments[1]
    lanes = ir.IntegerAttr(op.attributes["dstElements"]).value
    indices = tuple(as_index(v) for v in operands[1 : 1 + count])
    root = root_of(target)
    known = target == root or view_range(target) is not None
    yield Access(
        target,
        root,
        True,
        indices if known else None,
        lanes,
        guards=_guards(op),
        in_flight=True,
    )


def _guards(op: ir.Operation) -> tuple[Guard, ...]:
    """The comparisons of the conditions that an operation is under."""
    found: list[Guard] = []
    block, parent = op.block, op.parent
    while parent is not None and parent.operation.name not in ("gpu.launch", "gpu.func"):
        outer = parent.operation
        if outer.name == "scf.if":
            is_then = outer.regions[0].blocks[0] == block
            found += _comparisons(outer.operands[0], is_then)
        block, parent = outer.block, outer.parent
    return tuple(found)


def _comparisons(condition: ir.Value, holds: bool) -> Iterator[Guard]:
    owner = condition.owner
    if isinstance(owner, ir.Block):
        return
    op = owner.operation
    if op.name == "arith.andi" and holds:
        for operand in op.operands:
            yield from _comparisons(operand, holds)
    elif op.name == "arith.cmpi" and isinstance(op.operands[0].type, ir.IndexType):
        left, right = (as_index(v) for v in op.operands)
        yield Guard(ir.IntegerAttr(op.attributes["predicate"]).value, left, right, holds)


def _is_common(buffer: ir.Value) -> bool:
    """Whether other threads can reach a buffer: shared memory, or what comes from outside."""
    root = root_of(buffer)
    if is_workgroup(root.type):
        return True
    owner = root.owner
    return isinstance(owner, ir.Block) or owner.operation.name != "memref.alloca"
