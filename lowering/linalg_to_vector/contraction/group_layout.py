"""Weights that were laid out in groups for dot-product instructions when the module was compiled.

The weight of a product has the groups of neighbours along the reduction innermost, two bfloat16 or
four bytes, then the output channels of a panel, then the groups of the reduction
(`relax-pack-narrow-weights` makes it so).  In a nest that is a reduction of two dimensions, within
a group and over groups; here it becomes one over groups, which are read as 32-bit elements where
they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.grouped_panels import (
    LANES,
    SHIFT,
    GroupKind,
    group_product,
)
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Access, Extent, LoopNest
from relax_mlir.mlir import ir

__all__ = [
    "Groups",
    "ShiftSums",
    "block_dims",
    "blocks_follow",
    "find_groups",
    "read_in_groups",
    "weight_in_groups",
]

_SIZES = (2, 4)


@dataclass(frozen=True)
class Groups:
    """Groups of `size` elements: the dimension within them, and that over them."""

    size: int
    within: int
    over: int


def find_groups(nest: LoopNest, a: int, b: int, column: int, k: Sequence[int]) -> Groups | None:
    """The groups that operand B lies in, with the dimensions of the reduction that they make up;
    None if it does not.  A has to be contiguous along both."""
    if len(k) != 2:
        return None
    for within, over in (k, k[::-1]):
        size = nest.extents[within].static
        if size not in _SIZES:
            continue
        group, row = Extent(size), nest.stride(b, over).static
        steps = ((a, within, ONE), (b, within, ONE), (a, over, group), (b, column, group))
        if row and all(nest.stride(operand, dim) == step for operand, dim, step in steps):
            fits = _are_multiples(nest, b, size, within)
            return Groups(size, within, over) if fits else None
    return None


def _are_multiples(nest: LoopNest, operand: int, size: int, within: int) -> bool:
    """Whether every step between groups is a whole number of them."""
    strides = [s for dim, s in enumerate(nest.operands[operand].strides) if dim != within]
    return all(e.factor % size == 0 for e in (*strides, *nest.operands[operand].base))


def block_dims(nest: LoopNest, weight: int, dims: Sequence[int]) -> list[int]:
    """Those of some dimensions along which a weight goes from one block of rows to another, the
    innermost last."""
    found = [d for d in dims if nest.extents[d] != ONE and nest.stride(weight, d) != ZERO]
    return sorted(found, key=lambda dim: -nest.stride(weight, dim).factor)


def blocks_follow(nest: LoopNest, weight: int, dims: Sequence[int], groups: Groups) -> bool:
    """Whether the blocks along some dimensions, which may number them all, follow one another."""
    step: Extent = nest.stride(weight, groups.over) * nest.extents[groups.over]
    for dim in reversed(block_dims(nest, weight, dims)):
        if nest.stride(weight, dim) != step:
            return False
        step = step * nest.extents[dim]
    return True


def weight_in_groups(nest: LoopNest, weight: int, groups: Groups) -> LoopNest:
    """The nest over groups: the weight counted in 32-bit elements, the dimension within them gone
    (one position is left of it)."""
    operand = nest.operands[weight]
    moved = replace(
        operand,
        element_type=ir.IntegerType.get_signless(32),
        strides=tuple(_divided(stride, groups.size) for stride in operand.strides),
        base=tuple(_divided(term, groups.size) for term in operand.base),
        group=groups.size,
        step=groups.size,
        dim_order=None,
        coordinates=None,
    )
    extents = list(nest.extents)
    extents[groups.within] = ONE
    operands = list(nest.operands)
    operands[weight] = moved
    return replace(nest, extents=tuple(extents), operands=tuple(operands))


def _divided(extent: Extent, size: int) -> Extent:
    return replace(extent, factor=extent.factor // size)


def read_in_groups(nest: LoopNest, data: int, groups: Groups) -> LoopNest:
    """The nest with groups of an operand read as 32-bit elements, from wherever they begin."""
    operands = list(nest.operands)
    operands[data] = replace(
        operands[data], element_type=ir.IntegerType.get_signless(32), group=groups.size
    )
    return replace(nest, operands=tuple(operands))


@dataclass(frozen=True)
class ShiftSums:
    """What the shift of signed data by 128 adds, negated: -128 times the sums of the columns of a
    weight in groups, for each of `blocks` blocks of `depth` rows that follow one another from
    `base` on.  A row has `width` groups, of which `columns` are wanted.  The sums of a block are in
    whole vectors."""

    b: Builder
    kind: GroupKind
    element: ir.Type
    weight: Access
    blocks: Index
    depth: Index
    width: int
    columns: Index

    def emit(self) -> FlatView:
        """A buffer with the sums."""
        b = self.b
        sums = b.scratch(b.mul(self.blocks, self.distance), ir.IntegerType.get_signless(32))
        size = b.mul(self.depth, self.width)
        whole = b.round_down(self.columns, LANES)
        with b.loop(0, self.blocks) as block:
            start = b.add(self.weight.base, b.mul(block, size))
            target = b.mul(block, self.distance)
            with b.loop(0, whole, LANES) as column:
                value = self._column_sums(b.add(start, column), None)
                b.store(value, sums, b.add(target, column))
            rest = b.sub(self.columns, whole)

            def last(start: Index = start, target: Index = target, rest: Index = rest) -> None:
                value = self._column_sums(b.add(start, whole), b.mask(LANES, rest))
                b.store(value, sums, b.add(target, whole))

            b.when(b.at_least(rest, 1), last)
        return sums

    @property
    def distance(self) -> int:
        """How far the sums of the next block are."""
        return -(-self.width // LANES) * LANES

    def at(self, offset: Index) -> Index:
        """Where the sums of the columns at an offset of the weight are, the offset being in the
        first row of a block."""
        b = self.b
        beyond = b.sub(offset, self.weight.base)
        size = b.mul(self.depth, self.width)
        return b.add(b.mul(b.floordiv(beyond, size), self.distance), b.mod(beyond, size))

    def _column_sums(self, start: Index, mask: ir.Value | None) -> ir.Value:
        b, i32 = self.b, ir.IntegerType.get_signless(32)
        view = self.weight.view
        assert view is not None
        zeros = b.zero(b.vector_type(LANES, i32))
        shift = b.broadcast(b.scalar(SHIFT, i32), LANES)

        def row(number: Index, total: list[ir.Value]) -> list[ir.Value]:
            groups = b.load(view, b.add(start, b.mul(number, self.width)), LANES, mask)
            return [group_product(b, self.kind, self.element, (shift, groups, total[0]))]

        (total,) = b.carried_loop(0, self.depth, 1, [zeros], row)
        return b.op("arith.subi", zeros.type, [zeros, total])
