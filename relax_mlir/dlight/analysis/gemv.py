"""Products of a matrix and a vector: recognising them, and bringing their loops into order."""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dlight.analysis.access import (
    detect_dominant_read,
    is_element,
    iterators_of,
    variables_used,
)
from relax_mlir.dlight.analysis.common_analysis import SBlockInfo
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import LoopRV, Schedule
from relax_mlir.tir.schedule.analysis import reads_of, writes_of
from relax_mlir.tir.schedule.body import stores_in

_ADDITIONS = ("arith.addf", "arith.addi")


def get_reduction_expr(block: BlockOp) -> ir.Value | None:
    """The value `y` that a block adds to what it writes, `X[...] = X[...] + y`, else None."""
    stores = stores_in(block)
    if len(stores) != 1:
        return None
    stored = stores[0].operands[0].owner
    if isinstance(stored, ir.Block) or stored.name not in _ADDITIONS:
        return None
    buffer, *indices = list(stores[0].operands)[1:]
    left, right = stored.operands
    for sum_, added in ((left, right), (right, left)):
        load = sum_.owner
        if isinstance(load, ir.Block) or load.name != "memref.load":
            continue
        if load.operands[0] == buffer and list(load.operands)[1:] == indices:
            return added
    return None


def is_gemv(sch: Schedule, block_info: SBlockInfo) -> list[ir.Value] | None:
    """The vectors of a product of a matrix and vectors, None for other blocks.

    A vector is a buffer read by some but not all of the block's variables, beside one (the matrix)
    that is read by all.
    """
    with mlir.scope():
        block: BlockOp = sch.get(block_info.block_rv)
        reads, writes = reads_of(block), writes_of(block)
        if not block_info.is_reduction() or len(reads) < 2 or len(writes) != 1:
            return None
        if not all(is_element(access.region) for access in [*reads, *writes]):
            return None
        if get_reduction_expr(block) is None or not variables_used(block, writes[0].region):
            return None
        count = len(block_info.iters)
        used = [len(variables_used(block, read.region)) for read in reads]
        vectors = [read.buffer for read, n in zip(reads, used, strict=True) if 0 < n < count]
    return vectors if 0 < len(vectors) < len(reads) else None


def normalize(sch: Schedule, block_info: SBlockInfo) -> bool | None:
    """Bring the loops of a matrix-vector product into the order (batch, spatial, reduction, part).

    A batch variable is one that every buffer has; a part is the inside of a group of the reduction
    that the matrix packs (`A[i, k // 8]`).  True when the matrix's fastest variable is one of the
    reduction, None when the loops cannot be ordered so.
    """
    with mlir.scope():
        block: BlockOp = sch.get(block_info.block_rv)
        dominant = detect_dominant_read(block)
        order = None if dominant is None else iterators_of(block, dominant)
        accesses = [*reads_of(block), *writes_of(block)]
        users = [variables_used(block, access.region) for access in accesses]
    if not order:
        return None
    infos = block_info.iters
    packed = [it for it in order if it.lower_factor > 1]
    if len(packed) > 1 or any(infos[it.var].kind != "R" for it in packed):
        return None
    batch: list[LoopRV] = []
    spatial: list[LoopRV] = []
    reduction: list[LoopRV] = []
    part: list[LoopRV] = []
    for it in order:
        loop = infos[it.var].loop_rv
        if it.lower_factor > 1:
            loop, inside = sch.split(loop, factors=[None, it.lower_factor])
            part.append(inside)
        if infos[it.var].kind == "R":
            reduction.append(loop)
        elif all(it.var in used for used in users):
            batch.append(loop)
        else:
            spatial.append(loop)
    if not spatial or not reduction:
        return None
    # Variables that the matrix lacks are of extent one in whatever has a normal form.
    missing = [i for n, i in enumerate(infos) if n not in {it.var for it in order}]
    if any(i.dom != 1 for i in missing):
        return None
    spatial += [i.loop_rv for i in missing if i.kind == "S"]
    reduction += [i.loop_rv for i in missing if i.kind == "R"]
    part = part or [sch.add_unit_loop(block_info.block_rv)]
    batch = batch or [sch.add_unit_loop(block_info.block_rv)]
    sch.reorder(*batch, *spatial, *reduction, *part)
    for loops in (batch, spatial, reduction):
        sch.fuse(*loops)
    return infos[order[-1].var].kind == "R"
