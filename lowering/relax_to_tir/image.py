"""Legalisation of resize2d, resize3d, affine_grid and grid_sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import legalize


def _resize(function: Callable[..., te.Tensor]) -> Callable[..., te.Tensor]:
    def row(
        x: te.Tensor,
        size: Any,
        *,
        roi: Any,
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        rounding_method: str,
        cubic_alpha: float,
        cubic_exclude: int,
        extrapolation_value: float,
        out_dtype: str | None,
    ) -> te.Tensor:
        return function(
            x, roi, size, layout, method, coordinate_transformation_mode, rounding_method,
            cubic_alpha, cubic_exclude, extrapolation_value, out_dtype,
        )  # fmt: skip

    return row


legalize("image.resize2d")(_resize(topi.image.resize2d))
legalize("image.resize3d")(_resize(topi.image.resize3d))


@legalize("image.affine_grid")
def _affine_grid(matrices: te.Tensor, size: Any, *, align_corners: bool) -> te.Tensor:
    return topi.image.affine_grid(matrices, size, align_corners)


@legalize("image.grid_sample")
def _grid_sample(
    data: te.Tensor,
    grid: te.Tensor,
    *,
    method: str,
    layout: str,
    padding_mode: str,
    align_corners: bool,
) -> te.Tensor:
    return topi.image.grid_sample(data, grid, method, layout, padding_mode, align_corners)
