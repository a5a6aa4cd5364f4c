"""Elementwise operations and reductions: a loop nest with one vectorized dimension.

The vectorized dimension is one along which every operand is contiguous or constant.  If it is
parallel, a strip of a few vectors is computed at once, with the reduction loops (if any) inside
and the accumulators in registers.  If it is a reduction, several vector accumulators run along it
and are joined at the end.  What remains past the last whole vector is done under a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import TypeGuard

from relax_mlir.lowering.linalg_to_vector.body import (
    Combiner,
    body_cost,
    can_widen,
    combiners,
    emit_body,
    is_vectorizable,
    narrowed,
    wide_type,
    widened,
    widest_bits,
)
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index, next_power_of_two
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Access, LoopNest
from relax_mlir.lowering.linalg_to_vector.summation import blocked_sum
from relax_mlir.mlir import ir

__all__ = ["VectorPlan", "emit_vector_nest", "plan_vector_nest"]

# Sums of so many terms are made of blocks, of not fewer than so many terms.
_LONG_SUM, _SHORTEST_BLOCK = 48, 8
# A size that is only known at run time is taken for a large one.
_ASSUMED_DYNAMIC_EXTENT = 1 << 20


@dataclass(frozen=True)
class VectorPlan:
    """The vectorized dimension (None: scalar), its lanes, and vectors at once."""

    dim: int | None
    lanes: int
    unroll: int


def plan_vector_nest(nest: LoopNest, target: CPUTarget) -> VectorPlan | None:
    """How to vectorize a (simplified) nest; None if no dimension is fit for it."""
    if not is_vectorizable(nest.body.block):
        return None
    if nest.rank == 0:
        return VectorPlan(None, 1, 1)
    dims = [dim for dim in range(nest.rank) if _is_contiguous(nest, dim)]
    if not dims:
        return None
    dim = max(dims, key=lambda d: (_assumed(nest, d), not nest.reduction[d]))
    wide = any(nest.reduction) and can_widen(nest.body.block)
    bits = max(32 if wide else 8, widest_bits(nest.body.block))
    lanes = min(target.lanes(bits), next_power_of_two(_assumed(nest, dim)))
    if lanes < 2:
        return None
    unroll = _vectors_at_once(nest, dim)
    return VectorPlan(dim, lanes, min(unroll, max(1, _assumed(nest, dim) // lanes)))


def _vectors_at_once(nest: LoopNest, dim: int) -> int:
    """Independent vectors: enough to hide latency, few enough to keep the code small."""
    cost = body_cost(nest.body.block)
    if any(nest.reduction):
        # A strip of columns reads a longer piece of each row the wider it is.
        light = 4 if nest.reduction[dim] else 8
        return light if cost <= 4 else 4 if cost <= 16 else 2
    return 4 if cost <= 4 else 2 if cost <= 16 else 1


def _assumed(nest: LoopNest, dim: int) -> int:
    static = nest.extents[dim].static
    return _ASSUMED_DYNAMIC_EXTENT if static is None else static


def _is_contiguous(nest: LoopNest, dim: int) -> bool:
    """Whether every operand is contiguous or constant along a dimension, outputs suitably so."""
    strides = [operand.strides[dim] for operand in nest.operands]
    if any(stride not in (ZERO, ONE) for stride in strides) or ONE not in strides:
        return False
    wanted = ZERO if nest.reduction[dim] else ONE
    if any(strides[out] != wanted for out in nest.body.results):
        return False
    return not nest.reduction[dim] or _combiners(nest) is not None


def _combiners(nest: LoopNest) -> list[Combiner] | None:
    positions = [nest.body.arguments.index(out) for out in nest.body.results]
    return combiners(nest.body.block, positions)


def emit_vector_nest(
    plan: VectorPlan, nest: LoopNest, b: Builder, initial: dict[int, ir.Value]
) -> None:
    """Emit the nest.  `initial` has the scalar that an output operand holds before, if known;
    that output is then written without being read."""
    _Emitter(b, nest, plan, initial).emit()


class _Emitter:
    def __init__(self, b: Builder, nest: LoopNest, plan: VectorPlan, initial: dict[int, ir.Value]):
        self.b = b
        self.nest = nest
        self.plan = plan
        self.initial = initial
        self.block = nest.body.block
        self.outputs = nest.body.results
        # Reductions of f16 and bf16 are done in f32 and rounded once, when stored.
        self.wide = any(nest.reduction) and can_widen(self.block)
        self.extents = [nest.emit_extent(b, extent) for extent in nest.extents]
        self.positions: dict[int, Index] = {}
        rank = range(nest.rank)
        self.parallel = [d for d in rank if not nest.reduction[d] and d != plan.dim]
        self.reductions = [d for d in rank if nest.reduction[d] and d != plan.dim]

    def emit(self) -> None:
        accesses = self.nest.emit_accesses(self.b)
        vector_reduction = self.plan.dim is not None and self.nest.reduction[self.plan.dim]
        innermost = self._emit_vector_reduction if vector_reduction else self._emit_strips
        self._emit_parallel(self.parallel, accesses, innermost)

    def _emit_parallel(
        self, dims: list[int], accesses: list[Access], body: Callable[[list[Access]], None]
    ) -> None:
        if not dims:
            body(accesses)
            return
        with self.b.loop(0, self.extents[dims[0]]) as position:
            self.positions[dims[0]] = position
            self._emit_parallel(dims[1:], self._advance(accesses, dims[0], position), body)

    def _advance(self, accesses: list[Access], dim: int, position: Index) -> list[Access]:
        return [access.advanced(self.b, dim, position) for access in accesses]

    # The vectorized dimension is parallel (or there is none)

    def _emit_strips(self, accesses: list[Access]) -> None:
        b, dim, lanes, unroll = self.b, self.plan.dim, self.plan.lanes, self.plan.unroll
        uniform = self._uniform_values(accesses)
        if dim is None:
            self._emit_strip(accesses, uniform, 1, None)
            return
        extent = self.extents[dim]

        def strip(position: Index, vectors: int, mask: ir.Value | None) -> None:
            self.positions[dim] = position
            self._emit_strip(self._advance(accesses, dim, position), uniform, vectors, mask)

        main_end = b.round_down(extent, lanes * unroll)
        if main_end != 0:
            with b.loop(0, main_end, lanes * unroll) as position:
                strip(position, unroll, None)
        if not isinstance(extent, int) or not isinstance(main_end, int):
            with b.loop(main_end, extent, lanes) as position:
                strip(position, 1, b.mask(lanes, b.sub(extent, position)))
            return
        whole = (extent - main_end) // lanes
        if whole:
            strip(main_end, whole, None)
        tail = main_end + whole * lanes
        if tail < extent:
            strip(tail, 1, b.mask(lanes, extent - tail))

    def _uniform_values(self, accesses: list[Access]) -> dict[int, ir.Value]:
        """Inputs that neither the vectorized nor a reduction dimension moves, loaded once."""
        inner = [d for d in (self.plan.dim, *self.reductions) if d is not None]
        return {
            operand: self._load(accesses[operand], operand, 0, None)
            for operand in self.nest.inputs()
            if all(self.nest.stride(operand, d) == ZERO for d in inner)
        }

    def _emit_strip(
        self,
        accesses: list[Access],
        uniform: dict[int, ir.Value],
        vectors: int,
        mask: ir.Value | None,
    ) -> None:
        """Compute `vectors` vectors of every output from the strip's start."""
        start: list[ir.Value] = []
        for vector in range(vectors):
            for out in self.outputs:
                start.append(self._start_value(accesses[out], out, vector, mask))

        def step(at: list[Access], values: list[ir.Value]) -> list[ir.Value]:
            count = len(self.outputs)
            results: list[ir.Value] = []
            for vector in range(vectors):
                carried = values[vector * count : (vector + 1) * count]
                results += self._run_body(at, uniform, carried, vector, mask)
            return results

        final = self._reduce(self.reductions, accesses, start, step)
        for vector in range(vectors):
            for position, out in enumerate(self.outputs):
                value = final[vector * len(self.outputs) + position]
                view = accesses[out].view
                assert view is not None
                offset = self.b.add(accesses[out].base, vector * self.plan.lanes)
                value = narrowed(self.b, value, self._stored_type(out), self.plan.lanes)
                self.b.store(self.b.broadcast(value, self.plan.lanes), view, offset, mask)

    def _start_value(
        self, access: Access, out: int, vector: int, mask: ir.Value | None
    ) -> ir.Value:
        """What an output holds before: the fill value, its contents, or (if unread) zero."""
        b, lanes = self.b, self.plan.lanes
        argument = self.block.arguments[self.nest.body.arguments.index(out)]
        if not self.reductions and not list(argument.uses):
            type_ = wide_type(argument.type) if self.wide else argument.type
            return b.zero(type_ if lanes == 1 else b.vector_type(lanes, type_))
        if out in self.initial:
            return b.broadcast(self._widened(self.initial[out]), lanes)
        assert access.view is not None
        return self._widened(b.load(access.view, b.add(access.base, vector * lanes), lanes, mask))

    def _widened(self, value: ir.Value) -> ir.Value:
        return widened(self.b, value, self.plan.lanes) if self.wide else value

    def _stored_type(self, operand: int) -> ir.Type:
        return self.nest.operands[operand].element_type

    def _run_body(
        self,
        accesses: list[Access],
        uniform: dict[int, ir.Value],
        carried: list[ir.Value],
        vector: int,
        mask: ir.Value | None,
    ) -> list[ir.Value]:
        arguments: list[ir.Value] = []
        for operand in self.nest.body.arguments:
            if operand in self.outputs:
                arguments.append(carried[self.outputs.index(operand)])
            elif operand in uniform:
                arguments.append(uniform[operand])
            else:
                arguments.append(self._load(accesses[operand], operand, vector, mask))
        lanes = self.plan.lanes
        results = emit_body(
            self.b,
            self.block,
            arguments,
            lanes,
            lambda dim: self._index(dim, vector),
            contract=any(self.nest.reduction),
            widen=self.wide,
        )
        return [self.b.broadcast(result, lanes) for result in results]

    def _load(self, access: Access, operand: int, vector: int, mask: ir.Value | None) -> ir.Value:
        if access.view is None:
            return self._widened(access.value)
        dim, lanes = self.plan.dim, self.plan.lanes
        if dim is None or self.nest.stride(operand, dim) == ZERO:
            return self._widened(self.b.load(access.view, access.base, 1))
        offset = self.b.add(access.base, vector * lanes)
        return self._widened(self.b.load(access.view, offset, lanes, mask))

    def _index(self, op_dim: int, vector: int) -> ir.Value:
        """Value of `linalg.index op_dim`, a vector along the vectorized dimension."""
        b, lanes = self.b, self.plan.lanes
        dim = self.nest.index_dims[op_dim]
        base: Index = 0
        for term in self.nest.index_bases[op_dim] if self.nest.index_bases else ():
            base = b.add(base, self.nest.emit_extent(b, term))
        if dim is None:
            return b.index(base)
        if dim != self.plan.dim:
            return b.index(b.add(base, self.positions[dim]))
        type_ = b.vector_type(lanes, b.index_type)
        start = b.index(b.add(base, b.add(self.positions[dim], vector * lanes)))
        step = b.op("vector.step", type_, [])
        return b.op("arith.addi", type_, [b.broadcast(start, lanes), step])

    def _reduce(
        self,
        dims: list[int],
        accesses: list[Access],
        values: list[ir.Value],
        step: Callable[[list[Access], list[ir.Value]], list[ir.Value]],
    ) -> list[ir.Value]:
        """Run `step` over the reduction loops `dims`, carrying its values."""
        if not dims:
            return step(accesses, values)

        def body(position: Index, carried: list[ir.Value]) -> list[ir.Value]:
            self.positions[dims[0]] = position
            at = self._advance(accesses, dims[0], position)
            return self._reduce(dims[1:], at, carried, step)

        extent = self.extents[dims[0]]
        if not self._is_long_sum(extent, values):
            return self.b.carried_loop(0, extent, 1, values, body)
        empty, longest = self.b.zero(values[0].type), max(_SHORTEST_BLOCK, isqrt(extent))
        return blocked_sum(self.b, extent, values, empty, body, self._added, longest)

    def _is_long_sum(self, extent: Index, values: list[ir.Value]) -> TypeGuard[int]:
        """Whether a loop adds up so many floating-point numbers that blocks are more exact."""
        if not isinstance(extent, int) or extent < _LONG_SUM:
            return False
        found = _combiners(self.nest)
        same = all(value.type == values[0].type for value in values)
        return same and found is not None and all(c.op == "arith.addf" for c in found)

    def _added(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return self.b.op("arith.addf", lhs.type, [lhs, rhs])

    # The vectorized dimension is a reduction

    def _emit_vector_reduction(self, accesses: list[Access]) -> None:
        b, unroll, count = self.b, self.plan.unroll, len(self.outputs)
        found = _combiners(self.nest)
        assert found is not None
        neutral = [
            b.broadcast(b.scalar(c.neutral(self._type(out)), self._type(out)), self.plan.lanes)
            for c, out in zip(found, self.outputs, strict=True)
        ]
        uniform = self._uniform_values(accesses)

        def row(at: list[Access], values: list[ir.Value]) -> list[ir.Value]:
            return self._accumulate_row(at, uniform, values)

        sums = self._reduce(self.reductions, accesses, neutral * unroll, row)
        for position, (combiner, out) in enumerate(zip(found, self.outputs, strict=True)):
            parts = sums[position::count]
            total = self._join(combiner, parts)
            access = accesses[out]
            assert access.view is not None
            before = self.initial.get(out) or b.load(access.view, access.base, 1)
            total = b.op(combiner.op, total.type, [self._widened(before), total])
            b.store(narrowed(b, total, self._stored_type(out), 1), access.view, access.base)

    def _type(self, operand: int) -> ir.Type:
        element = self._stored_type(operand)
        return wide_type(element) if self.wide else element

    def _accumulate_row(
        self, accesses: list[Access], uniform: dict[int, ir.Value], values: list[ir.Value]
    ) -> list[ir.Value]:
        """One pass along the vectorized dimension; `values` holds `unroll` accumulators of each
        output."""
        b, lanes, unroll, count = self.b, self.plan.lanes, self.plan.unroll, len(self.outputs)
        dim = self.plan.dim
        assert dim is not None
        extent = self.extents[dim]

        def vectors(position: Index, carried: list[ir.Value]) -> list[ir.Value]:
            self.positions[dim] = position
            at = self._advance(accesses, dim, position)
            results: list[ir.Value] = []
            for vector in range(len(carried) // count):
                part = carried[vector * count : (vector + 1) * count]
                results += self._run_body(at, uniform, part, vector, None)
            return results

        main_end = b.round_down(extent, lanes * unroll)
        whole_end = b.round_down(extent, lanes)
        values = b.carried_loop(0, main_end, lanes * unroll, values, vectors)
        first = b.carried_loop(main_end, whole_end, lanes, values[:count], vectors)
        if isinstance(extent, int) and whole_end == extent:
            return first + values[count:]

        def masked(position: Index, carried: list[ir.Value]) -> list[ir.Value]:
            self.positions[dim] = position
            at = self._advance(accesses, dim, position)
            mask = b.mask(lanes, b.sub(extent, position))
            results = self._run_body(at, uniform, carried, 0, mask)
            return [
                b.op("arith.select", new.type, [mask, new, old])
                for new, old in zip(results, carried, strict=True)
            ]

        return b.carried_loop(whole_end, extent, lanes, first, masked) + values[count:]

    def _join(self, combiner: Combiner, parts: list[ir.Value]) -> ir.Value:
        """All lanes of all accumulators in one scalar."""
        b = self.b
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [b.op(combiner.op, p[0].type, p) if len(p) == 2 else p[0] for p in pairs]
        element = ir.VectorType(parts[0].type).element_type
        attributes = {
            "kind": ir.Attribute.parse(f"#vector.kind<{combiner.kind}>"),
            "fastmath": ir.Attribute.parse("#arith.fastmath<reassoc>"),
        }
        return b.op("vector.reduction", element, [parts[0]], attributes)
