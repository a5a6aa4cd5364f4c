"""Elementwise operators on three tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax import infer
from relax_mlir.dialects.relax.spec import define
from relax_mlir.mlir import ir


def _fma(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    infos = [infer.tensor(kind) for kind in kinds]
    dtype = infer.same_dtype(infos, kinds)
    ndim = next((info.ndim for info in infos if info.ndim >= 0), -1)
    shaped = [(info.dims, kind) for info, kind in zip(infos, kinds, strict=True) if info.dims]
    for dims, kind in shaped[1:]:
        infer.require_same_dims(shaped[0][0], dims, [shaped[0][1], kind])
    dims = next((info.dims for info in infos if info.dims is not None), None)
    return infos[0].with_dims(dims, ndim).with_dtype(dtype).to_type()


define("ewise_fma", ["x1", "x2", "x3"], _fma, doc="x1 * x2 + x3 on tensors of one shape.")
