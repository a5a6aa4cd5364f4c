"""Converters for matrix products and what is made of them."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.torch.importer import Converter, Importer, dtype_of


def linear(imp: Importer, x: Any, weight: Any, bias: Any = None) -> Any:
    transposed = weight if imp.ndim(weight) == 1 else imp.emit(imp.op.permute_dims(weight))
    product = imp.op.matmul(x, transposed, out_dtype=dtype_of(x))
    return product if bias is None else imp.op.add(imp.emit(product), bias)


def matmul(imp: Importer, lhs: Any, rhs: Any) -> Any:
    return imp.op.matmul(lhs, rhs, out_dtype=dtype_of(lhs))


def int_mm(imp: Importer, lhs: Any, rhs: Any) -> Any:
    """Bytes times bytes, summed as int32."""
    return imp.op.matmul(lhs, rhs, out_dtype="int32")


def _scaled(imp: Importer, x: Any, factor: float) -> Any:
    return x if factor == 1 else imp.emit(imp.op.multiply(x, imp.scalar_like(factor, x)))


def addmm(imp: Importer, bias: Any, lhs: Any, rhs: Any, beta: float = 1, alpha: float = 1) -> Any:
    product = _scaled(imp, imp.emit(matmul(imp, lhs, rhs)), alpha)
    return product if beta == 0 else imp.op.add(product, _scaled(imp, bias, beta))


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


CONVERTERS: dict[str, Converter] = {
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
