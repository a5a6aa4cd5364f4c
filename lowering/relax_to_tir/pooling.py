"""Legalisation of pooling, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from relax_mlir import te
from relax_mlir.dialects.relax import layouts
from relax_mlir.lowering.relax_to_tir.convolution import by_letter
from relax_mlir.lowering.relax_to_tir.rows import Result, legalize
from relax_mlir.tir import operators as O


@dataclass(frozen=True)
class _Windows:
    """The windows of a pooling: sizes of the data by letter, and what the attributes say."""

    x: te.Tensor
    layout: str
    out_layout: str
    spatial: str
    extents: Sequence[int]
    steps: Sequence[int]
    holes: Sequence[int]
    pads: Sequence[tuple[int, int]]
    reaches_out: bool

    def axes(self) -> list[Any]:
        """New reduction axes over a window."""
        named = zip(self.spatial, self.extents, strict=True)
        return [te.reduce_axis((0, te.const(e, "int64")), name=f"r{s.lower()}") for s, e in named]

    def element(self, indices: Sequence[Any], window: Sequence[Any], absent: Any) -> Any:
        """The data at a place of a window, `absent` outside the data."""
        out = by_letter(indices, self.out_layout)
        sizes = by_letter(self.x.shape, self.layout)
        at: dict[str, Any] = {}
        for i, s in enumerate(self.spatial):
            at[s] = out[s] * self.steps[i] + window[i] * self.holes[i] - self.pads[i][0]
        value = self.x(*[at.get(letter, out[letter]) for letter in self.layout])
        if not self.reaches_out:
            return value
        inside = [c for s in self.spatial for c in (at[s] >= 0, at[s] < sizes[s])]
        return te.if_then_else(te.all(*inside), value, absent)

    def count(self, indices: Sequence[Any], include_pad: bool) -> Any:
        """The number of elements that a mean divides by."""
        out = by_letter(indices, self.out_layout)
        sizes = by_letter(self.x.shape, self.layout)
        total = te.const(1, "int64")
        for i, s in enumerate(self.spatial):
            before, after = self.pads[i]
            room = (sizes[s] + after, before) if include_pad else (sizes[s], 0)
            first = out[s] * self.steps[i] - before
            covered = _covered(first, self.extents[i], self.holes[i], room)
            total = total * (covered if self.reaches_out else self.extents[i])
        return total


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
        result: Result,
    ) -> te.Tensor:
        pads = layouts.padding_pairs(padding, ndim)
        windows = _Windows(
            x,
            layout,
            out_layout or layout,
            layouts.SPATIAL[ndim],
            layouts.per_dimension(pool_size, ndim, "pool_size"),
            layouts.per_dimension(strides, ndim, "strides"),
            layouts.per_dimension(dilation, ndim, "dilation"),
            pads,
            ceil_mode or any(sum(pair) for pair in pads),
        )
        make = _largest if kind == "max" else partial(_mean, include_pad=count_include_pad)
        return make(windows, result)

    return row


def _largest(windows: _Windows, result: Result) -> te.Tensor:
    def largest(*indices: Any) -> Any:
        axes = windows.axes()
        return te.max(windows.element(indices, axes, te.min_value(result.dtype)), axis=axes)

    return te.compute(result.shape, largest, name="pool_max")


def _mean(windows: _Windows, result: Result, include_pad: bool) -> te.Tensor:
    def total(*indices: Any) -> Any:
        axes = windows.axes()
        return te.sum(windows.element(indices, axes, te.const(0, result.dtype)), axis=axes)

    def mean(*indices: Any) -> Any:
        count = windows.count(indices, include_pad)
        return summed(*indices) / O.cast(result.dtype, count)

    summed = te.compute(result.shape, total, name="pool_sum")
    return te.compute(result.shape, mean, name="pool_avg")


def _covered(first: Any, extent: int, hole: int, room: tuple[Any, int]) -> Any:
    """How many of `first + k * hole`, k < extent, lie in [-before, end)."""
    end, before = room
    begin = te.floordiv(O.max(-before - first, te.const(0, "int64")) + hole - 1, hole)
    stop = te.floordiv(end - first + hole - 1, hole)
    return O.max(O.min(stop, te.const(extent, "int64")) - begin, te.const(1, "int64"))


def _adaptive(ndim: int) -> Callable[..., te.Tensor]:
    spatial = layouts.SPATIAL[ndim]

    def row(
        x: te.Tensor, *, output_size: Any, layout: str, out_layout: str | None, result: Result
    ) -> te.Tensor:
        sizes = by_letter(x.shape, layout)
        wanted = by_letter(result.shape, out_layout or layout)

        def bounds(out: dict[str, Any], s: str) -> tuple[Any, Any]:
            begin = te.floordiv(out[s] * sizes[s], wanted[s])
            end = te.floordiv((out[s] + 1) * sizes[s] + wanted[s] - 1, wanted[s])
            return begin, end

        def total(*indices: Any) -> Any:
            out = by_letter(indices, out_layout or layout)
            window, at, conditions = [], {}, []
            for s in spatial:
                begin, end = bounds(out, s)
                # No part is longer than this; shorter ones are cut by the condition.
                longest = te.floordiv(sizes[s] + wanted[s] - 1, wanted[s]) + 1
                k = te.reduce_axis((0, longest), name=f"r{s.lower()}")
                window.append(k)
                at[s] = begin + k
                conditions.append(at[s] < end)
            element = x(*[at.get(letter, out[letter]) for letter in layout])
            chosen = te.if_then_else(te.all(*conditions), element, te.const(0, x.dtype))
            return te.sum(chosen, axis=window)

        def mean(*indices: Any) -> Any:
            out = by_letter(indices, out_layout or layout)
            count = te.const(1, "int64")
            for s in spatial:
                begin, end = bounds(out, s)
                count = count * (end - begin)
            return summed(*indices) / count.astype(x.dtype)

        summed = te.compute(result.shape, total, name="adaptive_pool_sum")
        return te.compute(result.shape, mean, name="adaptive_pool_avg")

    return row


for _ndim in layouts.SPATIAL:
    for _kind in ("max", "avg"):
        legalize(f"nn.{_kind}_pool{_ndim}d", result=True)(_pool(_ndim, _kind))
    legalize(f"nn.adaptive_avg_pool{_ndim}d", result=True)(_adaptive(_ndim))
