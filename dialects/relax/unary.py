"""Elementwise operators on one tensor: the result has the operand's shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import infer
from relax_mlir.dialects.relax.spec import REQUIRED, Infer, InferError, define
from relax_mlir.mlir import ir


def _same(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    return infer.tensor(kinds[0]).to_type()


def _float(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    infer.require_float(info, kinds[0])
    return info.to_type()


def _integer(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    if info.dtype is not None and dtypes.is_float(info.dtype):
        raise InferError(f"needs an integer or bool tensor, got {infer.types.describe(kinds[0])}")
    return info.to_type()


def _bool(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    if info.dtype not in (None, "bool"):
        raise InferError(f"needs a bool tensor, got {infer.types.describe(kinds[0])}")
    return info.with_dtype("bool").to_type()


def _predicate(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    return infer.tensor(kinds[0]).with_dtype("bool").to_type()


FLOAT = (
    "acos acosh asin asinh atan atanh cos cosh erf exp log rsqrt sigmoid sin sinh sqrt tan tanh"
).split()
ANY = "abs ceil floor negative round sign square trunc".split()
PREDICATES = "isfinite isinf isnan".split()
FAMILIES: tuple[tuple[Sequence[str], Infer], ...] = (
    (FLOAT, _float),
    (ANY, _same),
    (("bitwise_not",), _integer),
    (("logical_not",), _bool),
    (PREDICATES, _predicate),
)

for _names, _infer in FAMILIES:
    for _name in _names:
        define(_name, ["x"], _infer, doc=f"Elementwise {_name} of a tensor of any shape.")

define(
    "clip",
    ["x"],
    _same,
    {"min": REQUIRED, "max": REQUIRED},
    doc="Limit every element to [min, max].",
)
