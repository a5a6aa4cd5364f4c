"""Who reads and writes the buffers of a function."""

from __future__ import annotations

from relax_mlir.lowering.linalg_to_vector.builder import defining_op
from relax_mlir.mlir import ir, operations_named

__all__ = [
    "ALLOCATIONS",
    "BufferUses",
    "erase_unused_buffers",
    "outputs_of",
    "static_offsets",
    "viewed",
]

# TensorIR's buffers become memref.alloc only later.
ALLOCATIONS = ("memref.alloc", "memref.alloca", "tir.alloc_buffer")
_VIEWS = (
    "memref.subview",
    "memref.cast",
    "memref.reinterpret_cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.view",
    "memref.reshape",
    "memref.memory_space_cast",
)
_NOT_WRITING = frozenset((*_VIEWS, "memref.dim", "memref.load"))


class BufferUses:
    """Answers about the buffers of one function: its memref arguments and its allocations.

    Arguments are taken to overlap each other unless the function says `tir.noalias`.
    """

    def __init__(self, function: ir.Operation):
        self.entry = function.regions[0].blocks[0]
        attributes = function.attributes
        named = [attributes["tir.attrs"]] if "tir.attrs" in attributes else []
        self.noalias = any("tir.noalias" in holder for holder in (attributes, *named))

    def is_temporary(self, buffer: ir.Value) -> bool:
        """Whether the buffer is allocated in the function and never viewed otherwise."""
        if not _is_allocation(buffer):
            return False
        return not any(use.owner.operation.name in _VIEWS for use in buffer.uses)

    def parts(self, buffer: ir.Value) -> dict[ir.Value, tuple[int, ...]] | None:
        """The views of an allocated buffer that are parts of it as it lies, and where they begin
        along its dimensions; None if it is viewed otherwise, or is no allocation."""
        if not _is_allocation(buffer):
            return None
        found: dict[ir.Value, tuple[int, ...]] = {}
        for use in buffer.uses:
            view = use.owner.operation
            if view.name not in _VIEWS:
                continue
            offsets = static_offsets(view) if view.name == "memref.subview" else None
            if offsets is None or ir.MemRefType(view.result.type).rank != len(offsets):
                return None
            if any(inner.owner.operation.name in _VIEWS for inner in view.result.uses):
                return None
            found[view.result] = offsets
        return found

    def is_private(self, buffer: ir.Value) -> bool:
        """Whether only operations that name the buffer can touch it."""
        if any(use.owner.operation.name in _VIEWS for use in buffer.uses):
            return False
        return self._is_separate(buffer)

    def may_overlap(self, first: ir.Value, second: ir.Value) -> bool:
        buffers = viewed(first), viewed(second)
        if buffers[0] == buffers[1]:
            return True
        if all(map(self._is_separate, buffers)):
            return False
        return not (self.is_private(first) or self.is_private(second))

    def _is_separate(self, buffer: ir.Value) -> bool:
        """Whether the buffer, which is no view, overlaps no other such buffer."""
        return _is_allocation(buffer) or (self.noalias and self._is_argument(buffer))

    def _is_argument(self, buffer: ir.Value) -> bool:
        return isinstance(buffer.owner, ir.Block) and buffer.owner == self.entry

    def buffers_of(self, op: ir.Operation) -> set[ir.Value]:
        """The memrefs an operation names, inside its regions too."""
        found: set[ir.Value] = set()

        def visit(inner: ir.Operation) -> ir.WalkResult:
            found.update(o for o in inner.operands if isinstance(o.type, ir.MemRefType))
            return ir.WalkResult.ADVANCE

        op.walk(visit)
        return found

    def written_by(self, op: ir.Operation) -> set[ir.Value]:
        """Memrefs an operation may write: a linalg op's outputs, any memref another names that does
        more than read or view it."""
        if op.name in ("linalg.generic", "linalg.fill"):
            return set(outputs_of(op))
        return set() if op.name in _NOT_WRITING else self.buffers_of(op)

    def remaining_users(self, buffer: ir.Value, op: ir.Operation) -> list[ir.Operation]:
        """The operations other than `op` that use a buffer, each once."""
        users: list[ir.Operation] = []
        for use in buffer.uses:
            owner = use.owner.operation
            if owner != op and owner not in users:
                users.append(owner)
        return users

    def can_move_up(
        self, consumer: ir.Operation, op: ir.Operation, between: list[ir.Operation]
    ) -> bool:
        """Whether `consumer` may run together with `op`, ahead of the operations between.

        Its output must not overlap what `op` reads, the operations between must not touch its
        buffers, and its operands must be there already, or be allocations and constants.
        """
        outputs = outputs_of(consumer)
        reads = [o for o in op.operands if isinstance(o.type, ir.MemRefType)]
        if any(self.may_overlap(out, read) for out in outputs for read in reads):
            return False
        named = self.buffers_of(consumer)
        for other in between:
            if any(
                self.may_overlap(mine, theirs)
                for mine in named
                for theirs in self.buffers_of(other)
                if mine in outputs or theirs in self.written_by(other)
            ):
                return False
        return all(
            self._is_early(value, op) or _is_movable(value) for value in _outside_values(consumer)
        )

    def move_definitions_up(self, consumer: ir.Operation, op: ir.Operation) -> None:
        """Move the allocations and constants that `consumer` needs ahead of `op`."""
        for value in _outside_values(consumer):
            if not self._is_early(value, op):
                owner = defining_op(value)
                assert owner is not None
                owner.move_before(op)

    def _is_early(self, value: ir.Value, op: ir.Operation) -> bool:
        owner = defining_op(value)
        if owner is None or owner.block != op.block:
            return True
        return owner.is_before_in_block(op)


def static_offsets(view: ir.Operation) -> tuple[int, ...] | None:
    """Where a `memref.subview` begins; None if that is not known, or if it leaves out elements."""
    offsets = tuple(ir.DenseI64ArrayAttr(view.attributes["static_offsets"]))
    steps = list(ir.DenseI64ArrayAttr(view.attributes["static_strides"]))
    dynamic = ir.ShapedType.get_dynamic_size()
    known = dynamic not in offsets and all(step == 1 for step in steps)
    return offsets if known else None


def _outside_values(op: ir.Operation) -> list[ir.Value]:
    """Operands of `op` and values from outside that its body uses."""
    values = list(op.operands)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                for value in inner.operation.operands:
                    owner = defining_op(value)
                    if (value.owner if owner is None else owner.block) != block:
                        values.append(value)
    return values


def outputs_of(op: ir.Operation) -> list[ir.Value]:
    """The output operands of a linalg operation."""
    inputs = op.attributes["operandSegmentSizes"][0]
    return list(op.operands)[inputs:]


def _is_allocation(value: ir.Value) -> bool:
    owner = defining_op(value)
    return owner is not None and owner.name in ALLOCATIONS


def viewed(buffer: ir.Value) -> ir.Value:
    """The buffer behind a view, or a view of that."""
    owner = defining_op(buffer)
    while owner is not None and owner.name in _VIEWS:
        buffer = owner.operands[0]
        owner = defining_op(buffer)
    return buffer


def _is_movable(value: ir.Value) -> bool:
    owner = defining_op(value)
    if owner is None or list(owner.operands):
        return False
    return owner.name == "arith.constant" or owner.name in ALLOCATIONS


def erase_unused_buffers(function: ir.Operation) -> None:
    """Erase the allocations that nothing uses any more, and the views that nothing does."""
    views = operations_named(function, _VIEWS)
    for op in (*reversed(views), *operations_named(function, ALLOCATIONS)):
        if not list(op.result.uses):
            op.erase()
