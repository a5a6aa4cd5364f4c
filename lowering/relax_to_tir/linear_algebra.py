"""Legalisation of matmul, einsum and outer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects.relax.spec import NO_DTYPE
from relax_mlir.lowering.relax_to_tir.rows import Result, is_one, is_zero, legalize


@legalize("matmul", result=True)
def _matmul(a: te.Tensor, b: te.Tensor, *, out_dtype: str | None, result: Result) -> te.Tensor:
    depth = a.shape[-1]
    if is_zero(depth):
        return te.compute(result.shape, lambda *_: te.const(0, result.dtype), name="matmul")
    cast = out_dtype not in NO_DTYPE

    def compute(*indices: Any) -> Any:
        k = te.reduce_axis((0, depth), name="k")
        columns = indices[len(indices) - (b.ndim > 1) :]
        rest = indices[: len(indices) - len(columns)]
        rows = rest[len(rest) - (a.ndim > 1) :]
        batch = rest[: len(rest) - len(rows)]
        left = a(*_batch(a, batch), *rows, k)
        right = b(*_batch(b, batch), k, *columns)
        if cast:
            left, right = left.astype(out_dtype), right.astype(out_dtype)
        return te.sum(left * right, axis=k)

    return te.compute(result.shape, compute, name="matmul")


def _batch(tensor: te.Tensor, indices: Sequence[Any]) -> list[Any]:
    """The batch indices of an operand: the last ones, zero where its size is one."""
    sizes = tensor.shape[:-2]
    own = indices[len(indices) - len(sizes) :]
    return [0 if is_one(size) else i for size, i in zip(sizes, own, strict=True)]


@legalize("outer")
def _outer(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    return te.compute((a.shape[0], b.shape[0]), lambda i, j: a[i] * b[j], name="outer")


@legalize("einsum")
def _einsum(operands: Sequence[te.Tensor], *, subscripts: str) -> te.Tensor:
    return topi.einsum(subscripts, *operands)
