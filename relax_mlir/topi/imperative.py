"""Loops over the lines of a buffer along one axis: the frame of scans, sorts and searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int


@dataclass(frozen=True)
class Line:
    """One line: the indices of the other axes, the axis it runs along, and its size."""

    outer: tuple[Any, ...]
    axis: int
    size: PrimExpr

    def at(self, index: Any) -> tuple[Any, ...]:
        """The indices of an element of the line."""
        return (*self.outer[: self.axis], index, *self.outer[self.axis :])


def lines(build: PrimFuncBuilder, buffer: Buffer, axis: int, body: Callable[[Line], None]) -> None:
    """Write `body` inside loops over all lines of `buffer` along `axis`."""
    at = axis % buffer.ndim
    others = [size for i, size in enumerate(buffer.shape) if i != at]
    with ExitStack() as nest:
        outer = every(build, others, nest, "ax")
        body(Line(outer, at, O.cast("int64", buffer.shape[at])))


def every(
    build: PrimFuncBuilder, shape: Sequence[Any], nest: ExitStack, prefix: str
) -> tuple[PrimExpr, ...]:
    """Enter a loop for each size; returns the loop variables."""
    return tuple(
        nest.enter_context(build.for_("serial", 0, size, f"{prefix}{i}", "int64"))
        for i, size in enumerate(shape)
    )


def flattened(buffer: Buffer, position: Any) -> tuple[Any, ...]:
    """The indices of the element at a position of the flattened buffer."""
    indices: list[Any] = []
    rest = position
    for size in reversed(buffer.shape[1:]):
        # Of an empty buffer nothing is read; a zero only must not divide.
        divisor = O.const(1, "int64") if as_int(size) == 0 else size
        indices.append(O.floormod(rest, divisor))
        rest = O.floordiv(rest, divisor)
    return tuple(reversed([*indices, rest] if buffer.ndim else indices))


def copy(build: PrimFuncBuilder, source: Buffer, target: Buffer) -> None:
    """Write loops that copy one buffer to another of the same shape."""
    with ExitStack() as nest:
        place = every(build, source.shape, nest, "c")
        build.store(target, source[place], place)
