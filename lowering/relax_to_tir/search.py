"""Legalisation of where, argmax, argmin and bucketize."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row, legalize

ROWS["where"] = Row("where", topi.where)
ROWS["argmax"] = Row("argmax", topi.argmax)
ROWS["argmin"] = Row("argmin", topi.argmin)


@legalize("bucketize", "searchsorted")
def _bucketize(
    values: te.Tensor, boundaries: te.Tensor, *, out_int32: bool, right: bool
) -> te.Tensor:
    """The number of boundaries below a value (or equal to it, with right)."""
    dtype = "int32" if out_int32 else "int64"
    k = te.reduce_axis((0, boundaries.shape[0]), name="k")

    def compute(*indices: Any) -> Any:
        value = values(*indices)
        passed = boundaries(k) <= value if right else boundaries(k) < value
        return te.sum(passed.astype(dtype), axis=k)

    return te.compute(values.shape, compute, name="searchsorted")
