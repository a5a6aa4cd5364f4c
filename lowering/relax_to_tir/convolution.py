"""Legalisation of convolutions and transposed convolutions, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import NO_DTYPE
from relax_mlir.lowering.relax_to_tir.rows import Result, legalize


def by_letter(values: Sequence[Any], layout: str) -> dict[str, Any]:
    """Sizes or indices by the letters of a layout."""
    return dict(zip(layout, values, strict=True))


def _in_layout(values: dict[str, Any], layout: str) -> list[Any]:
    return [values[letter] for letter in layout]


def padded(x: te.Tensor, layout: str, spatial: str, pads: Sequence[tuple[int, int]]) -> te.Tensor:
    """The data with zeros around its spatial dimensions."""
    if not any(sum(pair) for pair in pads):
        return x
    around = dict(zip(spatial, pads, strict=True))
    before = [around.get(letter, (0, 0))[0] for letter in layout]
    after = [around.get(letter, (0, 0))[1] for letter in layout]
    return topi.nn.pad(x, before, after, te.const(0, x.dtype), name="pad_temp")


def _product(a: Any, b: Any, out_dtype: str | None) -> Any:
    return a * b if out_dtype in NO_DTYPE else a.astype(out_dtype) * b.astype(out_dtype)


def _convolution(ndim: int) -> Callable[..., te.Tensor]:
    spatial = layouts.SPATIAL[ndim]

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
        result: Result,
    ) -> te.Tensor:
        steps = layouts.per_dimension(strides, ndim, "strides")
        spread = layouts.per_dimension(dilation, ndim, "dilation")
        source = padded(data, data_layout, spatial, layouts.padding_pairs(padding, ndim))
        kernel = by_letter(weight.shape, kernel_layout)

        def compute(*indices: Any) -> Any:
            out = by_letter(indices, out_layout or data_layout)
            channel = te.reduce_axis((0, kernel["I"]), name="rc")
            window = [te.reduce_axis((0, kernel[s]), name=f"r{s.lower()}") for s in spatial]
            at = {"N": out["N"], "C": _input_channel(out["C"], channel, kernel, groups)}
            inside = {"O": out["C"], "I": channel}
            for s, k, step, hole in zip(spatial, window, steps, spread, strict=True):
                at[s] = out[s] * step + k * hole
                inside[s] = k
            value = source(*_in_layout(at, data_layout))
            factor = weight(*_in_layout(inside, kernel_layout))
            return te.sum(_product(value, factor, out_dtype), axis=[channel, *window])

        name = f"{'group_' if groups > 1 else ''}conv{ndim}d_{data_layout.lower()}"
        return te.compute(result.shape, compute, name=name)

    return row


def _input_channel(out: Any, channel: Any, kernel: dict[str, Any], groups: int) -> Any:
    """The data's channel: the group of the output channel, and the place in the group."""
    if groups == 1:
        return channel
    return te.floordiv(out, te.floordiv(kernel["O"], groups)) * kernel["I"] + channel


def _transposed(ndim: int) -> Callable[..., te.Tensor]:
    spatial = layouts.SPATIAL[ndim]

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
        result: Result,
    ) -> te.Tensor:
        steps = layouts.per_dimension(strides, ndim, "strides")
        spread = layouts.per_dimension(dilation, ndim, "dilation")
        low = [before for before, _ in layouts.padding_pairs(padding, ndim)]
        sizes = by_letter(data.shape, data_layout)
        kernel = by_letter(weight.shape, kernel_layout)
        inner = te.floordiv(kernel["I"], groups) if groups > 1 else kernel["I"]

        def compute(*indices: Any) -> Any:
            """The data elements whose kernel reaches an output element, where they exist."""
            out = by_letter(indices, out_layout or data_layout)
            channel = te.reduce_axis((0, inner), name="rc")
            window = [te.reduce_axis((0, kernel[s]), name=f"r{s.lower()}") for s in spatial]
            group = te.floordiv(out["C"], kernel["O"])
            inside = {"O": out["C"], "I": channel}
            if groups > 1:
                inside = {"O": te.floormod(out["C"], kernel["O"]), "I": group * inner + channel}
            at = {"N": out["N"], "C": inside["I"]}
            conditions = []
            for s, k, step, hole, before in zip(spatial, window, steps, spread, low, strict=True):
                offset = out[s] + before - k * hole
                at[s] = te.floordiv(offset, step)
                inside[s] = k
                exact = te.floormod(offset, step).equal(te.const(0, "int64"))
                conditions += [exact, at[s] >= 0, at[s] < sizes[s]]
            value = data(*_in_layout(at, data_layout))
            factor = weight(*_in_layout(inside, kernel_layout))
            product = _product(value, factor, out_dtype)
            reached = te.if_then_else(te.all(*conditions), product, te.const(0, product.dtype))
            return te.sum(reached, axis=[channel, *window])

        return te.compute(result.shape, compute, name=f"conv{ndim}d_transpose")

    return row


for _ndim in layouts.SPATIAL:
    legalize(f"nn.conv{_ndim}d", result=True)(_convolution(_ndim))
    legalize(f"nn.conv{_ndim}d_transpose", result=True)(_transposed(_ndim))
