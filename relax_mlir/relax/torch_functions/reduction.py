"""Reductions, scans, and where extremes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from relax_mlir.relax.torch_functions.dtypes import torch_dtype
from relax_mlir.relax.torch_functions.rearrange import axes_of

__all__ = ["REDUCTION"]

Axis = int | Sequence[int] | None


def _over(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A row of a torch function that takes several dimensions."""

    def reduce(x: Tensor, *, axis: Axis, keepdims: bool) -> Tensor:
        return function(x, axes_of(axis, x.ndim), keepdims) if x.ndim else x.clone()

    return reduce


def _prod(x: Tensor, *, axis: Axis, keepdims: bool) -> Tensor:
    for dim in sorted(axes_of(axis, x.ndim), reverse=True):
        x = torch.prod(x, dim, keepdim=keepdims)
    return x


def _variance(x: Tensor, axes: list[int], keepdims: bool) -> Tensor:
    return torch.var(x, axes, correction=0, keepdim=keepdims)


def _median(x: Tensor, *, axis: Axis, keepdims: bool) -> Tensor | tuple[Tensor, Tensor]:
    if axis is None or axis == []:
        middle = torch.median(x)
        return middle.reshape([1] * x.ndim) if keepdims else middle
    found = torch.median(x, axes_of(axis, x.ndim)[0], keepdim=keepdims)
    return found.values, found.indices


def _scan(function: Callable[..., Tensor], start: int) -> Callable[..., Tensor]:
    def scan(x: Tensor, *, axis: int | None, dtype: str | None, exclusive: bool) -> Tensor:
        kind = x.dtype if dtype in (None, "", "void") else torch_dtype(dtype)
        data, at = (x.flatten(), 0) if axis is None else (x, axis)
        done = function(data, at, dtype=kind)
        if not exclusive or not done.shape[at]:
            return done
        first = torch.full_like(done.narrow(at, 0, 1), start)
        return torch.cat([first, done.narrow(at, 0, done.shape[at] - 1)], at)

    return scan


def _position(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def find(x: Tensor, *, axis: int | None, keepdims: bool) -> Tensor:
        values = x.to(torch.uint8) if x.dtype == torch.bool else x
        return function(values, axis, keepdim=keepdims)

    return find


REDUCTION: dict[str, Callable[..., Any]] = {
    "sum": _over(torch.sum),
    "mean": _over(torch.mean),
    "max": _over(torch.amax),
    "min": _over(torch.amin),
    "prod": _prod,
    "variance": _over(_variance),
    "std": _over(lambda x, axes, keepdims: torch.sqrt(_variance(x, axes, keepdims))),
    "median": _median,
    "cumsum": _scan(torch.cumsum, 0),
    "cumprod": _scan(torch.cumprod, 1),
    "argmax": _position(torch.argmax),
    "argmin": _position(torch.argmin),
}
