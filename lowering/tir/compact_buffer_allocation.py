"""`tir-compact-buffer-allocation`: buffers shrink to the region that their uses need.

A buffer that is allocated inside loops is used around a place that those loops determine: the
result of `compute_at` or `cache_read` below a loop keeps one tile, not the whole tensor.  Indices
become relative to the least one used.

Threads of a GPU that share a buffer use different parts of it at the same time: the loops that are
bound to them count as inside of the allocation, wherever they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import AccessOp, BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir.plan_buffer_allocation import allocations
from relax_mlir.mlir import dynamic, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import interval
from relax_mlir.tir.schedule.index import Index, as_index
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import add_access

__all__ = ["CompactBufferAllocation"]


@register_pass("tir-compact-buffer-allocation")
@dataclass(frozen=True)
class CompactBufferAllocation(Pass):
    """Shrink the buffers of TensorIR functions to the region that is used."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes:
                for allocation in allocations(function):
                    _compact(allocation)


@dataclass(frozen=True)
class _Use:
    """A load or store: the position of its first index operand, its indices in terms of loops and
    of what is outside of the allocation's block, and how many elements of the last dimension."""

    op: ir.Operation
    first: int
    indices: tuple[Index, ...]
    lanes: int = 1

    def ends(self, axis: int) -> tuple[Index, Index]:
        """The first and the last element used along a dimension."""
        count = self.lanes if axis + 1 == len(self.indices) else 1
        return self.indices[axis], self.indices[axis] + (count - 1)


def _compact(allocation: AllocBufferOp) -> None:
    buffer = allocation.operation.results[0]
    kind = ir.MemRefType(buffer.type)
    uses = _uses(allocation)
    if not uses or not kind.rank:
        return
    given = iter(list(allocation.operation.operands))
    shape = [next(given) if size == dynamic() else size for size in kind.shape]
    parts = [
        _used_part(allocation, [end for use in uses for end in use.ends(axis)], size)
        for axis, size in enumerate(shape)
    ]
    sizes = [size for _, size in parts]
    if sizes == shape:
        return
    static = [size if isinstance(size, int) else dynamic() for size in sizes]
    made = AllocBufferOp(
        allocation.scope,
        [size for size in sizes if not isinstance(size, int)],
        ir.MemRefType.get(static, kind.element_type, memory_space=kind.memory_space),
        loc=allocation.location,
        ip=ir.InsertionPoint(allocation),
    )
    for name in allocation.operation.attributes:
        if name not in ("scope", "operandSegmentSizes"):
            made.operation.attributes[name] = allocation.operation.attributes[name]
    for use in uses:
        _shift(use, [low for low, _ in parts])
    for op in [use.owner.operation for use in buffer.uses]:
        if isinstance(op.opview, AccessOp):
            _shift_region(op.opview, allocation, parts)
    buffer.replace_all_uses_with(made.operation.results[0])
    allocation.operation.erase()


def _uses(allocation: AllocBufferOp) -> list[_Use] | None:
    """The loads and stores of a buffer; None when it is used in another way."""
    buffer = allocation.operation.results[0]
    found: list[_Use] = []
    for use in buffer.uses:
        op = use.owner.operation
        if isinstance(op.opview, AccessOp):
            continue
        if _ACCESSES.get(op.name) != use.operand_number:
            return None
        first = use.operand_number + 1
        values = _bindings(op, allocation)
        indices = [as_index(v) for v in list(op.operands)[first:]]
        for scope in values:
            indices = [index.substitute(scope) for index in indices]
        found.append(_Use(op, first, tuple(indices), _lanes(op)))
    return found


_ACCESSES = {
    "memref.load": 0,
    "memref.store": 1,
    "vector.load": 0,
    "vector.store": 1,
    "nvgpu.ldmatrix": 0,
    "tir.matrix_descriptor": 0,
}
"""Operation -> the number of the operand that is its buffer, before its indices."""

_ROW_BYTES = 16
"""What `ldmatrix` reads from the address that a thread gives."""


def _lanes(op: ir.Operation) -> int:
    """How many elements of the last dimension an access takes."""
    kind = op.results[0].type if len(op.results) else op.operands[0].type
    if not isinstance(kind, ir.VectorType):
        return 1
    if op.name == "nvgpu.ldmatrix":
        return _ROW_BYTES * 8 // kind.element_type.width
    return kind.shape[-1] if kind.rank else 1


