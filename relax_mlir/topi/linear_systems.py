"""Factors of matrices, and systems of equations with triangular ones; leading axes are batches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.topi.imperative import every

__all__ = ["cholesky", "triangular_solve"]


def cholesky(x: Tensor, lower: bool = True) -> Tensor:
    """The lower triangular L with L L^T = x, or the upper U with U^T U = x; only that triangle of x
    is read.  Where x is not positive definite the result has NaN."""
    size = x.shape[-1]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, out = ins[0], outs[0]
        with ExitStack() as nest:
            batch = every(build, x.shape[:-2], nest, "b")
            column, row = every(build, (size, size), nest, "i")

            def at(i: Any, j: Any) -> tuple[Any, ...]:
                return (*batch, i, j) if lower else (*batch, j, i)

            here, pivot = at(row, column), at(column, column)
            build.store(out, O.const(0.0, x.dtype), here)
            with build.if_(O.greater_equal(row, column)):
                build.store(out, source[here], here)
                with build.for_("serial", 0, column, "k", "int64") as k:
                    product = O.multiply(out[at(row, k)], out[at(column, k)])
                    build.store(out, O.subtract(out[here], product), here)
                with build.if_(O.equal(row, column)):
                    build.store(out, I.sqrt(out[here]), here)
                with build.if_(O.greater(row, column)):
                    build.store(out, O.div(out[here], out[pivot]), here)

    return imperative([(x.shape, x.dtype)], [x], emit, "cholesky", "cholesky")


def triangular_solve(
    a: Tensor,
    b: Tensor,
    left_side: bool = True,
    lower: bool = True,
    unit_diagonal: bool = False,
    transposed: bool = False,
) -> Tensor:
    """The x with a x = b, or x a = b where not `left_side`, for a triangular a (or its transpose).

    Only the triangle of `a` is read, without its diagonal where that is ones.
    """
    size, others = a.shape[-1], b.shape[-1 if left_side else -2]
    ascending = (lower != transposed) == left_side

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        matrix, right, out = *ins, outs[0]
        with ExitStack() as nest:
            batch = every(build, a.shape[:-2], nest, "b")
            other, step = every(build, (others, size), nest, "i")

            def ordered(number: Any) -> Any:
                return number if ascending else O.subtract(O.subtract(size, 1), number)

            def at(unknown: Any) -> tuple[Any, ...]:
                return (*batch, unknown, other) if left_side else (*batch, other, unknown)

            def factor(equation: Any, unknown: Any) -> Any:
                swapped = transposed == left_side
                place = (unknown, equation) if swapped else (equation, unknown)
                return matrix[(*batch, *place)]

            row = ordered(step)
            build.store(out, right[at(row)], at(row))
            with build.for_("serial", 0, step, "k", "int64") as k:
                product = O.multiply(factor(row, ordered(k)), out[at(ordered(k))])
                build.store(out, O.subtract(out[at(row)], product), at(row))
            if not unit_diagonal:
                build.store(out, O.div(out[at(row)], factor(row, row)), at(row))

    return imperative([(b.shape, b.dtype)], [a, b], emit, "triangular_solve", "triangular_solve")
