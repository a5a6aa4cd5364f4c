"""Loops over the rows of a tensor along one axis: the frame of scans, sorts and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr, Var

Row = Callable[[Any], list[Any]]
"""The indices of the element at a position along the axis, in the current row."""


@contextmanager
def rows(
    build: PrimFuncBuilder, shape: Sequence[PrimExpr], axis: int, name: str = "ax"
) -> Iterator[Row]:
    """Loop over all rows along `axis`, the outermost loop in parallel."""
    with ExitStack() as nest:
        outer: list[Var] = []
        for number, size in enumerate(shape):
            if number != axis:
                kind = "serial" if outer else "parallel"
                loop = build.for_(kind, 0, size, f"{name}{number}")
                outer.append(nest.enter_context(loop))
        yield lambda at: [*outer[:axis], at, *outer[axis:]]


@contextmanager
def elements(
    build: PrimFuncBuilder, shape: Sequence[PrimExpr], name: str = "i", parallel: bool = False
) -> Iterator[list[Var]]:
    """Loop over all elements of a shape."""
    with ExitStack() as nest:
        found: list[Var] = []
        for number, size in enumerate(shape):
            kind = "parallel" if parallel and not found else "serial"
            found.append(nest.enter_context(build.for_(kind, 0, size, f"{name}{number}")))
        yield found
