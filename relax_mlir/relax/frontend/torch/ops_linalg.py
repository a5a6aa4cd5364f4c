"""Converters for matrix products and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import Converter, Importer, dtype_of


def linear(imp: Importer, x: Any, weight: Any, bias: Any = None) -> Any:
    transposed = weight if imp.ndim(weight) == 1 else imp.emit(imp.op.permute_dims(weight))
    product = imp.op.matmul(x, transposed, out_dtype=dtype_of(x))
    return product if bias is None else imp.op.add(imp.emit(product), bias)


def matmul(imp: Importer, lhs: Any, rhs: Any) -> Any:
    if dtype_of(lhs) != dtype_of(rhs):
        raise Error(f"matrices of {dtype_of(lhs)} and {dtype_of(rhs)} are not multiplied")
    return imp.op.matmul(lhs, rhs, out_dtype=dtype_of(lhs))


def int_mm(imp: Importer, lhs: Any, rhs: Any) -> Any:
    """Bytes times bytes, summed as int32."""
    return imp.op.matmul(lhs, rhs, out_dtype="int32")


def grouped_matmul(imp: Importer, x: Any, weight: Any, ends: Any, *unused: Any, **kw: Any) -> Any:
    """Rows by the matrix of their group: group g has the rows before `ends[g]` that no earlier one
    has; rows behind the last group are zero.  (mixtures of experts, whose experts are the groups)

    x: [rows, inner], weight: [groups, inner, columns], ends: [groups].
    """
    rows, groups = imp.shape_of(x)[0], imp.shape_of(weight)[0]
    numbers = imp.emit(imp.op.arange(imp.relax.PrimValue(rows), dtype="int64"))
    group = imp.emit(imp.op.bucketize(numbers, imp.cast(ends, "int64"), right=True))
    total: Any = None
    for index in range(groups):
        own = imp.emit(imp.op.equal(group, imp.relax.const(index, "int64")))
        column = imp.emit(imp.op.expand_dims(own, -1))
        # A row of zeros has a product of zeros: the sum over the groups is the row's own.
        part = imp.emit(imp.op.where(column, x, imp.scalar_like(0.0, x)))
        matrix = imp.emit(imp.op.take(weight, imp.relax.const(index, "int64"), axis=0))
        product = imp.emit(imp.op.matmul(part, matrix, out_dtype=dtype_of(x)))
        total = product if total is None else imp.emit(imp.op.add(total, product))
    return total


def _scaled(imp: Importer, x: Any, factor: float) -> Any:
    return x if factor == 1 else imp.emit(imp.op.multiply(x, imp.scalar_like(factor, x)))


def addmm(imp: Importer, bias: Any, lhs: Any, rhs: Any, beta: float = 1, alpha: float = 1) -> Any:
    product = _scaled(imp, imp.emit(matmul(imp, lhs, rhs)), alpha)
    if beta == 0:
        return product
    bound = imp.bind(product)
    total = imp.emit(imp.op.add(bound, _scaled(imp, bias, beta)))
    grown = zip(imp.shape_of(total), imp.shape_of(bound), strict=False)
    known = [pair for pair in grown if all(isinstance(size, int) for size in pair)]
    if imp.ndim(total) != imp.ndim(bound) or any(size != own for size, own in known):
        raise Error(f"{imp.shape_of(bias)} cannot be added to {imp.shape_of(bound)}")
    return total


def addbmm(imp: Importer, bias: Any, lhs: Any, rhs: Any, beta: float = 1, alpha: float = 1) -> Any:
    product = imp.emit(matmul(imp, lhs, rhs))
    product = _scaled(imp, imp.emit(imp.op.sum(product, axis=[0])), alpha)
    return product if beta == 0 else imp.op.add(product, _scaled(imp, bias, beta))


def addr(imp: Importer, bias: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> Any:
    product = _scaled(imp, imp.emit(imp.op.outer(a, b)), alpha)
    return product if beta == 0 else imp.op.add(product, _scaled(imp, bias, beta))


def outer(imp: Importer, a: Any, b: Any) -> Any:
    return imp.op.outer(a, b)


def einsum(imp: Importer, equation: str, *operands: Any, path: Any = None, **kw: Any) -> Any:
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return imp.op.einsum(list(operands), equation.replace(" ", ""))


def bilinear(imp: Importer, a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
    """out[..., o] = sum over i, j of a[..., i] weight[o, i, j] b[..., j]."""
    left = imp.emit(imp.op.einsum([a, weight], "...i,oij->...oj"))
    product = imp.emit(imp.op.einsum([left, b], "...oj,...j->...o"))
    return product if bias is None else imp.op.add(product, bias)


def cdist(imp: Importer, a: Any, b: Any, p: float = 2, compute_mode: int | None = None) -> Any:
    """p-norms of all differences: (..., n, m) and (..., k, m) give (..., n, k)."""
    wide = [imp.emit(imp.op.expand_dims(x, [axis])) for x, axis in ((a, -2), (b, -3))]
    return _norm(imp, imp.emit(imp.op.subtract(*wide)), p)


def pdist(imp: Importer, x: Any, p: float = 2) -> Any:
    """The distances of `cdist` of n rows, which must be a number, above the diagonal."""
    rows, columns = np.triu_indices(imp.shape_of(x)[0], 1)
    pair = [imp.emit(imp.op.take(x, imp.relax.const(i), axis=0)) for i in (rows, columns)]
    return _norm(imp, imp.emit(imp.op.subtract(*pair)), p)


def _norm(imp: Importer, x: Any, p: float) -> Any:
    """The p-norm along the last axis; p is 0 (how many are not zero), infinite or between."""
    size = imp.emit(imp.op.abs(x))
    if p == 1 or math.isinf(p):
        return (imp.op.max if math.isinf(p) else imp.op.sum)(size, axis=-1)
    if p == 0:
        apart = imp.emit(imp.op.not_equal(size, imp.scalar_like(0.0, size)))
        return imp.op.sum(imp.cast(apart, dtype_of(x)), axis=-1)
    if p == 2:
        squares = imp.emit(imp.op.multiply(x, x))
        return imp.op.sqrt(imp.emit(imp.op.sum(squares, axis=-1)))
    powers = imp.emit(imp.op.power(size, imp.scalar_like(p, size)))
    total = imp.emit(imp.op.sum(powers, axis=-1))
    return imp.op.power(total, imp.scalar_like(1 / p, total))


CONVERTERS: dict[str, Converter] = {
    "_grouped_mm": grouped_matmul,
    "transformers.grouped_mm_fallback.default": grouped_matmul,
    "cdist": cdist,
    "_cdist_forward": cdist,
    "pdist": pdist,
    "_pdist_forward": pdist,
    "linear": linear,
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot", "vdot", "__matmul__"), matmul),
    "_sparse_mm": matmul,
    "_int_mm": int_mm,
    "addmm": addmm,
    "addmv": addmm,
    "baddbmm": addmm,
    "_sparse_addmm": addmm,
    "addbmm": addbmm,
    "addr": addr,
    "outer": outer,
    "ger": outer,
    "einsum": einsum,
    "bilinear": bilinear,
}
"""By the operator's name without namespace, overload and trailing underscore."""
