"""Legalisation of pooling, in any layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects.relax import layouts
from relax_mlir.lowering.relax_to_tir.convolution import all_sides, in_layout
from relax_mlir.lowering.relax_to_tir.rows import legalize
from relax_mlir.lowering.relax_to_tir.statistical import mean

_POOLS = {1: topi.nn.pool1d, 2: topi.nn.pool2d, 3: topi.nn.pool3d}
_ADAPTIVE = {1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d}


def _pool(ndim: int, kind: str) -> Callable[..., te.Tensor]:
    def row(
        x: te.Tensor,
        *,
        pool_size: Any,
        strides: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        layout: str,
        out_layout: str | None,
    ) -> te.Tensor:
        numbers = (("pool_size", pool_size), ("strides", strides), ("dilation", dilation))
        window, steps, spread = (
            list(layouts.per_dimension(value, ndim, name)) for name, value in numbers
        )
        sides = all_sides(padding, ndim)
        out = _POOLS[ndim](
            x, window, steps, spread, sides, kind, ceil_mode, layout, count_include_pad
        )
        return in_layout(out, layout, out_layout)

    return row


def _adaptive(ndim: int) -> Callable[..., te.Tensor]:
    def row(x: te.Tensor, *, output_size: Any, layout: str, out_layout: str | None) -> te.Tensor:
        if output_size is None:
            return in_layout(topi.identity(x), layout, out_layout)
        wanted = list(layouts.per_dimension(output_size, ndim, "output_size"))
        if all(size == 1 for size in wanted):
            axes = [i for i, letter in enumerate(layout) if letter in layouts.SPATIAL[ndim]]
            return in_layout(mean(x, axis=axes, keepdims=True), layout, out_layout)
        return in_layout(_ADAPTIVE[ndim](x, wanted, "avg", layout), layout, out_layout)

    return row


for _ndim in layouts.SPATIAL:
    for _kind in ("max", "avg"):
        legalize(f"nn.{_kind}_pool{_ndim}d")(_pool(_ndim, _kind))
    legalize(f"nn.adaptive_avg_pool{_ndim}d")(_adaptive(_ndim))
