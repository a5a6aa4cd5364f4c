"""The loops of kernels that work on the lines of a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import product, unravel
from relax_mlir.topi.imperative import Line

THREADS = 256
"""Of a block."""


@contextmanager
def bound(build: PrimFuncBuilder, axis: str, extent: Any) -> Iterator[PrimExpr]:
    """A loop bound to a thread axis."""
    name = "b" if axis.startswith("blockIdx") else "t"
    with build.for_("thread_binding", 0, extent, name, "int64", thread=axis) as variable:
        yield variable


def line_count(shape: Sequence[Any], axis: int) -> PrimExpr:
    """How many lines along an axis there are."""
    return product([O.cast("int64", size) for n, size in enumerate(shape) if n != axis])


def line_at(data: Tensor | Any, axis: int, number: PrimExpr) -> Line:
    """The line of a number, in row-major order of the other axes."""
    others = [size for n, size in enumerate(data.shape) if n != axis]
    outer = unravel(number, others) if others else []
    return Line(tuple(outer), axis, O.cast("int64", data.shape[axis]))


@contextmanager
def shares(
    build: PrimFuncBuilder, thread: PrimExpr, threads: int, count: Any
) -> Iterator[PrimExpr]:
    """The elements of `count` that a thread takes, every `threads`-th; all threads take as many
    steps, those beyond the last element do nothing in them."""
    count = O.cast("int64", count)
    steps = O.floordiv(O.add(count, threads - 1), threads)
    with build.for_("serial", 0, steps, "step", "int64") as step:
        element = O.add(O.multiply(step, threads), thread)
        with build.if_(O.less(element, count)):
            yield element
