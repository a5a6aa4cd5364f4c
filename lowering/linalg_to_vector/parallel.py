"""Dividing a loop nest among cores.

One parallel dimension is cut into as many pieces as there are cores; `scf.parallel` runs over the
pieces, and each is emitted like a nest of its own, whose operands begin further on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from relax_mlir.lowering.linalg_to_vector.body import body_cost
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.loop_nest import Extent, LoopNest

__all__ = ["MIN_WORK", "choose_split", "emit_split", "restricted"]

# Starting and joining threads takes some microseconds: so many operations must be worth it.
MIN_WORK = 1 << 21


def choose_split(
    nest: LoopNest, dims: Sequence[tuple[int, int]], num_cores: int
) -> tuple[int, int] | None:
    """The first of `dims` (dimension, multiple that pieces should have) that gives every core a
    piece; None if the nest is too small, or of a size that is only known at run time."""
    sizes = [extent.static for extent in nest.extents]
    if num_cores < 2 or None in sizes:
        return None
    cost = max(1, body_cost(nest.body.block))
    work = cost * math.prod(size for size in sizes if size is not None)
    if work < MIN_WORK:
        return None
    for dim, multiple in dims:
        size = sizes[dim]
        assert size is not None
        if dim not in nest.index_dims and size >= num_cores * multiple:
            return dim, multiple
    return None


def emit_split(
    b: Builder,
    nest: LoopNest,
    dim: int,
    multiple: int,
    num_cores: int,
    emit: Callable[[LoopNest], None],
) -> None:
    """`emit(piece)` for every piece of `dim`, in parallel."""
    size = nest.extents[dim].static
    assert size is not None
    piece = -(-size // (num_cores * multiple)) * multiple
    pieces = -(-size // piece)
    with b.parallel_loop(pieces) as number:
        start = b.mul(number, piece)
        extent: Index = piece
        if size % piece:
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
