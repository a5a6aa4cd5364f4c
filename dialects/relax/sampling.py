"""Operators that draw from distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import InferError, define
from relax_mlir.mlir import ir


def _multinomial(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    names = ("prob", "uniform_sample", "sample_indices")
    prob, uniform, indices = (
        infer.tensor(kind, what) for kind, what in zip(kinds, names, strict=True)
    )
    infer.require_float(prob, kinds[0])
    infer.require_float(uniform, kinds[1])
    infer.require_integer(indices, kinds[2], "sample_indices")
    for info, kind, what in zip((prob, uniform, indices), kinds, names, strict=True):
        infer.require_rank(info, 2, kind, what)
    for info, kind in ((uniform, kinds[1]), (indices, kinds[2])):
        if info.dims is not None and dim_algebra.differ(info.dims[1], 1):
            raise InferError(f"needs one column, got {types.describe(kind)}")
    if uniform.dims is not None and indices.dims is not None:
        infer.require_same_dims(uniform.dims, indices.dims, kinds[1:])
    return uniform.with_dtype(infer.dtype_attribute(attributes)).to_type()


define(
    "multinomial_from_uniform",
    ["prob", "uniform_sample", "sample_indices"],
    _multinomial,
    {"dtype": "int64"},
    doc="The class that each uniform sample falls into, by the row of prob that its index names.",
)
