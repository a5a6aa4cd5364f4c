"""Elementwise operations whose inputs lie in a few planes, and whose output has them side by side.

The output's last dimension is short, and no input is contiguous along it: the channels of a shuffle
in two groups, the three colors of an image that gets its channels last.  Vectors are computed plane
by plane, and interleaved in registers as they are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from relax_mlir.lowering.linalg_to_vector.body import emit_body
from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Access, Extent, LoopNest
from relax_mlir.lowering.linalg_to_vector.register_transpose import interleave_vectors
from relax_mlir.lowering.linalg_to_vector.transposing_nest import plan_transposing_nest
from relax_mlir.mlir import ir

__all__ = ["InterleavingPlan", "emit_interleaving_nest", "plan_interleaving_nest"]

# More planes are better transposed in square tiles: interleaving takes a shuffle for every pair.
_MOST_PLANES = 4


@dataclass(frozen=True)
class InterleavingPlan:
    """`row`: contiguous in the inputs; `column`: of `planes` positions, contiguous in the outputs,
    where a step of `row` follows them."""

    row: int
    column: int
    planes: int
    lanes: int


def plan_interleaving_nest(nest: LoopNest, target: CPUTarget) -> InterleavingPlan | None:
    """How to emit a (simplified) nest by interleaved vectors; None if it is not of this kind."""
    plan = plan_transposing_nest(nest, target)
    if plan is None:
        return None
    planes = nest.extents[plan.column].static
    if planes is None or not 2 <= planes <= _MOST_PLANES:
        return None
    if any(nest.stride(out, plan.row) != Extent(planes) for out in nest.body.results):
        return None
    strides = [nest.stride(i, plan.row) for i in nest.inputs() if not nest.operands[i].is_scalar]
    if any(stride not in (ZERO, ONE) for stride in strides):
        return None
    return InterleavingPlan(plan.row, plan.column, planes, plan.lanes)


def emit_interleaving_nest(
    plan: InterleavingPlan, nest: LoopNest, b: Builder, initial: dict[int, ir.Value]
) -> None:
    """Emit a nest by interleaved vectors; its outputs are written whole, so `initial` is unused."""
    extents = [nest.emit_extent(b, extent) for extent in nest.extents]
    outer = [dim for dim in range(nest.rank) if dim not in (plan.row, plan.column)]

    def over(dims: list[int], accesses: list[Access]) -> None:
        if not dims:
            _emit_rows(plan, nest, b, accesses, extents[plan.row])
            return
        with b.loop(0, extents[dims[0]]) as position:
            over(dims[1:], [access.advanced(b, dims[0], position) for access in accesses])

    over(outer, nest.emit_accesses(b))


def _emit_rows(
    plan: InterleavingPlan, nest: LoopNest, b: Builder, accesses: list[Access], rows: Index
) -> None:
    """All positions of the inner two dimensions."""
    whole = b.round_down(rows, plan.lanes)
    with b.loop(0, whole, plan.lanes) as row:
        _emit_vectors(plan, nest, b, [a.advanced(b, plan.row, row) for a in accesses], None)
    rest = b.sub(rows, whole)
    last = [a.advanced(b, plan.row, whole) for a in accesses]
    b.when(b.at_least(rest, 1), lambda: _emit_vectors(plan, nest, b, last, rest))


def _emit_vectors(
    plan: InterleavingPlan,
    nest: LoopNest,
    b: Builder,
    accesses: list[Access],
    active: Index | None,
) -> None:
    """A vector of each plane, of which the first `active` elements exist, None for all."""
    body, lanes, planes = nest.body, plan.lanes, plan.planes
    mask = None if active is None else b.mask(lanes, active)
    results: dict[int, list[ir.Value]] = {out: [] for out in body.results}
    for plane in range(planes):
        at = [access.advanced(b, plan.column, plane) for access in accesses]
        arguments = [_argument(plan, nest, b, at[i], i, mask) for i in body.arguments]
        values = emit_body(b, body.block, arguments, lanes)
        for out, value in zip(body.results, values, strict=True):
            results[out].append(b.broadcast(value, lanes))
    for out, values in results.items():
        view, start = accesses[out].view, accesses[out].base
        assert view is not None
        for number, value in enumerate(interleave_vectors(b, values)):
            offset = b.add(start, number * lanes)
            if active is None:
                b.store(value, view, offset)
                continue
            left = b.sub(b.mul(active, planes), number * lanes)
            some = partial(_store_some, b, value, view, offset, left)
            b.when(b.at_least(left, 1), some)


def _store_some(b: Builder, value: ir.Value, view: FlatView, offset: Index, count: Index) -> None:
    """Store the first `count` elements of a vector, at most all of them."""
    lanes = ir.VectorType(value.type).shape[0]
    b.store(value, view, offset, b.mask(lanes, b.minimum(count, lanes)))


def _argument(
    plan: InterleavingPlan,
    nest: LoopNest,
    b: Builder,
    access: Access,
    operand: int,
    mask: ir.Value | None,
) -> ir.Value:
    """What the body gets for an operand in one plane."""
    if access.view is None:
        return access.value
    if operand in nest.body.results:  # never read
        return b.zero(b.vector_type(plan.lanes, nest.operands[operand].element_type))
    if nest.stride(operand, plan.row) == ZERO:
        return b.load(access.view, access.base, 1)
    return b.load(access.view, access.base, plan.lanes, mask)
