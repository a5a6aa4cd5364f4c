"""Cumulative operators along an axis."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import normalize_axis, product
from relax_mlir.topi.imperative import every, flattened

Combine = Callable[[Any, Any], PrimExpr]
Element = Callable[[tuple[PrimExpr, ...]], PrimExpr]
Writer = Callable[[PrimFuncBuilder, Buffer, int, PrimExpr, Element, Combine, bool], None]


def scanop(
    data: Tensor,
    binop: Combine,
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: object | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The running combination of elements along an axis (of the flat tensor by default).

    exclusive: element i combines those before it, starting from the identity.
    """
    writers = (_along_rows, _across_rows)
    return scan_with(
        writers, "generic", data, binop, identity_value, op_name, axis, dtype, exclusive
    )


def scan_with(
    writers: tuple[Writer, Writer],
    kind: str,
    data: Tensor,
    binop: Combine,
    identity_value: Any,
    op_name: str,
    axis: int | None,
    dtype: object | None,
    exclusive: bool | None,
) -> Tensor:
    """`scanop`, by functions that write the loops along the last axis and along another one."""
    shape = [product(data.shape)] if axis is None else data.shape
    at = 0 if axis is None else normalize_axis(axis, data.ndim)
    target = data.dtype if dtype in (None, "", "void") else dtype
    start = O.cast(target, identity_value)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        def element(place: tuple[PrimExpr, ...]) -> PrimExpr:
            own = flattened(ins[0], place[0]) if axis is None else place
            return O.cast(target, ins[0][own])

        write = writers[0] if at == len(shape) - 1 else writers[1]
        write(build, outs[0], at, start, element, binop, bool(exclusive))

    return imperative([(shape, target)], [data], emit, f"{op_name}_{kind}", op_name)


def _along_rows(
    build: PrimFuncBuilder,
    out: Buffer,
    at: int,
    start: PrimExpr,
    element: Element,
    combine: Combine,
    exclusive: bool,
) -> None:
    """The last axis: the running value stays in a register."""
    running = build.alloc_buffer("running", [O.const(1, "int64")], out.dtype)
    with ExitStack() as nest:
        outer = every(build, out.shape[:at], nest, "ax")
        build.store(running, start, [0])
        with build.for_("serial", 0, out.shape[at], "i", "int64") as i:
            place = (*outer, i)
            value = build.let("value", element(place))
            if exclusive:
                build.store(out, running[0], place)
            build.store(running, combine(running[0], value), [0])
            if not exclusive:
                build.store(out, running[0], place)


def _across_rows(
    build: PrimFuncBuilder,
    out: Buffer,
    at: int,
    start: PrimExpr,
    element: Element,
    combine: Combine,
    exclusive: bool,
) -> None:
    """Another axis: a row continues the row before, so that memory is read in order."""
    with ExitStack() as nest:
        outer = every(build, out.shape[:at], nest, "ax")
        with ExitStack() as first:
            inner = every(build, out.shape[at + 1 :], first, "s")
            place = (*outer, O.const(0, "int64"), *inner)
            with build.if_(O.less(0, out.shape[at])):
                build.store(out, start if exclusive else element(place), place)
        count = O.max(O.subtract(out.shape[at], 1), 0)
        i = nest.enter_context(build.for_("serial", 1, count, "i", "int64"))
        inner = every(build, out.shape[at + 1 :], nest, "in")
        place, before = (*outer, i, *inner), (*outer, O.subtract(i, 1), *inner)
        value = element(before if exclusive else place)
        build.store(out, combine(out[before], value), place)


def cumsum(data: Tensor, axis: int | None = None, dtype: object | None = None,
           exclusive: bool | None = None) -> Tensor:  # fmt: skip
    """The running sum."""
    return scanop(data, O.add, 0, "cumsum", axis, dtype, exclusive)


def cumprod(data: Tensor, axis: int | None = None, dtype: object | None = None,
            exclusive: bool | None = None) -> Tensor:  # fmt: skip
    """The running product."""
    return scanop(data, O.multiply, 1, "cumprod", axis, dtype, exclusive)
