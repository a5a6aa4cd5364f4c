"""Dividing a loop nest among cores.

One parallel dimension is cut into as many pieces as there are cores; `scf.parallel` runs over the
pieces, and each is emitted like a nest of its own, whose operands begin further on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from relax_mlir.lowering.linalg_to_vector.body import body_cost
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.loop_nest import ZERO, Extent, LoopNest, Operand
from relax_mlir.mlir import ir

__all__ = ["MIN_WORK", "emit_divided", "emit_split", "is_worth_dividing", "restricted"]

# Starting and joining threads takes two microseconds: operations of ten must be worth it.
MIN_WORK = 1 << 21
# Reading or writing an element outside of the first cache takes the time of so many operations.
_ELEMENT = 16


def is_worth_dividing(nest: LoopNest) -> bool:
    """Whether a nest is of known size and takes long enough: for its operations, or for what it
    reads and writes."""
    sizes = [extent.static for extent in nest.extents]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return False
    operations = max(1, body_cost(nest.body.block)) * math.prod(known)
    elements = sum(_elements(operand, known) for operand in nest.operands)
    return max(operations, _ELEMENT * elements) >= MIN_WORK


def _elements(operand: Operand, sizes: Sequence[int]) -> int:
    """About how many elements of an operand a nest of these sizes touches."""
    if operand.is_scalar:
        return 0
    walks = zip(sizes, operand.strides, strict=True)
    moves = [(size, abs(stride.factor)) for size, stride in walks if stride != ZERO]
    steps = math.prod(size for size, _ in moves)
    # Windows overlap: no more than what lies between the first element and the last.
    span = 1 + sum((size - 1) * stride for size, stride in moves)
    return min(steps, span)


def choose_split(
    nest: LoopNest, dims: Sequence[tuple[int, int]], num_cores: int
) -> tuple[int, int] | None:
    """The first of `dims` (dimension, multiple that pieces should have) that gives every core a
    piece, or may do so where its size is only known at run time; None if the nest is too small."""
    if num_cores < 2 or (_is_static(nest) and not is_worth_dividing(nest)):
        return None
    for dim, multiple in dims:
        size = nest.extents[dim].static
        if dim not in nest.index_dims and (size is None or size >= num_cores * multiple):
            return dim, multiple
    return None


def _is_static(nest: LoopNest) -> bool:
    return all(extent.static is not None for extent in nest.extents)


def emit_divided(
    b: Builder,
    nest: LoopNest,
    dims: Sequence[tuple[int, int]],
    num_cores: int,
    emit: Callable[[LoopNest], None],
) -> None:
    """`emit` on the nest, or on a piece of it for every core if that is worth it: sizes known at
    run time decide then, between two versions of the code.  `dims` are those of `choose_split`."""
    split = choose_split(nest, dims, num_cores)
    if split is None:
        emit(nest)
        return
    divided = partial(emit_split, b, nest, *split, num_cores, emit)
    if _is_static(nest):
        divided()
        return
    b.when(_takes_long(b, nest, *split, num_cores), divided, lambda: emit(nest))


def _takes_long(
    b: Builder, nest: LoopNest, dim: int, multiple: int, num_cores: int
) -> ir.Value | bool:
    """`is_worth_dividing` at run time, roughly, and whether every core gets a piece."""
    moved = sum(not operand.is_scalar and ZERO not in operand.strides for operand in nest.operands)
    work: Index = max(1, body_cost(nest.body.block), _ELEMENT * moved)
    for extent in nest.extents:
        work = b.mul(work, nest.emit_extent(b, extent))
    size = nest.emit_extent(b, nest.extents[dim])
    return b.all_of([b.at_least(work, MIN_WORK), b.at_least(size, num_cores * multiple)])


def emit_split(
    b: Builder,
    nest: LoopNest,
    dim: int,
    multiple: int,
    num_cores: int,
    emit: Callable[[LoopNest], None],
) -> None:
    """`emit(piece)` for every piece of `dim`, in parallel."""
    size = nest.emit_extent(b, nest.extents[dim])
    piece = b.mul(b.ceildiv(size, num_cores * multiple), multiple)
    pieces = b.ceildiv(size, piece)
    with b.parallel_loop(pieces) as number:
        start = b.mul(number, piece)
        extent = piece
        even = isinstance(size, int) and isinstance(piece, int) and size % piece == 0
        if not even:
            extent = b.minimum(b.sub(size, start), piece)
        emit(restricted(b, nest, dim, start, extent))


def restricted(b: Builder, nest: LoopNest, dim: int, start: Index, extent: Index) -> LoopNest:
    """The nest restricted to `extent` positions of `dim` from `start` on."""
    symbols = list(nest.symbols)

    def symbol(value: Index) -> Extent:
        if isinstance(value, int):
            return Extent(value)
        symbols.append((b.index(value), None))
        return Extent(1, (len(symbols) - 1,))

    offset = symbol(start)
    extents = list(nest.extents)
    extents[dim] = symbol(extent)
    operands = [
        replace(operand, base=(*operand.base, offset * operand.strides[dim]))
        for operand in nest.operands
    ]
    bases = list(nest.index_bases) or [()] * len(nest.index_dims)
    bases = [
        (*base, offset) if now == dim else base
        for base, now in zip(bases, nest.index_dims, strict=True)
    ]
    return replace(
        nest,
        extents=tuple(extents),
        operands=tuple(operands),
        symbols=symbols,
        index_bases=tuple(bases),
    )
