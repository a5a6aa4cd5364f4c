"""Legalisation of pooling, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import te
from relax_mlir.dialects.relax import layouts
from relax_mlir.lowering.relax_to_tir.convolution import by_letter
from relax_mlir.lowering.relax_to_tir.rows import Result, legalize
from relax_mlir.tir import operators as O


def _window(
    out: dict[str, Any], spatial: str, window: Sequence[Any], steps: Any, holes: Any, low: Any
) -> dict[str, Any]:
    """Where each element of a window lies in the data."""
    rows = zip(spatial, window, steps, holes, low, strict=True)
    return {s: out[s] * step + k * hole - before for s, k, step, hole, before in rows}


def _inside(at: dict[str, Any], sizes: dict[str, Any], spatial: str) -> Any:
    return te.all(*[c for s in spatial for c in (at[s] >= 0, at[s] < sizes[s])])


def _pool(ndim: int, kind: str) -> Callable[..., te.Tensor]:
    spatial = layouts.SPATIAL[ndim]

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
        extents = layouts.per_dimension(pool_size, ndim, "pool_size")
        steps = layouts.per_dimension(strides, ndim, "strides")
        holes = layouts.per_dimension(dilation, ndim, "dilation")
        pads = layouts.padding_pairs(padding, ndim)
        low = [before for before, _ in pads]
        sizes = by_letter(x.shape, layout)
        reaches_out = ceil_mode or any(sum(pair) for pair in pads)

        def value(indices: Sequence[Any], window: Sequence[Any], absent: Any) -> Any:
            out = by_letter(indices, out_layout or layout)
            at = _window(out, spatial, window, steps, holes, low)
            element = x(*[at.get(letter, out[letter]) for letter in layout])
            if not reaches_out:
                return element
            return te.if_then_else(_inside(at, sizes, spatial), element, absent)

        def axes() -> list[Any]:
            named = zip(spatial, extents, strict=True)
            return [
                te.reduce_axis((0, te.const(e, "int64")), name=f"r{s.lower()}") for s, e in named
            ]

        def largest(*indices: Any) -> Any:
            window = axes()
            return te.max(value(indices, window, te.min_value(x.dtype)), axis=window)

        if kind == "max":
            return te.compute(result.shape, largest, name="pool_max")

        def total(*indices: Any) -> Any:
            window = axes()
            return te.sum(value(indices, window, te.const(0, x.dtype)), axis=window)

        def mean(*indices: Any) -> Any:
            out = by_letter(indices, out_layout or layout)
            count = te.const(1, "int64")
            for i, s in enumerate(spatial):
                room = (sizes[s] + pads[i][1], pads[i][0]) if count_include_pad else (sizes[s], 0)
                first = out[s] * steps[i] - low[i]
                count = count * (
                    _covered(first, extents[i], holes[i], room) if reaches_out else extents[i]
                )
            return summed(*indices) / count.astype(x.dtype)

        summed = te.compute(result.shape, total, name="pool_sum")
        return te.compute(result.shape, mean, name="pool_avg")

    return row  # fmt: skip


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
