"""Legalisation of convolutions and transposed convolutions, in any layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects.relax import layouts
from relax_mlir.lowering.relax_to_tir.rows import legalize


def all_sides(padding: Any, ndim: int) -> list[int]:
    """Padding before each spatial dimension, then after each."""
    pairs = layouts.padding_pairs(padding, ndim)
    return [before for before, _ in pairs] + [after for _, after in pairs]


def in_layout(tensor: te.Tensor, layout: str, wanted: str | None) -> te.Tensor:
    """A result that was computed in one layout, in the one asked for."""
    if wanted is None or wanted == layout:
        return tensor
    return topi.transpose(tensor, [layout.index(letter) for letter in wanted])


def _convolution(ndim: int) -> Callable[..., te.Tensor]:
    def row(
        data: te.Tensor,
        weight: te.Tensor,
        *,
        strides: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str | None,
        out_dtype: str | None,
    ) -> te.Tensor:
        steps = list(layouts.per_dimension(strides, ndim, "strides"))
        spread = list(layouts.per_dimension(dilation, ndim, "dilation"))
        sides = all_sides(padding, ndim)
        out = topi.nn.conv(
            data, weight, steps, sides, spread, groups, data_layout, kernel_layout, out_dtype
        )
        return in_layout(out, data_layout, out_layout)

    return row


def _transposed(ndim: int) -> Callable[..., te.Tensor]:
    def row(
        data: te.Tensor,
        weight: te.Tensor,
        *,
        strides: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str | None,
        out_dtype: str | None,
    ) -> te.Tensor:
        steps = list(layouts.per_dimension(strides, ndim, "strides"))
        spread = list(layouts.per_dimension(dilation, ndim, "dilation"))
        extra = list(layouts.per_dimension(output_padding, ndim, "output_padding"))
        sides = all_sides(padding, ndim)
        out = topi.nn.conv_transpose(
            data, weight, steps, sides, extra, spread, groups, out_dtype, data_layout, kernel_layout
        )
        return in_layout(out, data_layout, out_layout)

    return row


for _ndim in layouts.SPATIAL:
    legalize(f"nn.conv{_ndim}d")(_convolution(_ndim))
    legalize(f"nn.conv{_ndim}d_transpose")(_transposed(_ndim))
