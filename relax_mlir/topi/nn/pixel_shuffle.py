"""Channels as pixels."""

from __future__ import annotations

from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import as_int


def pixel_shuffle(data: Tensor, upscale_factor: int) -> Tensor:
    """(..., c r^2, h, w) as (..., c, h r, w r): channels become blocks of pixels."""
    factor = upscale_factor
    *batch, channels, height, width = data.shape
    known = as_int(channels)
    if known is not None and known % factor**2:
        raise Error(f"pixel_shuffle: {known} channels do not divide by {factor}^2")
    sizes = [O.floordiv(channels, factor**2), *(O.multiply(s, factor) for s in (height, width))]

    def body(*i: Any) -> PrimExpr:
        *outer, channel, row, column = i
        inside = O.add(O.multiply(O.floormod(row, factor), factor), O.floormod(column, factor))
        source = O.add(O.multiply(channel, factor**2), inside)
        return data(*outer, source, O.floordiv(row, factor), O.floordiv(column, factor))

    return compute([*batch, *[simplify(s) for s in sizes]], body, "pixel_shuffle", "injective")
