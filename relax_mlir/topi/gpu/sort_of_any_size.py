"""Sorting lines whose size only run time knows: a block of threads for each line.

The network is Batcher's in the form in which every exchange ascends: the first step of a stage
compares elements that are mirror images of each other, so that elements beyond the end of a line,
which would be the largest, need not be there.  Keys are in the device's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.gpu.sort_exchange import exchange, pair_at
from relax_mlir.topi.gpu.threads import THREADS, bound, line_at, line_count, shares
from relax_mlir.topi.imperative import Line
from relax_mlir.topi.line_sort import sort_key

__all__ = ["sort_lines_of_any_size"]

_MOST_STAGES = 31
"""Positions are int32."""

_ONE = O.const(1, "int64")


def sort_lines_of_any_size(
    build: PrimFuncBuilder,
    data: Buffer,
    axis: int,
    descending: bool,
    count: Any,
    write: Callable[[Line, PrimExpr, PrimExpr], None],
) -> None:
    """Write a kernel that sorts the lines of a buffer along an axis, and writes the first `count`
    elements of each: `write` is given a line, the place in it, the position of what belongs there.
    """
    size = O.cast("int64", data.shape[axis])
    lines = line_count(data.shape, axis)
    keys = build.alloc_buffer("keys", [lines, size], f"uint{max(8, dtypes.bits(data.dtype))}")
    order = build.alloc_buffer("order", [lines, size], "int32")
    with (
        bound(build, "blockIdx.x", lines) as number,
        bound(build, "threadIdx.x", THREADS) as thread,
    ):
        line = line_at(data, axis, number)
        with shares(build, thread, THREADS, size) as i:
            build.store(keys, sort_key(data[line.at(i)], descending), [number, i])
            build.store(order, O.cast("int32", i), [number, i])
        _sort(build, keys, order, number, thread, size)
        with shares(build, thread, THREADS, count) as i:
            write(line, i, order[number, i])


def _sort(
    build: PrimFuncBuilder,
    keys: Buffer,
    order: Buffer,
    line: PrimExpr,
    thread: PrimExpr,
    size: PrimExpr,
) -> None:
    stages = build.let("stages", _ceil_log2(size))
    pairs = O.floordiv(O.shift_left(_ONE, stages), 2)
    steps = build.let("steps", O.floordiv(O.add(pairs, THREADS - 1), THREADS))
    last = build.let("last", O.subtract(size, 1))

    def exchange_all(pair_of: Callable[[PrimExpr], tuple[PrimExpr, PrimExpr]]) -> None:
        """A step of the network.  All threads read, so that they can wait for each other: the last
        element where there is none."""
        with build.for_("serial", 0, steps, "n", "int64") as n:
            low, high = pair_of(O.add(O.multiply(n, THREADS), thread))
            near, far = O.min(low, last), O.min(high, last)
            is_there = build.let("is_there", O.less(high, size))
            exchange(build, keys, order, (line, near), (line, far), lambda x: I.all(is_there, x))

    with build.for_("serial", 0, stages, "stage", "int64") as stage:
        exchange_all(lambda pair: _mirrored(build, pair, stage))
        with build.for_("serial", 0, stage, "step", "int64") as step:
            shift = O.subtract(O.subtract(stage, step), 1)
            exchange_all(lambda pair: pair_at(build, pair, shift))


def _ceil_log2(size: PrimExpr) -> PrimExpr:
    """The stages that lines of a size have: how many powers of two are less than it."""
    total: PrimExpr = O.const(0, "int64")
    for shift in range(_MOST_STAGES):
        is_less = O.less(O.const(1 << shift, "int64"), size)
        total = O.add(total, O.cast("int64", is_less))
    return total


def _mirrored(build: PrimFuncBuilder, pair: PrimExpr, stage: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """The two elements of a pair in the first step of a stage, which sorts runs of
    `2 << stage`."""
    low, high = pair_at(build, pair, stage)
    half = O.shift_left(_ONE, stage)
    offset = O.bitwise_and(low, O.subtract(half, 1))
    return low, build.let("mirror", O.subtract(O.add(high, O.subtract(half, 1)), offset * 2))
