"""Cumulative operators along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import normalize_axis, product
from relax_mlir.topi.imperative import rows
from relax_mlir.topi.transform import reshape


def scanop(
    data: Tensor,
    binop: Callable[[Any, Any], PrimExpr],
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: object | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The running combination of elements along an axis (of the flat tensor by default).

    exclusive: element i combines those before it, starting from the identity.
    """
    if axis is None:
        data, axis = reshape(data, [product(data.shape)]), 0
    axis = normalize_axis(axis, data.ndim)
    target = data.dtype if dtype in (None, "", "void") else dtype
    start = O.cast(target, identity_value)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        (source,), (result,) = ins, outs
        with rows(build, data.shape, axis) as row, build.block(f"{op_name}_row"):
            running = build.alloc_buffer("running", [1], result.dtype, "local")
            build.store(running, start, [0])
            with build.for_("serial", 0, data.shape[axis], "k") as k:
                if exclusive:
                    build.store(result, running[0], row(k))
                value = O.cast(target, source[tuple(row(k))])
                build.store(running, binop(running[0], value), [0])
                if not exclusive:
                    build.store(result, running[0], row(k))

    return imperative([(data.shape, target)], [data], emit, f"{op_name}_generic", op_name)


def cumsum(data: Tensor, axis: int | None = None, dtype: object | None = None,
           exclusive: bool | None = None) -> Tensor:  # fmt: skip
    """The running sum."""
    return scanop(data, O.add, 0, "cumsum", axis, dtype, exclusive)


def cumprod(data: Tensor, axis: int | None = None, dtype: object | None = None,
            exclusive: bool | None = None) -> Tensor:  # fmt: skip
    """The running product."""
    return scanop(data, O.multiply, 1, "cumprod", axis, dtype, exclusive)
