"""Matrix products of layers: dense, matmul with bias, batch_matmul."""

from __future__ import annotations

from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.broadcast import add
from relax_mlir.topi.common import as_int, same_size
from relax_mlir.topi.elemwise import cast
from relax_mlir.topi.transform import flatten_from


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: object | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Tensor:
    """The product of a (batched) left operand and a matrix, plus a bias; in `out_dtype`."""
    dtype = tensor_a.dtype if out_dtype in (None, "") else out_dtype
    *batch, rows, inner = tensor_a.shape
    if transpose_a:
        rows, inner = inner, rows
    columns, other = tensor_b.shape if transpose_b else tensor_b.shape[::-1]
    _check_inner(inner, other, "matmul")
    k = reduce_axis((0, inner), "k")

    def body(*i: Any) -> PrimExpr:
        *head, row, column = i
        left = tensor_a(*head, k, row) if transpose_a else tensor_a(*head, row, k)
        right = tensor_b(column, k) if transpose_b else tensor_b(k, column)
        return te_sum(O.multiply(O.cast(dtype, left), O.cast(dtype, right)), axis=k)

    name = f"T_matmul_{'NT'[transpose_a]}{'NT'[transpose_b]}"
    product = compute([*batch, rows, columns], body, name, "dense" if transpose_b else "matmul")
    return product if bias is None else add(product, cast(bias, dtype))


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: object | None = None,
) -> Tensor:
    """`data @ weight.T + bias`."""
    return matmul(data, weight, bias, out_dtype, transpose_b=True)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: object | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """The product of three-dimensional operands; a batch of one is stretched."""
    del oshape
    dtype = tensor_a.dtype if out_dtype in (None, "") else out_dtype
    batch_a, rows, inner = tensor_a.shape
    batch_b, columns, other = tensor_b.shape
    if transpose_a:
        rows, inner = inner, rows
    if not transpose_b:
        columns, other = other, columns
    _check_inner(inner, other, "batch_matmul")
    batch = batch_b if as_int(batch_a) == 1 else batch_a
    k = reduce_axis((0, inner), "k")

    def body(b: Any, i: Any, j: Any) -> PrimExpr:
        at_a = O.const(0) if as_int(batch_a) == 1 else b
        at_b = O.const(0) if as_int(batch_b) == 1 else b
        left = tensor_a(at_a, k, i) if transpose_a else tensor_a(at_a, i, k)
        right = tensor_b(at_b, j, k) if transpose_b else tensor_b(at_b, k, j)
        return te_sum(O.multiply(O.cast(dtype, left), O.cast(dtype, right)), axis=k)

    name = f"T_batch_matmul_{'NT'[transpose_a]}{'NT'[transpose_b]}"
    return compute([batch, rows, columns], body, name, "batch_matmul")


def flatten(data: Tensor) -> Tensor:
    """All axes but the first as one."""
    return flatten_from(data, 1)


def _check_inner(a: PrimExpr, b: PrimExpr, what: str) -> None:
    if as_int(a) is not None and as_int(b) is not None and not same_size(a, b):
        raise Error(f"{what}: contracted sizes differ, {a} and {b}")
