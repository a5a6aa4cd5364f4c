"""Legalisation of cumsum and cumprod: loops in which each element continues the one before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from relax_mlir.lowering.relax_to_tir.loops import every, flattened
from relax_mlir.lowering.relax_to_tir.rows import legalize_loops
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.operators import const


def _scan(start: int, combine: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def write(
        build: PrimFuncBuilder,
        data: Buffer,
        out: Buffer,
        *,
        axis: int | None,
        dtype: str | None,
        exclusive: bool,
    ) -> None:
        at = 0 if axis is None else axis % out.ndim
        first = const(start, out.dtype)

        def element(place: tuple[PrimExpr, ...]) -> PrimExpr:
            own = flattened(data, place[0]) if axis is None else place
            return data[own].astype(out.dtype)

        if at == out.ndim - 1:
            total = build.alloc_buffer("total", [1], out.dtype)
            _along_rows(build, out, total, first, element, combine, exclusive)
        else:
            _across_rows(build, out, at, first, element, combine, exclusive)

    return write


def _along_rows(
    build: PrimFuncBuilder,
    out: Buffer,
    total: Buffer,
    first: PrimExpr,
    element: Callable[[tuple[PrimExpr, ...]], PrimExpr],
    combine: Callable[[Any, Any], Any],
    exclusive: bool,
) -> None:
    """The last dimension: the running value stays in a register."""
    with ExitStack() as nest:
        outer = every(build, out.shape[:-1], nest, "ax")
        build.store(total, first, [0])
        with build.for_("serial", 0, out.shape[-1], "i", "int64") as i:
            place = (*outer, i)
            if exclusive:
                value = build.let("value", element(place))
                build.store(out, total[0], place)
                build.store(total, combine(total[0], value), [0])
            else:
                build.store(total, combine(total[0], element(place)), [0])
                build.store(out, total[0], place)


def _across_rows(
    build: PrimFuncBuilder,
    out: Buffer,
    at: int,
    first: PrimExpr,
    element: Callable[[tuple[PrimExpr, ...]], PrimExpr],
    combine: Callable[[Any, Any], Any],
    exclusive: bool,
) -> None:
    """Another dimension: a row continues the row before, so that memory is read in order."""
    with ExitStack() as nest:
        outer = every(build, out.shape[:at], nest, "ax")
        with ExitStack() as start:
            inner = every(build, out.shape[at + 1 :], start, "s")
            place = (*outer, const(0, "int64"), *inner)
            with build.if_(out.shape[at] > 0):
                build.store(out, first if exclusive else element(place), place)
        i = nest.enter_context(build.for_("serial", 1, out.shape[at] - 1, "i", "int64"))
        inner = every(build, out.shape[at + 1 :], nest, "in")
        place, before = (*outer, i, *inner), (*outer, i - 1, *inner)
        value = element(before if exclusive else place)
        build.store(out, combine(out[before], value), place)


legalize_loops("cumsum")(_scan(0, lambda a, b: a + b))
legalize_loops("cumprod")(_scan(1, lambda a, b: a * b))
