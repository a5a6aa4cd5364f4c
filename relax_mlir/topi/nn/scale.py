"""Scaling by channel, and normalisation over neighbouring channels."""

from __future__ import annotations

from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import normalize_axis
from relax_mlir.topi.nn.pad import pad

__all__ = ["lrn", "scale_shift_nchw", "scale_shift_nchwc", "scale_shift_nhwc"]


def _scale_shift(data: Tensor, scale: Tensor, shift: Tensor, axes: tuple[int, ...]) -> Tensor:
    def body(*i: Any) -> PrimExpr:
        own = [i[axis] for axis in axes]
        return O.add(O.multiply(data(*i), scale(*own)), shift(*own))

    return compute(data.shape, body, "ScaleShift", "broadcast")


def scale_shift_nchw(data: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """`data * scale + shift`, one of both a channel."""
    return _scale_shift(data, scale, shift, (1,))


def scale_shift_nhwc(data: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """As `scale_shift_nchw`, channels last."""
    return _scale_shift(data, scale, shift, (3,))


def scale_shift_nchwc(data: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """As `scale_shift_nchw`, channels in blocks: parameters are (chunks, block)."""
    return _scale_shift(data, scale, shift, (1, 4))


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75,
        bias: float = 2) -> Tensor:  # fmt: skip
    """data / (bias + alpha / size * s) ** beta, with s the sum of squares of `size` neighbours
    along an axis (Krizhevsky et al. 2012).  Raises Error for an even size."""
    if size % 2 == 0:
        raise Error(f"lrn: size is odd, given {size}")
    at, radius = normalize_axis(axis, data.ndim), size // 2
    widths = [radius if i == at else 0 for i in range(data.ndim)]
    padded = pad(data, widths, widths, name="pad_data")
    tap = reduce_axis((0, size), "rs")

    def squares(*i: Any) -> PrimExpr:
        place = [O.add(x, tap.var) if n == at else x for n, x in enumerate(i)]
        return te_sum(O.multiply(padded(*place), padded(*place)), axis=tap)

    total = compute(data.shape, squares, "sqr_sum")

    def body(*i: Any) -> PrimExpr:
        scaled = O.multiply(total(*i), O.const(alpha / size, data.dtype))
        base = O.add(scaled, O.const(bias, data.dtype))
        return O.div(data(*i), I.pow(base, O.const(beta, data.dtype)))

    return compute(data.shape, body, "lrn", "broadcast")
