"""The steps that sorting networks are of: pairs of keys, each brought in order by a thread."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr

__all__ = ["exchange", "pair_at"]


def exchange(
    build: PrimFuncBuilder,
    keys: Buffer,
    order: Buffer,
    low: tuple[PrimExpr, ...],
    high: tuple[PrimExpr, ...],
    condition: Callable[[PrimExpr], PrimExpr],
) -> None:
    """Exchange two elements and their positions under a condition, which is given whether the first
    is the greater.

    Positions make all keys different, so that equal elements keep their order."""
    low_key, high_key = build.let("low_key", keys[low]), build.let("high_key", keys[high])
    low_place = build.let("low_place", order[low])
    high_place = build.let("high_place", order[high])
    is_greater = I.any(
        O.less(high_key, low_key),
        I.all(O.equal(low_key, high_key), O.less(high_place, low_place)),
    )
    with build.if_(condition(is_greater)):
        build.store(keys, high_key, low)
        build.store(keys, low_key, high)
        build.store(order, high_place, low)
        build.store(order, low_place, high)


def pair_at(build: PrimFuncBuilder, pair: PrimExpr, shift: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """The two elements of a pair, numbered as a step does whose distance is `1 << shift`."""
    distance = build.let("distance", O.shift_left(O.const(1, "int64"), shift))
    inner = O.bitwise_and(pair, O.subtract(distance, 1))
    low = build.let("low", O.add(O.multiply(O.subtract(pair, inner), 2), inner))
    return low, build.let("high", O.add(low, distance))
