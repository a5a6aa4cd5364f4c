"""What rules and postprocessors ask about blocks and loops of a schedule."""

from __future__ import annotations

import re
from math import prod

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.dlight.analysis.access import variables_used
from relax_mlir.meta_schedule.utils import cpu_count
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import (
    Access,
    bindings_of,
    consumers,
    from_outside,
    is_reduction,
    loops_of_kind,
    reads_of,
    writes_of,
)
from relax_mlir.tir.schedule.annotate import annotations_of
from relax_mlir.tir.schedule.index import as_index

__all__ = [
    "TILING_STRUCTURE",
    "annotation",
    "flops_of",
    "has_consumers",
    "is_pure_spatial",
    "is_root",
    "is_spatial",
    "is_tiled",
    "iterations_of",
    "loop_extent",
    "loop_kind",
    "needs_multi_level_tiling",
    "needs_rfactor",
    "num_cores",
    "op_of",
    "stride_of",
]

TILING_STRUCTURE = "meta_schedule.tiling_structure"
"""Annotation of blocks that multi-level tiling has tiled: how."""

_FLOAT = re.compile(r"arith\.(add|sub|mul|div|rem|neg|maximum|minimum|maxnum|minnum)f")


def num_cores(target: Target) -> int:
    """The cores that a target says it has, or those of this machine."""
    return int(target.num_cores or cpu_count())


def op_of(sch: Schedule, block: BlockRV) -> BlockOp | None:
    """The operation of a block, None for the function, which stands for the root block."""
    op = sch.get(block)
    return op if isinstance(op, BlockOp) else None


def is_root(sch: Schedule, block: BlockRV) -> bool:
    return op_of(sch, block) is None


def annotation(sch: Schedule, place: BlockRV | LoopRV, key: str) -> object:
    """An annotation of a block or loop, None where it has none of that name."""
    with mlir.scope():
        return annotations_of(sch.get(place)).get(key)


def is_spatial(block: BlockOp) -> bool:
    """True for a block that writes each element once."""
    return all(kind == "S" for kind in block.kinds)


def is_pure_spatial(sch: Schedule) -> bool:
    """True for a function without a reduction."""
    with mlir.scope():
        functions = sch.state.prim_functions().values()
        return all(is_spatial(b) for f in functions for b in nest.blocks_of(f))


def is_tiled(block: BlockOp) -> bool:
    return TILING_STRUCTURE in annotations_of(block)


def has_consumers(sch: Schedule, block: BlockRV) -> bool:
    with mlir.scope():
        op = op_of(sch, block)
        return op is not None and bool(consumers(op))


def loop_extent(sch: Schedule, loop: LoopRV) -> int | None:
    """The steps of a loop, None where they are not a constant."""
    with mlir.scope():
        return as_index(sch.get(loop).extent).as_constant()


def loop_kind(block: BlockOp, loop: ForOp) -> str:
    """A loop that only drives spatial variables of a block is "S", one that only drives those of
    reductions "R", any other "O"."""
    kinds = loops_of_kind(block, nest.loop_var(loop))
    return kinds.pop() if len(kinds) == 1 else ("S" if not kinds else "O")


def _is_trivially_bound(block: BlockOp) -> bool:
    """True where the n-th loop around a block is its n-th variable."""
    loops = nest.loops_around(block)
    bindings = bindings_of(block)
    return len(loops) == len(bindings) and all(
        binding.as_leaf() == nest.loop_var(loop)
        for loop, binding in zip(loops, bindings, strict=True)
    )


def needs_multi_level_tiling(block: BlockOp) -> bool:
    """True for a reduction that reads an element several times, as matrix products and
    convolutions do (TVM's rule)."""
    writes, reads = writes_of(block), reads_of(block)
    if is_tiled(block) or len(writes) != 1 or not reads or is_spatial(block):
        return False
    if not _is_trivially_bound(block):
        return False
    sizes = [as_index(extent).as_constant() for _, extent in block.domain_pairs]
    spatial = {
        n for n, (kind, size) in enumerate(zip(block.kinds, sizes, strict=True))
        if kind == "S" and size != 1
    }  # fmt: skip
    buffers = [read.buffer for read in reads]
    if len(set(buffers)) != len(buffers):
        return False
    inputs = [read for read in reads if read.buffer != writes[0].buffer]
    return any(spatial - variables_used(block, read.region) for read in inputs)


def _length(block: BlockOp, kind: str) -> int | None:
    """The product of the extents of a kind's loops, None where one is not constant."""
    loops = [loop for loop in nest.loops_around(block) if loop_kind(block, loop) == kind]
    extents = [as_index(loop.extent).as_constant() for loop in loops]
    known = [extent for extent in extents if extent is not None]
    return prod(known) if len(known) == len(extents) else None


def needs_rfactor(block: BlockOp, max_parallel: int) -> bool:
    """True for a reduction whose spatial loops give the cores too little to do (TVM's rule)."""
    if is_tiled(block) or not is_reduction(block) or not _is_trivially_bound(block):
        return False
    loops = nest.loops_around(block)
    kinds = [loop_kind(block, loop) for loop in loops]
    alone = all(len(nest.statements(nest.body_of(loop))) == 1 for loop in loops)
    spatial, reduced = _length(block, "S"), _length(block, "R")
    if not alone or "O" in kinds or "R" not in kinds or spatial is None or reduced is None:
        return False
    if needs_multi_level_tiling(block):
        return spatial < reduced and spatial <= max_parallel
    return reduced > 1


def iterations_of(op: ir.OpView) -> int:
    """How often an operation runs: the product of the constant extents of all loops around it."""
    total = 1
    current: ir.OpView | None = op
    while current is not None:
        if isinstance(current, ForOp):
            total *= as_index(current.extent).as_constant() or 1
        current = nest.parent(current)
    return total


def stride_of(block: BlockOp, access: Access, loop: ForOp) -> int | None:
    """The elements that an access moves in a step of a loop; None where that is not constant."""
    shape = ir.MemRefType(access.buffer.type).shape
    region = from_outside(block, access.region)
    variable = nest.loop_var(loop)
    total, scale = 0, 1
    for (offset, _), size in zip(reversed(region), reversed(shape), strict=True):
        if offset.uses(variable):
            one = offset.substitute({variable: as_index(variable) + 1})
            moved = (one - offset).as_constant()
            if moved is None:
                return None
            total += moved * scale
        scale *= size
    return total


def flops_of(function: PrimFunc) -> int:
    """The operations on floats that a function makes, at least 1."""
    with mlir.scope():
        total = 0
        for block in nest.blocks_of(function.operation.opview):
            names = [op.operation.name for op in nest.descend_in_scope(block)]
            floats = [n for n in names if n.startswith("math.") or _FLOAT.fullmatch(n)]
            total += len(floats) * iterations_of(block)
        return max(total, 1)
