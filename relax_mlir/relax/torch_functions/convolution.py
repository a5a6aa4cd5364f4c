"""Convolutions and pooling in any layout of plain letters: moved to torch's and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from relax_mlir.errors import Error
from relax_mlir.relax.torch_functions.dtypes import torch_dtype

__all__ = ["CONVOLUTION"]

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def moved(x: Tensor, source: str, wanted: str) -> Tensor:
    """A tensor of layout `source` as one of layout `wanted`.  Raises Error for packed layouts."""
    if sorted(source) != sorted(wanted):
        raise Error(f"torch has no counterpart of the layout {source}")
    return x.permute([source.index(letter) for letter in wanted])


def _padded(x: Tensor, sides: Sequence[tuple[int, int]], value: float) -> Tensor:
    return F.pad(x, [width for pair in reversed(sides) for width in pair], value=value)


def _each(values: Any, ndim: int) -> list[int]:
    given = [values] if isinstance(values, int) else list(values)
    return given * ndim if len(given) == 1 else given


def _sides(padding: int | Sequence[int], ndim: int) -> list[tuple[int, int]]:
    """(before, after) an axis: one number an axis, or all before and then all after."""
    given = _each(padding, ndim)
    after = given[ndim:] or given
    return list(zip(given[:ndim], after, strict=True))


def _convolution(ndim: int) -> Callable[..., Tensor]:
    function: Any = getattr(F, f"conv{ndim}d")
    inner, kernel = f"NC{SPATIAL[ndim]}", f"OI{SPATIAL[ndim]}"

    def convolve(
        data: Tensor,
        weight: Tensor,
        *,
        strides: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str | None,
        out_dtype: str | None,
    ) -> Tensor:
        x, w = moved(data, data_layout, inner), moved(weight, kernel_layout, kernel)
        if out_dtype not in (None, "", "void"):
            x, w = x.to(torch_dtype(out_dtype)), w.to(torch_dtype(out_dtype))
        x = _padded(x, _sides(padding, ndim), 0.0)
        steps, spread = _each(strides, ndim), _each(dilation, ndim)
        made = function(x, w, stride=steps, dilation=spread, groups=groups)
        return moved(made, inner, out_layout or data_layout)

    return convolve


def _transposed(ndim: int) -> Callable[..., Tensor]:
    function: Any = getattr(F, f"conv_transpose{ndim}d")
    inner, kernel = f"NC{SPATIAL[ndim]}", f"IO{SPATIAL[ndim]}"

    def convolve(
        data: Tensor,
        weight: Tensor,
        *,
        strides: int | Sequence[int],
        padding: int | Sequence[int],
        output_padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str | None,
        out_dtype: str | None,
    ) -> Tensor:
        x, w = moved(data, data_layout, inner), moved(weight, kernel_layout, kernel)
        full = function(
            x, w, stride=_each(strides, ndim), dilation=_each(dilation, ndim), groups=groups
        )
        grown = _padded(full, [(0, extra) for extra in _each(output_padding, ndim)], 0.0)
        for axis, (before, after) in enumerate(_sides(padding, ndim), start=2):
            grown = grown.narrow(axis, before, grown.shape[axis] - before - after)
        return moved(grown, inner, out_layout or data_layout)

    return convolve


@dataclass(frozen=True)
class _Window:
    """The windows that pooling looks through."""

    size: list[int]
    steps: list[int]
    spread: list[int]
    ceil_mode: bool

    def over(self, x: Tensor, sides: Sequence[tuple[int, int]], value: float) -> Tensor:
        """(batch, channels, windows ..., elements of a window), padded with `value`."""
        ndim = len(self.size)
        counts: list[int] = []
        wide: list[tuple[int, int]] = []
        for i, (before, after) in enumerate(sides):
            length, reach = x.shape[2 + i], (self.size[i] - 1) * self.spread[i] + 1
            count = self._count(length, before, after, reach, self.steps[i])
            counts.append(count)
            end = (count - 1) * self.steps[i] + reach
            wide.append((before, max(after, end - length - before)))
        padded = _padded(x, wide, value)
        for i, count in enumerate(counts):
            first = torch.arange(count)[:, None] * self.steps[i]
            within = torch.arange(self.size[i])[None] * self.spread[i]
            rows = padded.index_select(2 + 2 * i, (first + within).flatten())
            padded = rows.unflatten(2 + 2 * i, (count, self.size[i]))
        order = [0, 1, *range(2, 2 + 2 * ndim, 2), *range(3, 3 + 2 * ndim, 2)]
        return padded.permute(order).flatten(2 + ndim)

    def _count(self, length: int, before: int, after: int, reach: int, step: int) -> int:
        room = length + before + after - reach
        if not self.ceil_mode:
            return room // step + 1
        count = -(-room // step) + 1
        # No window starts behind the data.
        return count - 1 if (count - 1) * step >= length + before else count


def _pool(kind: str, ndim: int) -> Callable[..., Tensor]:
    inner = f"NC{SPATIAL[ndim]}"

    def pool(
        data: Tensor,
        *,
        pool_size: Sequence[int],
        strides: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        layout: str,
        out_layout: str | None,
    ) -> Tensor:
        x = moved(data, layout, inner)
        size, steps, spread = (_each(v, ndim) for v in (pool_size, strides, dilation))
        window = _Window(size, steps, spread, ceil_mode)
        sides = _sides(padding, ndim)
        if kind == "max":
            lowest = -torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
            made = window.over(x, sides, lowest).amax(-1)
        else:
            # What ceil_mode adds behind the padding counts for nothing.
            ones = torch.ones(1, 1, *x.shape[2:], dtype=torch.float64)
            counted = _padded(ones, sides, 1.0) if count_include_pad else ones
            borders = [(0, 0)] * ndim if count_include_pad else sides
            total = window.over(x, sides, 0).to(torch.float64).sum(-1)
            number = window.over(counted, borders, 0).sum(-1)
            made = (total / number[tuple(slice(size) for size in total.shape)]).to(x.dtype)
        return moved(made, inner, out_layout or layout)

    return pool


def _adaptive(ndim: int) -> Callable[..., Tensor]:
    function: Any = getattr(F, f"adaptive_avg_pool{ndim}d")
    inner = f"NC{SPATIAL[ndim]}"

    def pool(data: Tensor, *, output_size: Any, layout: str, out_layout: str | None) -> Tensor:
        x = moved(data, layout, inner)
        wanted = list(x.shape[2:]) if output_size is None else _each(output_size, ndim)
        return moved(function(x, wanted), inner, out_layout or layout)

    return pool


CONVOLUTION: dict[str, Callable[..., Any]] = {
    **{f"nn.conv{n}d": _convolution(n) for n in SPATIAL},
    **{f"nn.conv{n}d_transpose": _transposed(n) for n in SPATIAL},
    **{f"nn.{kind}_pool{n}d": _pool(kind, n) for kind in ("max", "avg") for n in SPATIAL},
    **{f"nn.adaptive_avg_pool{n}d": _adaptive(n) for n in SPATIAL},
}
