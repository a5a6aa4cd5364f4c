"""Elementwise operators on two tensors with numpy broadcasting; both have one dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import infer
from relax_mlir.dialects.relax.spec import Infer, InferError, define
from relax_mlir.mlir import ir


def _operands(kinds: Sequence[ir.Type]) -> tuple[infer.TensorInfo, str | None]:
    lhs, rhs = infer.tensor_or_scalar(kinds[0], "lhs"), infer.tensor_or_scalar(kinds[1], "rhs")
    dtype = infer.same_dtype([lhs, rhs], kinds)
    return infer.broadcast(lhs, rhs, kinds), dtype


def _arithmetic(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info, dtype = _operands(kinds)
    return info.with_dtype(dtype).to_type()


def _float(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info, dtype = _operands(kinds)
    infer.require_float(info.with_dtype(dtype), kinds[0])
    return info.with_dtype(dtype).to_type()


def _compare(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    return _operands(kinds)[0].with_dtype("bool").to_type()


def _logical(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info, dtype = _operands(kinds)
    if dtype not in (None, "bool"):
        raise InferError(f"needs bool tensors, got {infer.types.describe(kinds[0])}")
    return info.with_dtype("bool").to_type()


def _bitwise(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info, dtype = _operands(kinds)
    if dtype is not None and dtypes.is_float(dtype):
        raise InferError(f"needs integer or bool tensors, got {infer.types.describe(kinds[0])}")
    return info.with_dtype(dtype).to_type()


ARITHMETIC = "add subtract multiply divide floor_divide mod floor_mod power maximum minimum".split()
COMPARISONS = "equal not_equal greater greater_equal less less_equal".split()
FAMILIES: tuple[tuple[Sequence[str], Infer], ...] = (
    (ARITHMETIC, _arithmetic),
    (("atan2", "log_add_exp"), _float),
    (COMPARISONS, _compare),
    (("logical_and", "logical_or", "logical_xor"), _logical),
    (("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"), _bitwise),
)

for _names, _infer in FAMILIES:
    for _name in _names:
        define(_name, ["x1", "x2"], _infer, doc=f"Elementwise {_name} with broadcasting.")
