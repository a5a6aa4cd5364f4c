"""Operators that choose or look up: where, argmax, argmin, bucketize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax import infer
from relax_mlir.dialects.relax.spec import InferError, define
from relax_mlir.dialects.relax.statistical import reduced
from relax_mlir.mlir import ir


def _where(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    condition, x1, x2 = (
        infer.tensor_or_scalar(kind, what)
        for kind, what in zip(kinds, ("condition", "x1", "x2"), strict=True)
    )
    if condition.dtype not in (None, "bool"):
        raise InferError(f"condition must be bool, got {infer.types.describe(kinds[0])}")
    dtype = infer.same_dtype([x1, x2], kinds[1:])
    branches = infer.broadcast(x1, x2, kinds[1:])
    return infer.broadcast(condition, branches, kinds).with_dtype(dtype).to_type()


def _arg(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    axis = attributes["axis"]
    if axis is not None and not isinstance(axis, int):
        raise InferError(f"axis must be one integer or None, got {axis}")
    info = reduced(infer.tensor(kinds[0]), axis, attributes["keepdims"])
    return info.with_dtype("int64").to_type()


def _bucketize(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    values, boundaries = infer.tensor(kinds[0], "input_tensor"), infer.tensor(kinds[1])
    infer.require_rank(boundaries, 1, kinds[1], "boundaries")
    infer.same_dtype([values, boundaries], kinds)
    return values.with_dtype("int32" if attributes["out_int32"] else "int64").to_type()


define(
    "where",
    ["condition", "x1", "x2"],
    _where,
    doc="x1 where the bool condition holds, x2 elsewhere; the three broadcast.",
)
for _name in ("argmax", "argmin"):
    define(
        _name,
        ["x"],
        _arg,
        {"axis": None, "keepdims": False},
        doc=f"The int64 index of the {_name[3:]}imum; of the flattened tensor without an axis.",
    )
define(
    "bucketize",
    ["input_tensor", "boundaries"],
    _bucketize,
    {"out_int32": False, "right": False},
    doc="The index of the bucket, between sorted boundaries, that each value falls into.",
)
