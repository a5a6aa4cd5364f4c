"""Resizing images, and sampling them at coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from relax_mlir.relax.torch_functions.convolution import SPATIAL, moved

__all__ = ["IMAGE"]

ROUNDINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "": lambda x: torch.floor(x + 0.5),
    "round": lambda x: torch.floor(x + 0.5),
    "round_prefer_floor": lambda x: torch.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: torch.floor(x + 0.5),
    "floor": torch.floor,
    "ceil": torch.ceil,
}


def _source(size: int, wanted: int, mode: str) -> Tensor:
    """The coordinates in the data of the indices of the result."""
    at = torch.arange(wanted, dtype=torch.float32)
    if mode == "align_corners":
        return at * ((size - 1) / max(wanted - 1, 1))
    if mode == "asymmetric":
        return at * (size / wanted)
    if mode == "pytorch_half_pixel" and wanted == 1:
        return torch.zeros(1)
    return (at + 0.5) * (size / wanted) - 0.5


def _cubic(t: Tensor, a: float) -> list[Tensor]:
    """The weights of four neighbours (Keys 1981)."""
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (1 + t, 2 - t)]
    return [far[0], *near, far[1]]


def _resampled(x: Tensor, axis: int, wanted: int, method: str, mode: str, **rest: Any) -> Tensor:
    """Data resized along one axis; the last one of the result holds its new positions."""
    size = x.shape[axis]
    at = _source(size, wanted, mode)
    low = torch.floor(at)
    if method == "nearest_neighbor":
        places, weights = [ROUNDINGS[rest["rounding_method"]](at)], [torch.ones(wanted)]
    elif method == "linear":
        places, weights = [low, low + 1], [1 - (at - low), at - low]
    else:
        places = [low + tap for tap in (-1, 0, 1, 2)]
        weights = _cubic(at - low, rest["cubic_alpha"])
    rows = x.movedim(axis, -1)
    parts = [
        rows[..., place.to(torch.int64).clamp(0, size - 1)] * weight
        for place, weight in zip(places, weights, strict=True)
    ]
    return torch.stack(parts).sum(0).movedim(-1, axis)


def _resize(ndim: int) -> Callable[..., Tensor]:
    inner = f"NC{SPATIAL[ndim]}"

    def resize(
        data: Tensor,
        size: tuple[int, ...],
        *,
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        **rest: Any,
    ) -> Tensor:
        x = moved(data, layout, inner).to(torch.float32)
        for axis, wanted in enumerate(size, start=2):
            x = _resampled(x, axis, wanted, method, coordinate_transformation_mode, **rest)
        return moved(x, inner, layout)

    return resize


def _affine_grid(matrices: Tensor, size: tuple[int, ...], *, align_corners: bool) -> Tensor:
    full = [matrices.shape[0], 1, *size]
    return F.affine_grid(matrices, full, align_corners).movedim(-1, 1)


def _grid_sample(
    data: Tensor, grid: Tensor, *, method: str, layout: str, padding_mode: str, align_corners: bool
) -> Tensor:
    inner = f"NC{SPATIAL[data.ndim - 2]}"
    x = moved(data, layout, inner)
    made = F.grid_sample(x, grid.movedim(1, -1), method, padding_mode, align_corners)
    return moved(made, inner, layout)


IMAGE: dict[str, Callable[..., Any]] = {
    "image.resize2d": _resize(2),
    "image.resize3d": _resize(3),
    "image.affine_grid": _affine_grid,
    "image.grid_sample": _grid_sample,
}