def _bindings(op: ir.Operation, allocation: AllocBufferOp) -> list[dict[ir.Value, Index]]:
    """The bindings of the blocks between an access and the allocation, innermost block first; of
    all blocks around for a buffer that threads share, which their bindings may depend on."""
    found: list[dict[ir.Value, Index]] = []
    current = op
    shared = allocation.scope.value.partition(".")[0] in _SHARING
    while shared or current.block != allocation.operation.block:
        outer = current.parent
        if outer is None or outer.operation.name == "func.func":
            break
        current = outer.operation
        if isinstance(current.opview, BlockOp):
            found.append(_values(current.opview))
    return found


def _values(block: BlockOp) -> dict[ir.Value, Index]:
    pairs = zip(nest.iter_vars(block), block.bindings, strict=True)
    return {variable: as_index(binding) for variable, binding in pairs}


def _used_part(
    allocation: AllocBufferOp, indices: list[Index], size: int | ir.Value
) -> tuple[Index, int | ir.Value]:
    """(least index, number of indices) that are used of a dimension, the whole of it when that is
    not known or not a constant."""
    home = allocation.operation.block.owner
    before = allocation.operation
    scope = allocation.scope.value

    def inside(value: ir.Value) -> bool:
        owner = value.owner
        if _runs_over_sharing_threads(value, scope):
            return True
        if isinstance(owner, ir.Block):
            return owner != before.block and nest.encloses(home.operation.opview, value)
        same = owner.operation.block == before.block
        return not (same and owner.operation.is_before_in_block(before)) and nest.encloses(
            home.operation.opview, value
        )

    whole = (Index(), size)
    spans = [interval(index, inside) for index in indices]
    base = spans[0][0] if spans[0] is not None else None
    low, high = 0, 0
    for span in spans:
        if span is None or base is None:
            return whole
        ends = ((span[0] - base).as_constant(), (span[1] - base).as_constant())
        if ends[0] is None or ends[1] is None:
            return whole
        low, high = min(low, ends[0]), max(high, ends[1])
    assert base is not None
    extent = high - low + 1
    fits = not isinstance(size, int) or extent < size
    return (base + low, extent) if fits else whole


_SHARING = {
    "global": ("blockIdx", "threadIdx", "vthread"),
    "shared": ("threadIdx", "vthread"),
    "warp": ("threadIdx.x",),
}
"""Scope -> the thread axes along which a buffer of it is one buffer."""


def _runs_over_sharing_threads(value: ir.Value, scope: str) -> bool:
    """Whether a value is the loop variable of threads that share a buffer of this scope."""
    axes = _SHARING.get(scope.partition(".")[0])
    if axes is None or not isinstance(value.owner, ir.Block):
        return False
    view = value.owner.owner.operation.opview
    if not isinstance(view, ForOp):
        return False
    axis = nest.thread_axis(view)
    return axis is not None and axis.startswith(axes)


def _shift(use: _Use, lows: list[Index]) -> None:
    at = ir.InsertionPoint(use.op)
    for axis, (index, low) in enumerate(zip(use.indices, lows, strict=True)):
        if low != Index():
            use.op.operands[use.first + axis] = write(index - low, at, use.op.location)


def _shift_region(
    access: AccessOp, allocation: AllocBufferOp, parts: list[tuple[Index, int | ir.Value]]
) -> None:
    """Declare the region in the smaller buffer: a dimension that reaches over it is whole."""
    bindings = _bindings(access.operation, allocation)
    region: list[tuple[Index, Index]] = []
    for offset, size, (low, extent) in zip(
        access.mixed_offsets, access.mixed_sizes, parts, strict=True
    ):
        start = as_index(offset)
        for scope in bindings if low != Index() else []:
            start = start.substitute(scope)
        fits = isinstance(size, int) and isinstance(extent, int) and size <= extent
        region.append((start - low, as_index(size)) if fits else (Index(), as_index(extent)))
    with access.operation.location:
        kind = ReadOp if isinstance(access, ReadOp) else WriteOp
        add_access(kind, access.buffer, region, ir.InsertionPoint(access))
    access.operation.erase()
