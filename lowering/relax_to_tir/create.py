"""Legalisation of operators that make tensors from shapes and scalars."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import Result, legalize
from relax_mlir.topi.common import named


def _filled(value: Any, result: Result) -> te.Tensor:
    if isinstance(value, te.Tensor):
        return named(result.shape, lambda *_: value().astype(result.dtype), "T_full")
    number = getattr(value, "value", value)
    return topi.full(result.shape, result.dtype, number)


@legalize("full", immediate=(1,), result=True)
@legalize("full_like", "full", immediate=(1,), result=True)
def _full(shape: Any, value: Any, *, dtype: str | None, result: Result) -> te.Tensor:
    return _filled(value, result)


@legalize("ones", result=True)
@legalize("ones_like", "ones", result=True)
def _ones(shape: Any, *, dtype: str | None, result: Result) -> te.Tensor:
    return _filled(1, result)


@legalize("zeros", result=True)
@legalize("zeros_like", "zeros", result=True)
def _zeros(shape: Any, *, dtype: str | None, result: Result) -> te.Tensor:
    return _filled(0, result)


@legalize("eye", result=True)
def _eye(n: Any, m: Any, k: Any, *, dtype: str, result: Result) -> te.Tensor:
    return _diagonal(k, result)


@legalize("eye_like", result=True)
def _eye_like(x: te.Tensor, k: Any, *, dtype: str | None, result: Result) -> te.Tensor:
    return _diagonal(k, result)


def _diagonal(k: Any, result: Result) -> te.Tensor:
    offset = te.const(0, "int64") if k is None else k
    one, zero = te.const(1, result.dtype), te.const(0, result.dtype)
    return named(
        result.shape,
        lambda i, j: te.if_then_else((j - i).equal(offset), one, zero),
        "T_eye",
    )


@legalize("arange", result=True)
def _arange(start: Any, end: Any, step: Any, *, dtype: str | None, result: Result) -> te.Tensor:
    if end is None:
        start = te.const(0, start.dtype)
    step = te.const(1, start.dtype) if step is None else step
    first, stride = start.astype(result.dtype), step.astype(result.dtype)
    return named(result.shape, lambda i: first + stride * i.astype(result.dtype), "T_arange")


@legalize("tril")
def _tril(x: te.Tensor, k: Any) -> te.Tensor:
    return topi.tril(x, te.const(0, "int64") if k is None else k)


@legalize("triu")
def _triu(x: te.Tensor, k: Any) -> te.Tensor:
    return topi.triu(x, te.const(0, "int64") if k is None else k)


@legalize("shape_to_tensor", result=True)
def _shape_to_tensor(shape: list[Any], *, result: Result) -> te.Tensor:
    def compute(i: Any) -> Any:
        value = te.const(0, "int64")
        for position in reversed(range(len(shape))):
            here = i.equal(te.const(position, i.dtype))
            value = te.if_then_else(here, shape[position].astype("int64"), value)
        return value

    return te.compute(result.shape, compute, name="shape_to_tensor")


@legalize("size", result=True)
def _size(x: te.Tensor, *, result: Result) -> te.Tensor:
    count = te.const(1, "int64")
    for dim in x.shape:
        count = count * dim
    return te.compute((), lambda: count, name="T_size")


@legalize("hamming_window", result=True)
def _hamming_window(
    size: Any, periodic: Any, alpha: Any, beta: Any, *, dtype: str, result: Result
) -> te.Tensor:
    return topi.hamming_window(size, periodic, alpha, beta, dtype)
