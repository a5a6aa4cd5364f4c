"""`T.vectorized`: the iterations of a loop as the lanes of vectors.

A loop of known extent becomes vector operations of that length; one longer than `MAX_LANES` runs in
steps of `MAX_LANES` and a shorter rest, one on 16-bit floats in lengths that are powers of two.
`vector_body.py` says how the body is rewritten.

What cannot be rewritten stays a scalar loop, in the order it is written, that asks LLVM to
vectorise it: an extent that is only known at run time; a body with calls, `while`, vectors, another
vectorised loop, an inner loop whose bounds differ from lane to lane, or a choice between values of
which one side must not be evaluated for a reason no mask can express; and, whatever the body, lanes
that touch what others write (a hand-written recurrence or sum keeps its sequential meaning).
"""

from __future__ import annotations

from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.tir_to_scf.vector_body import CannotVectorize, VectorBody
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import Index, leaf

__all__ = ["MAX_LANES", "SCALAR_HINT", "vectorize_loop"]

MAX_LANES = 64
"""The longest vectors that are made: LLVM takes long to legalise longer ones."""

SCALAR_HINT = "#llvm.loop_annotation<vectorize = <disable = false>>"
"""What a loop that stays scalar asks of LLVM."""


def vectorize_loop(loop: ForOp) -> list[ir.Operation] | None:
    """Replace a vectorised loop by TensorIR on vectors; returns the operations that took its place.

    None when it has to stay a scalar loop, which is then unchanged.
    """
    start, extent = loop.min, loop.extent
    if not isinstance(start, int) or not isinstance(extent, int):
        return None
    if extent <= 0:
        loop.operation.erase()
        return []
    if extent == 1:  # SPIR-V has no vectors of one lane, and nothing is faster by one
        return None
    made: list[ir.Operation] = []
    try:
        for count, lanes in _lengths(extent, _has_narrow_floats(loop.operation)):
            made.append(_chunks(loop, start, count, lanes))
            start += count * lanes
    except CannotVectorize:
        for op in made:
            op.erase()
        return None
    operations = [op for chunk in made for op in _unwrapped(chunk)]
    loop.operation.erase()
    return operations


def _lengths(extent: int, powers_of_two: bool) -> list[tuple[int, int]]:
    """How an extent is cut: (number of vectors, lanes) in order."""
    whole, rest = divmod(extent, MAX_LANES)
    parts = [(whole, MAX_LANES)] if whole else []
    if not powers_of_two:
        return [*parts, (1, rest)] if rest else parts
    lanes = MAX_LANES
    while lanes := lanes // 2:
        if rest & lanes:
            parts.append((1, lanes))
    return parts


def _has_narrow_floats(op: ir.Operation) -> bool:
    """Whether 16-bit floats are computed with: LLVM cannot legalise vectors of them of any length,
    and ends the process."""
    found = False

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal found
        kinds = [v.type for v in (*inner.operands, *inner.results)]
        found |= any(isinstance(k, (ir.F16Type, ir.BF16Type)) for k in kinds)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _chunks(loop: ForOp, start: int, count: int, lanes: int) -> ir.Operation:
    """A loop over `count` chunks of `lanes` iterations from `start` on, before `loop`."""
    at = ir.InsertionPoint(loop)
    chunk = _loop(count, loop.location, at)
    lane = _loop(lanes, loop.location, ir.InsertionPoint(chunk.block))
    number = leaf(chunk.induction_variable) * lanes if count > 1 else Index()
    value = number + leaf(lane.induction_variable) + start
    body = VectorBody(loop, lane.induction_variable, lanes)
    try:
        body.rewrite(value, ir.InsertionPoint(lane))
    except CannotVectorize:
        chunk.operation.erase()
        raise
    lane.operation.erase()
    return chunk.operation


def _loop(extent: int, location: ir.Location, at: ir.InsertionPoint) -> ForOp:
    static, values = mixed.split([0, extent])
    made = ForOp(ir.StringAttr.get("serial"), static, values, loc=location, ip=at)
    made.body.blocks.append(ir.IndexType.get(), arg_locs=[location])
    return made


def _unwrapped(chunk: ir.Operation) -> list[ir.Operation]:
    """The chunk's loop, or its body in its place when it runs once."""
    view = chunk.opview
    assert isinstance(view, ForOp), "a chunk is a loop over chunks"
    if view.extent != 1:
        return [chunk]
    operations = [op.operation for op in view.block.operations]
    for op in operations:
        op.move_before(chunk)
    chunk.erase()
    return operations
