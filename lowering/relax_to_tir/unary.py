"""Legalisation of elementwise operators on one tensor."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import add_rows, legalize

_NAMES = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh exp floor isfinite isinf isnan "
    "log logical_not negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()

add_rows((name, getattr(topi, name), f"tir_{name}") for name in _NAMES)


@legalize("square", "tir_square")
def _square(x: te.Tensor) -> te.Tensor:
    return topi.multiply(x, x)


@legalize("clip", "tir_clip")
def _clip(x: te.Tensor, *, min: Any, max: Any) -> te.Tensor:
    return topi.clip(x, min, max)


@legalize("erf")
def _erf(x: te.Tensor) -> te.Tensor:
    if x.dtype in ("float16", "bfloat16"):
        return topi.cast(topi.erf(topi.cast(x, "float32")), x.dtype)
    return topi.erf(x)
