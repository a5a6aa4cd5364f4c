"""Fourier transforms by their definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import int_list

__all__ = ["dft", "stft"]


def _turn(a: PrimExpr, b: PrimExpr, length: Any, dtype: str) -> PrimExpr:
    """2 pi a b / length, of the remainder of a b, so that it stays exact."""
    part = O.cast(dtype, O.floormod(O.multiply(O.cast("int64", a), O.cast("int64", b)), length))
    scale = O.div(O.const(2 * math.pi, dtype), O.cast(dtype, length))
    return O.multiply(part, scale)


def dft(re_data: Tensor, im_data: Tensor, inverse: Any) -> list[Tensor]:
    """(real, imaginary part) of the discrete Fourier transform along the last axis; the inverse
    one divides by the length."""
    *_, size = re_data.shape
    dtype, back = re_data.dtype, bool(getattr(inverse, "value", inverse))
    length = O.cast("int64", size)

    def part(real: bool) -> Tensor:
        m = reduce_axis((0, size), "m")

        def body(*i: Any) -> PrimExpr:
            *outer, k = i
            angle = _turn(k, m.var, length, dtype)
            cosine, sine = I.cos(angle), I.sin(angle)
            sine = sine if back else O.subtract(O.const(0, dtype), sine)
            a, b = re_data(*outer, m.var), im_data(*outer, m.var)
            if real:
                return te_sum(O.subtract(O.multiply(a, cosine), O.multiply(b, sine)), axis=m)
            return te_sum(O.add(O.multiply(a, sine), O.multiply(b, cosine)), axis=m)

        total = compute(re_data.shape, body, "dft_real" if real else "dft_imag")
        if not back:
            return total
        count = O.cast(dtype, length)
        return compute(total.shape, lambda *i: O.div(total(*i), count), "dft_scaled")

    return [part(True), part(False)]


def stft(data: Tensor, n_fft: Any, hop_length: int, win_length: int, window: Tensor,
         normalized: bool, onesided: bool, output_shape: Sequence[int]) -> Tensor:  # fmt: skip
    """The transforms of overlapping windows: (batch, bins, frames, 2), `output_shape`.

    data: (batch, samples); window: win_length factors.  normalized: divided by the root of n_fft.
    """
    batch, bins, frames = int_list(list(output_shape[:3]))
    dtype, length = data.dtype, O.const(int_list(n_fft)[0], "int64")
    tap = reduce_axis((0, win_length), "tap")
    scale = O.const(1 / math.sqrt(int_list(n_fft)[0]) if normalized else 1.0, dtype)

    def body(b: Any, w: Any, frame: Any, part: Any) -> PrimExpr:
        angle = _turn(w, tap.var, length, dtype)
        turned = O.subtract(O.const(0, dtype), I.sin(angle))
        factor = O.select(O.equal(part, 0), I.cos(angle), turned)
        sample = data(b, O.add(O.multiply(frame, hop_length), tap.var))
        return te_sum(O.multiply(O.multiply(sample, window(tap.var)), factor), axis=tap)

    total = compute([batch, bins, frames, 2], body, "stft_sum")
    return compute(total.shape, lambda *i: O.multiply(total(*i), scale), "stft")
