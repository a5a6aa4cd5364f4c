"""Loops over the lines of a buffer along one dimension, for rows written as statements."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from relax_mlir.lowering.relax_to_tir.rows import is_zero
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.operators import const


@dataclass(frozen=True)
class Lines:
    """One line: the indices of the other dimensions, and the dimension it runs along."""

    outer: tuple[Any, ...]
    axis: int
    size: PrimExpr

    def at(self, index: Any) -> tuple[Any, ...]:
        """The indices of an element of the line."""
        return (*self.outer[: self.axis], index, *self.outer[self.axis :])


def lines(build: PrimFuncBuilder, buffer: Buffer, axis: int, body: Callable[[Lines], None]) -> None:
    """Write `body` inside loops over all lines of `buffer` along `axis`."""
    at = axis % buffer.ndim
    others = [size for i, size in enumerate(buffer.shape) if i != at]
    with ExitStack() as nest:
        outer = every(build, others, nest, "ax")
        body(Lines(outer, at, buffer.shape[at]))


def every(build: PrimFuncBuilder, shape: Any, nest: ExitStack, prefix: str) -> tuple[PrimExpr, ...]:
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
        divisor = const(1, "int64") if is_zero(size) else size
        indices.append(rest % divisor)
        rest = rest // divisor
    return tuple(reversed([*indices, rest] if buffer.ndim else indices))
