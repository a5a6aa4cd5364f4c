"""Cumulative operators by the threads of a GPU.

Along the last axis a block scans a line, a tile of as many elements as it has threads at a time
(Hillis and Steele, "Data parallel algorithms", 1986); along another axis each thread has a line,
and neighbours read neighbouring elements.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int
from relax_mlir.topi.gpu.threads import THREADS, bound, line_at, line_count
from relax_mlir.topi.scan import Combine, Element, scan_with


def scanop(
    data: Tensor,
    binop: Combine,
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: object | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """As `topi.scanop`; sums of floats are made in another order."""
    writers = (_along_rows, _across_rows)
    return scan_with(writers, "gpu", data, binop, identity_value, op_name, axis, dtype, exclusive)


def _along_rows(
    build: PrimFuncBuilder,
    out: Buffer,
    at: int,
    start: PrimExpr,
    element: Element,
    combine: Combine,
    exclusive: bool,
) -> None:
    size = as_int(out.shape[at])
    threads = THREADS if size is None else min(THREADS, max(2, 1 << (size - 1).bit_length()))
    scanned = build.alloc_buffer("scanned", [threads], out.dtype, "shared")
    before = build.alloc_buffer("before", [1], out.dtype, "local")
    own = build.alloc_buffer("own", [1], out.dtype, "local")
    with ExitStack() as nest:
        block = nest.enter_context(bound(build, "blockIdx.x", line_count(out.shape, at)))
        thread = nest.enter_context(bound(build, "threadIdx.x", threads))
        line = line_at(out, at, block)
        build.store(before, start, [0])
        tiles = O.floordiv(O.add(line.size, threads - 1), threads)
        tile = nest.enter_context(build.for_("serial", 0, tiles, "tile", "int64"))
        place = O.add(O.multiply(tile, threads), thread)
        build.store(own, start, [0])
        with build.if_(O.less(place, line.size)):
            build.store(own, element(line.at(place)), [0])
        build.store(scanned, own[0], [thread])
        _scan(build, scanned, own, thread, threads, combine)
        result: PrimExpr = scanned[thread]
        if exclusive:
            earlier = scanned[O.max(O.subtract(thread, 1), O.const(0, "int64"))]
            result = O.select(O.less(0, thread), earlier, start)
        with build.if_(O.less(place, line.size)):
            build.store(out, combine(before[0], result), line.at(place))
        build.store(before, combine(before[0], scanned[threads - 1]), [0])


def _scan(
    build: PrimFuncBuilder,
    scanned: Buffer,
    own: Buffer,
    thread: PrimExpr,
    threads: int,
    combine: Combine,
) -> None:
    """Combine each element with all before it: with the one 1, 2, 4, ... places earlier."""
    distance = 1
    while distance < threads:
        earlier = scanned[O.max(O.subtract(thread, distance), O.const(0, "int64"))]
        reaches = O.less_equal(distance, thread)
        build.store(own, O.select(reaches, combine(earlier, own[0]), own[0]), [0])
        build.store(scanned, own[0], [thread])
        distance *= 2


def _across_rows(
    build: PrimFuncBuilder,
    out: Buffer,
    at: int,
    start: PrimExpr,
    element: Element,
    combine: Combine,
    exclusive: bool,
) -> None:
    running = build.alloc_buffer("running", [1], out.dtype, "local")
    lines = line_count(out.shape, at)
    blocks = O.floordiv(O.add(lines, THREADS - 1), THREADS)
    with ExitStack() as nest:
        block = nest.enter_context(bound(build, "blockIdx.x", blocks))
        thread = nest.enter_context(bound(build, "threadIdx.x", THREADS))
        number = O.add(O.multiply(block, THREADS), thread)
        nest.enter_context(build.if_(O.less(number, lines)))
        line = line_at(out, at, number)
        build.store(running, start, [0])
        i = nest.enter_context(build.for_("serial", 0, line.size, "i", "int64"))
        value = build.let("value", element(line.at(i)))
        if exclusive:
            build.store(out, running[0], line.at(i))
        build.store(running, combine(running[0], value), [0])
        if not exclusive:
            build.store(out, running[0], line.at(i))


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: object | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The running sum."""
    return scanop(data, O.add, 0, "cumsum", axis, dtype, exclusive)


def cumprod(
    data: Tensor,
    axis: int | None = None,
    dtype: object | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The running product."""
    return scanop(data, O.multiply, 1, "cumprod", axis, dtype, exclusive)
